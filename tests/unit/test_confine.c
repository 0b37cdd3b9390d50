/* SPDX-License-Identifier: MIT */
/*
 * Confinement for real, in forked children. Runs as root, where it tests what a root
 * process of sshd or su needs and keeps, and without root in a user namespace. Not for
 * sanitizer builds: their run-time makes calls that a filter refuses.
 */
#include "sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CHILD_SKIPS 77
#define CHILD_TIMEOUT_S 30
#define AGENT 65534U

/* In a child: say what is wrong and end it. */
static void require(bool holds, const char *what, int line)
{
	if (holds)
		return;
	(void)dprintf(2, "%s:%d: %s (errno %d)\n", __FILE__, line, what, errno);
	_exit(1);
}

static void require_errno(long result, int wanted, const char *what, int line)
{
	require(result == -1, what, line);
	require(errno == wanted, what, line);
}

#define REQUIRE(condition) require((condition), #condition, __LINE__)
/* The call returns -1 with that errno. */
#define REQUIRE_ERRNO(call, wanted) require_errno((errno = 0, (call)), wanted, #call, __LINE__)

static int wait_for(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

/* Run 'body' in a child, which must reach its end. */
static void in_child(void (*body)(void))
{
	pid_t child;
	int status;

	(void)fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)alarm(CHILD_TIMEOUT_S); /* a test that hangs is a test that fails */
		body();
		_exit(0);
	}
	status = wait_for(child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_SKIPS)
		skip();
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Do not outlive a test that has failed: whoever reads its output would wait for this process. */
static void die_with_parent(void)
{
	REQUIRE(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0);
	(void)alarm(CHILD_TIMEOUT_S);
}

static bool capable(unsigned int cap)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
	struct __user_cap_data_struct sets[2];

	return syscall(SYS_capget, &header, sets) == 0 &&
	       (sets[cap / 32].effective & 1U << (cap % 32)) != 0;
}

/* Get CAP_SETPCAP: as root, or in a user namespace where those are allowed. */
static void need_setpcap(void)
{
	if (!capable(CAP_SETPCAP) && unshare(CLONE_NEWUSER) < 0) {
		(void)dprintf(2, "no root and no user namespace: skipped\n");
		_exit(CHILD_SKIPS);
	}
}

static void need_root(void)
{
	if (geteuid() != 0 || !capable(CAP_SETPCAP) || !capable(CAP_SETUID)) {
		(void)dprintf(2, "needs root: skipped\n");
		_exit(CHILD_SKIPS);
	}
}

static int open_self(void)
{
	int fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);

	REQUIRE(fd >= 0);
	return fd;
}

static bool in_bounding_set(unsigned long cap) { return prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1; }

static const struct sbx_confine_expected root_process = {.capabilities = SBX_CAPABILITIES_ANY};
static const struct sbx_confine_expected user_process = {.capabilities = 0};

/* ---- what /proc/PID/status says ---- */

static const char good_status[] = "Name:\tCapBnd:\\t1\n"
				  "Pid:\t4711\n"
				  "NSpid:\t4711\t12\n"
				  "CapInh:\t0000000000000000\n"
				  "CapPrm:\t0000000000000020\n"
				  "CapEff:\t0000000000000020\n"
				  "CapBnd:\t0000000000000000\n"
				  "CapAmb:\t0000000000000000\n"
				  "NoNewPrivs:\t1\n"
				  "Seccomp:\t2\n"
				  "Seccomp_filters:\t2\n";

static const struct sbx_confine_expected keeper_process = {.capabilities = 1ULL << CAP_KILL,
							   .min_filters = 2};

static void test_status_good(void **state)
{
	struct sbx_err err = {0};

	(void)state;
	assert_int_equal(sbx_confine_check_status(good_status, 12, &keeper_process, &err), 0);
	assert_int_equal(sbx_confine_check_status(good_status, 12, &root_process, NULL), 0);
}

/* 'good_status' with the first 'old' replaced. */
static void edit_status(char *text, size_t size_bytes, const char *old, const char *new)
{
	const char *at = strstr(good_status, old);

	assert_non_null(at);
	(void)snprintf(text, size_bytes, "%.*s%s%s", (int)(at - good_status), good_status, new,
		       at + strlen(old));
}

static void test_status_bad(void **state)
{
	static const struct {
		const char *old;
		const char *new;
		int rc;
	} cases[] = {
	    {"NSpid:\t4711\t12", "NSpid:\t4711\t13", -EPERM},
	    {"NSpid:\t4711\t12", "NSpid:\t12\t4711", -EPERM},
	    {"NSpid:\t4711\t12", "NSpid:\t4711\t", -EBADMSG},
	    {"NSpid:\t4711\t12\n", "", -EBADMSG},
	    {"CapInh:\t0000000000000000", "CapInh:\t0000000000000001", -EPERM},
	    {"CapPrm:\t0000000000000020", "CapPrm:\t0000000000000021", -EPERM},
	    {"CapEff:\t0000000000000020", "CapEff:\t8000000000000020", -EPERM},
	    {"CapBnd:\t0000000000000000", "CapBnd:\t0000010000000000", -EPERM},
	    {"CapAmb:\t0000000000000000", "CapAmb:\t0000000000000400", -EPERM},
	    {"CapInh:\t0000000000000000\n", "", -EBADMSG},
	    {"CapPrm:\t0000000000000020\n", "", -EBADMSG},
	    {"CapEff:\t0000000000000020\n", "", -EBADMSG},
	    {"CapBnd:\t0000000000000000\n", "", -EBADMSG},
	    {"CapAmb:\t0000000000000000\n", "", -EBADMSG},
	    {"CapBnd:\t0000000000000000", "CapBnd:\t000000000000000", -EBADMSG},
	    {"CapBnd:\t0000000000000000", "CapBnd:\t0x00000000000000", -EBADMSG},
	    {"CapBnd:\t0000000000000000", "CapBnd:\t", -EBADMSG},
	    {"CapBnd:\t0000000000000000", "CapBnd:\t0000000000000000 ", -EBADMSG},
	    {"CapBnd:\t", "CapBnd: ", -EBADMSG},
	    {"CapBnd:\t0000000000000000\n",
	     "CapBnd:\t0000000000000000\nCapBnd:\t0000000000000000\n", -EBADMSG},
	    {"NoNewPrivs:\t1", "NoNewPrivs:\t0", -EPERM},
	    {"NoNewPrivs:\t1", "NoNewPrivs:\t2", -EPERM},
	    {"NoNewPrivs:\t1\n", "", -EBADMSG},
	    {"Seccomp:\t2", "Seccomp:\t0", -EPERM},
	    {"Seccomp:\t2", "Seccomp:\t1", -EPERM},
	    {"Seccomp:\t2\n", "", -EBADMSG},
	    {"Seccomp_filters:\t2", "Seccomp_filters:\t1", -EPERM},
	    {"Seccomp_filters:\t2", "Seccomp_filters:\t-2", -EBADMSG},
	    {"Seccomp_filters:\t2", "Seccomp_filters:\t2 ", -EBADMSG},
	    {"Seccomp_filters:\t2\n", "", -EBADMSG},
	    {"Seccomp_filters:\t2\n", "Seccomp_filters:\t2", -EBADMSG}, /* cut short */
	};
	char text[sizeof(good_status) + 64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sbx_err err = {0};
		int rc;

		edit_status(text, sizeof(text), cases[i].old, cases[i].new);
		rc = sbx_confine_check_status(text, 12, &keeper_process, &err);
		if (rc != cases[i].rc)
			fail_msg("'%s': %d instead of %d", cases[i].new, rc, cases[i].rc);
		assert_int_equal(err.code, -rc);
		assert_true(err.msg[0] != '\0');
	}
	assert_int_equal(sbx_confine_check_status("", 12, &keeper_process, NULL), -EBADMSG);
}

/* ---- privileges ---- */

static void privileges_child(void)
{
	const int locked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED |
			   SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
			   SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
	struct sbx_err err = {0};

	need_setpcap();
	REQUIRE(in_bounding_set(CAP_CHOWN));
	REQUIRE(sbx_confine_privileges(&err) == 0);
	REQUIRE(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	for (unsigned long cap = 0; cap < 64; cap++)
		REQUIRE(!in_bounding_set(cap));
	REQUIRE(prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) == locked);
	REQUIRE(capable(CAP_SETUID)); /* still there, to become the user */
	REQUIRE_ERRNO(prctl(PR_SET_SECUREBITS, 0, 0, 0, 0), EPERM);
	REQUIRE_ERRNO(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), EPERM);
	REQUIRE_ERRNO(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0), EPERM);
	REQUIRE(sbx_confine_privileges(&err) == 0); /* a module listed twice in a stack */
	REQUIRE(sbx_confine_all_privileges(&err) == 0);
	for (unsigned int cap = 0; cap < 64; cap++)
		REQUIRE(!capable(cap));
	REQUIRE(sbx_confine_all_privileges(&err) ==
		0); /* nothing left to do: needs no CAP_SETPCAP */
}

static void test_privileges(void **state)
{
	(void)state;
	in_child(privileges_child);
}

static void without_setpcap_child(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
	struct __user_cap_data_struct sets[2];
	struct sbx_err err = {0};

	REQUIRE(syscall(SYS_capget, &header, sets) == 0);
	sets[0].effective &= ~(1U << CAP_SETPCAP);
	sets[0].permitted &= ~(1U << CAP_SETPCAP);
	REQUIRE(syscall(SYS_capset, &header, sets) == 0);
	REQUIRE(in_bounding_set(CAP_CHOWN));
	REQUIRE(sbx_confine_privileges(&err) == -EPERM);
	REQUIRE(strstr(err.msg, "CAP_SETPCAP") != NULL);
}

static void test_privileges_refused_without_setpcap(void **state)
{
	(void)state;
	in_child(without_setpcap_child);
}

/* A root process cannot get anything back by exec: sees the sets of a program it starts. */
static void exec_child(void)
{
	struct sbx_err err = {0};

	need_root();
	REQUIRE(sbx_confine_privileges(&err) == 0);
	(void)execl("/bin/grep", "grep", "-qE", "^Cap(Prm|Eff|Bnd|Inh|Amb):.*[1-9a-f]",
		    "/proc/self/status", (char *)NULL);
	_exit(3);
}

static void test_exec_gives_nothing(void **state)
{
	pid_t child;
	int status;

	(void)state;
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		exec_child();
	status = wait_for(child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == CHILD_SKIPS)
		skip();
	assert_int_equal(WEXITSTATUS(status), 1); /* grep found no capability */
}

/* ---- the filter ---- */

static void no_nnp_child(void)
{
	struct sbx_err err = {0};

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		_exit(CHILD_SKIPS); /* a confined test run */
	REQUIRE(sbx_confine_filter(false, &err) == -EINVAL);
	REQUIRE(prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0);
}

static void test_filter_needs_no_new_privs(void **state)
{
	(void)state;
	in_child(no_nnp_child);
}

/* Checks the effect of a few rules; all of them is the work of tests/probe/syscall_table.c. */
static void deny_child(void)
{
	struct sbx_err err = {0};
	int fd;

	need_setpcap();
	REQUIRE(sbx_confine_privileges(&err) == 0);
	REQUIRE(sbx_confine_filter(false, &err) == 0);
	REQUIRE_ERRNO(unshare(CLONE_NEWUSER), EPERM);
	REQUIRE_ERRNO(syscall(SYS_mount, 1L, 1L, 1L, 0L, 0L), EPERM);
	REQUIRE_ERRNO(syscall(SYS_clone3, 0L, 0L), ENOSYS);
	REQUIRE_ERRNO(socket(40, SOCK_STREAM, 0), EAFNOSUPPORT);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	REQUIRE(fd >= 0);
	(void)close(fd);
}

static void test_filter_deny(void **state)
{
	(void)state;
	in_child(deny_child);
}

/* What bubblewrap does, by hand: a namespace of one's own with mounts in it. */
static void allow_child(void)
{
	struct sbx_err err = {0};

	/* Without root, not from within another user namespace: there the uid has no mapping. */
	if (capable(CAP_SETPCAP))
		REQUIRE(sbx_confine_all_privileges(&err) == 0);
	else
		REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	REQUIRE(sbx_confine_filter(true, &err) == 0);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID) < 0) {
		REQUIRE(errno != ENOSYS);
		(void)dprintf(2, "this host forbids user namespaces: skipped\n");
		_exit(CHILD_SKIPS);
	}
	REQUIRE(mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0);
	REQUIRE(mount("tmpfs", "/tmp", "tmpfs", 0, NULL) == 0);
	REQUIRE(umount2("/tmp", MNT_DETACH) == 0);
	REQUIRE_ERRNO(syscall(SYS_bpf, 9999L, 0L, 0L), EPERM);
	REQUIRE_ERRNO(syscall(SYS_io_uring_setup, 0L, 1L), ENOSYS);
	REQUIRE_ERRNO(socket(17, SOCK_RAW, 0),
		      EAFNOSUPPORT); /* a packet socket in its own network */
	REQUIRE_ERRNO(syscall(SYS_ioctl, -1L, 0x5412L, 0L), EPERM);
	REQUIRE_ERRNO(syscall(SYS_keyctl, 9999L), EPERM);
}

static void test_filter_allows_user_namespaces(void **state)
{
	(void)state;
	in_child(allow_child);
}

#ifdef __x86_64__
#include <sys/user.h>

static void traced_child(void)
{
	struct sbx_err err = {0};

	REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	REQUIRE(sbx_confine_filter(false, &err) == 0);
	REQUIRE(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
	REQUIRE(raise(SIGSTOP) == 0);
	_exit(syscall(SYS_getppid) == 4242 ? 0 : 1);
}

/* Tracers cancel a call by setting its number to -1; the result they set must survive. */
static void test_filter_leaves_cancelled_calls_alone(void **state)
{
	struct user_regs_struct regs;
	pid_t child;
	bool cancelled = false;
	int status;

	(void)state;
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		traced_child();
	status = wait_for(child);
	assert_true(WIFSTOPPED(status));
	while (WIFSTOPPED(status)) {
		assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &regs), 0);
		if (regs.orig_rax == SYS_getppid && !cancelled) {
			regs.orig_rax = (unsigned long long)-1;
			regs.rax = 4242;
			assert_int_equal(ptrace(PTRACE_SETREGS, child, NULL, &regs), 0);
			cancelled = true;
		}
		assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
		status = wait_for(child);
	}
	assert_true(cancelled);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}
#endif

/* ---- verification ---- */

static void verify_child(void)
{
	struct sbx_err err = {0};
	int self;

	need_setpcap();
	self = open_self();
	REQUIRE(sbx_confine_verify(self, &root_process, &err) == -EPERM);
	REQUIRE(sbx_confine_privileges(&err) == 0);
	REQUIRE(sbx_confine_verify(self, &root_process, &err) == -EPERM); /* no filter yet */
	REQUIRE(sbx_confine_filter(false, &err) == 0);
	REQUIRE(sbx_confine_verify(self, &root_process, &err) == 0);
	REQUIRE(sbx_confine_verify(self, &user_process, &err) == -EPERM);
	REQUIRE(strstr(err.msg, "CapPrm") != NULL);
	REQUIRE(sbx_confine_all_privileges(&err) == 0);
	REQUIRE(sbx_confine_verify(self, &user_process, &err) == 0);
	REQUIRE(sbx_confine_verify(-1, &user_process, &err) < 0);
}

static void test_verify(void **state)
{
	(void)state;
	in_child(verify_child);
}

/* Someone else's status is no proof. */
static void verify_parent_child(void)
{
	struct sbx_err err = {0};
	int self;
	pid_t child;
	int status = 1;

	need_setpcap();
	REQUIRE(sbx_confine_all_privileges(&err) == 0);
	REQUIRE(sbx_confine_filter(false, &err) == 0);
	self = open_self();
	REQUIRE(sbx_confine_verify(self, &user_process, &err) == 0);
	child = fork();
	REQUIRE(child >= 0);
	if (child == 0) {
		REQUIRE(sbx_confine_verify(self, &user_process, &err) == -EPERM);
		_exit(0);
	}
	REQUIRE(waitpid(child, &status, 0) == child);
	REQUIRE(status == 0);
}

static void test_verify_looks_at_the_caller(void **state)
{
	(void)state;
	in_child(verify_parent_child);
}

/* ---- a root process such as sshd's goes on working ---- */

static void become_agent(const gid_t *groups)
{
	const struct sbx_confine_expected expected = {.capabilities = 0};
	struct sbx_err err = {0};

	REQUIRE(setsid() > 0);
	REQUIRE(setgroups(2, groups) == 0);
	REQUIRE(setresgid(AGENT, AGENT, AGENT) == 0);
	REQUIRE(setresuid(AGENT, AGENT, AGENT) == 0);
	REQUIRE(getgroups(0, NULL) == 2);
	REQUIRE_ERRNO(setuid(0), EPERM);
	REQUIRE(sbx_confine_verify(open_self(), &expected, &err) == 0);
	die_with_parent();
	(void)pause();
	_exit(3);
}

static void root_session_child(void)
{
	const gid_t groups[] = {AGENT, 100};
	char name[] = "/tmp/test_confine.XXXXXX";
	struct sbx_err err = {0};
	struct stat st;
	pid_t child;
	int status = 0;
	int fd;

	need_root();
	REQUIRE(sbx_confine_privileges(&err) == 0);
	REQUIRE(sbx_confine_landlock(SBX_LANDLOCK_PREFER, &err) == 0);
	REQUIRE(sbx_confine_filter(false, &err) == 0);
	child = fork();
	REQUIRE(child >= 0);
	if (child == 0)
		become_agent(groups);
	/* wait until it has become the agent, then end it: CAP_KILL at work */
	for (int i = 0; i < 1000; i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "/proc/%d", (int)child);
		REQUIRE(stat(path, &st) == 0);
		if (st.st_uid == AGENT)
			break;
		(void)poll(NULL, 0, 1);
	}
	REQUIRE(st.st_uid == AGENT);
	(void)poll(NULL, 0, 20);
	REQUIRE(kill(child, SIGTERM) == 0);
	REQUIRE(waitpid(child, &status, 0) == child);
	REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);

	/* as sshd does to read the user's files, and back */
	REQUIRE(seteuid(AGENT) == 0);
	REQUIRE(!capable(CAP_CHOWN));
	REQUIRE(seteuid(0) == 0);
	REQUIRE(capable(CAP_CHOWN));

	/* as login does with the terminal */
	fd = mkstemp(name);
	REQUIRE(fd >= 0);
	REQUIRE(fchown(fd, AGENT, AGENT) == 0);
	REQUIRE(fchmod(fd, 0620) == 0);
	REQUIRE(chown(name, 0, 0) == 0);
	REQUIRE(unlink(name) == 0);
}

static void test_root_process_keeps_working(void **state)
{
	(void)state;
	in_child(root_session_child);
}

/* ---- Landlock ---- */

static int abstract_socket(bool connects, const struct sockaddr_un *address)
{
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 24);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc;

	REQUIRE(fd >= 0);
	rc = connects ? connect(fd, (const struct sockaddr *)address, length)
		      : bind(fd, (const struct sockaddr *)address, length);
	if (rc < 0)
		return -1;
	REQUIRE(connects || listen(fd, 5) == 0);
	return fd;
}

static void landlock_child(void)
{
	struct sockaddr_un outside = {.sun_family = AF_UNIX};
	struct sockaddr_un inside = {.sun_family = AF_UNIX};
	struct sbx_err err = {0};

	if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 6) {
		REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
		REQUIRE(sbx_confine_landlock(SBX_LANDLOCK_PREFER, &err) == 0);
		REQUIRE(sbx_confine_landlock(SBX_LANDLOCK_REQUIRE, &err) == -ENOTSUP);
		return;
	}
	(void)snprintf(outside.sun_path + 1, 24, "sbx-outside-%010d", (int)getpid());
	(void)snprintf(inside.sun_path + 1, 24, "sbx-inside--%010d", (int)getpid());
	REQUIRE(abstract_socket(false, &outside) >= 0);
	REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	REQUIRE(sbx_confine_landlock(SBX_LANDLOCK_OFF, &err) == 0);
	REQUIRE(abstract_socket(true, &outside) >= 0);
	REQUIRE(sbx_confine_landlock(SBX_LANDLOCK_REQUIRE, &err) == 0);
	REQUIRE(abstract_socket(true, &outside) == -1 && errno == EPERM);
	REQUIRE(abstract_socket(false, &inside) >= 0);
	REQUIRE(abstract_socket(true, &inside) >= 0);
	REQUIRE(kill(getppid(), 0) == 0); /* signals are not scoped */
}

static void test_landlock(void **state)
{
	(void)state;
	in_child(landlock_child);
}

/* ---- the keeper ---- */

static void keeper_child(void)
{
	struct sbx_err err = {0};
	siginfo_t info;
	pid_t child;
	void *block;
	int dir;

	need_setpcap();
	dir = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	REQUIRE(dir >= 0);
	child = fork();
	REQUIRE(child >= 0);
	if (child == 0) {
		die_with_parent();
		(void)pause();
		_exit(3);
	}
	REQUIRE(sbx_confine_keeper(&err) == 0);
	/* from here on a call that is not listed ends this process */
	block = malloc(1U << 20);
	REQUIRE(block != NULL);
	free(block);
	REQUIRE_ERRNO(unlinkat(dir, "sbx-there-is-no-such-file", 0), ENOENT);
	REQUIRE(poll(NULL, 0, 1) == 0);
	REQUIRE(kill(child, SIGKILL) == 0);
	REQUIRE(waitid(P_PID, (id_t)child, &info, WEXITED) == 0);
	REQUIRE(info.si_code == CLD_KILLED);
	REQUIRE_ERRNO(syscall(470L), ENOSYS);
}

static void test_keeper_does_its_work(void **state)
{
	(void)state;
	in_child(keeper_child);
}

/* Become what the keeper's capabilities would not stop from tracing it. */
static void keep_only_kill(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
	struct __user_cap_data_struct sets[2] = {
	    {.effective = 1U << CAP_KILL, .permitted = 1U << CAP_KILL}};

	REQUIRE(syscall(SYS_capset, &header, sets) == 0);
}

static void keeper_state_child(void)
{
	/* without root it has its user's uid and needs no capability */
	struct sbx_confine_expected expected = {.capabilities = 0};
	struct sbx_err err = {0};
	char line[64];
	char path[64];
	char text[4096];
	pid_t child;
	ssize_t n;
	int ends[2];
	int fd;

	need_setpcap();
	if (geteuid() == 0)
		expected.capabilities = 1ULL << CAP_KILL;
	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	child = fork();
	REQUIRE(child >= 0);
	if (child == 0) {
		die_with_parent();
		REQUIRE(sbx_confine_keeper(&err) == 0);
		REQUIRE(write(ends[1], "x", 1) == 1);
		for (;;)
			(void)poll(NULL, 0, -1);
	}
	(void)close(ends[1]); /* so that the end of the child is noticed */
	REQUIRE(read(ends[0], text, 1) == 1);
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)child);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	REQUIRE(fd >= 0);
	n = read(fd, text, sizeof(text) - 1);
	REQUIRE(n > 0);
	text[n] = '\0';
	keep_only_kill();
	REQUIRE_ERRNO(ptrace(PTRACE_SEIZE, child, NULL, NULL), EPERM); /* not dumpable */
	REQUIRE(kill(child, SIGKILL) == 0);
	REQUIRE(sbx_confine_check_status(text, child, &expected, &err) == 0);
	(void)snprintf(line, sizeof(line), "CapEff:\t%016llx\n",
		       (unsigned long long)expected.capabilities);
	REQUIRE(strstr(text, line) != NULL);
}

static void test_keeper_state(void **state)
{
	(void)state;
	in_child(keeper_state_child);
}

/* As the first process of a PID namespace, which ordinary fatal signals of its own do not kill. */
static void keeper_breaks_out_child(void)
{
	struct sbx_err err = {0};
	pid_t first;
	int status;

	need_setpcap();
	if (unshare(CLONE_NEWPID) < 0)
		_exit(CHILD_SKIPS);
	first = fork();
	REQUIRE(first >= 0);
	if (first == 0) {
		REQUIRE(getpid() == 1);
		REQUIRE(sbx_confine_keeper(&err) == 0);
		(void)syscall(SYS_openat, AT_FDCWD, "/", O_PATH);
		_exit(3); /* the filter let it pass */
	}
	REQUIRE(waitpid(first, &status, 0) == first);
	REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

static void test_keeper_dies_of_a_strange_call(void **state)
{
	(void)state;
	in_child(keeper_breaks_out_child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_status_good),
	    cmocka_unit_test(test_status_bad),
	    cmocka_unit_test(test_privileges),
	    cmocka_unit_test(test_privileges_refused_without_setpcap),
	    cmocka_unit_test(test_exec_gives_nothing),
	    cmocka_unit_test(test_filter_needs_no_new_privs),
	    cmocka_unit_test(test_filter_deny),
	    cmocka_unit_test(test_filter_allows_user_namespaces),
#ifdef __x86_64__
	    cmocka_unit_test(test_filter_leaves_cancelled_calls_alone),
#endif
	    cmocka_unit_test(test_verify),
	    cmocka_unit_test(test_verify_looks_at_the_caller),
	    cmocka_unit_test(test_root_process_keeps_working),
	    cmocka_unit_test(test_landlock),
	    cmocka_unit_test(test_keeper_does_its_work),
	    cmocka_unit_test(test_keeper_state),
	    cmocka_unit_test(test_keeper_dies_of_a_strange_call),
	};

	return cmocka_run_group_tests_name("confine", tests, NULL, NULL);
}
