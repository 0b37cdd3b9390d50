/* SPDX-License-Identifier: MIT */
/* Facts, policy and identity are literals; what comes of them is compared as text. */
#include "sandbox/plan.h"

#include "sandbox/view.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define N(array) (sizeof(array) / sizeof((array)[0]))
#define GIB ((uint64_t)1 << 30)

/* A writable string, as the structs want it, that lives as long as the program. */
#define TEXT(text) ((char[]){text})

#define FACT_FILE(name)                                                                            \
	{                                                                                          \
		.path = TEXT(name), .kind = SBX_FACT_FILE                                          \
	}
#define FACT_DIRECTORY(name)                                                                       \
	{                                                                                          \
		.path = TEXT(name), .kind = SBX_FACT_DIRECTORY                                     \
	}
#define FACT_LINK(name, to)                                                                        \
	{                                                                                          \
		.path = TEXT(name), .kind = SBX_FACT_LINK, .link_text = TEXT(to)                   \
	}

static struct sbx_group groups[] = {
    {1000, TEXT("agent")}, {1001, TEXT("sbx")}, {5, TEXT("tty")}, {27, TEXT("sudo")}};

static const struct sbx_identity agent = {
    .name = TEXT("agent"),
    .uid = 1000,
    .gid = 1000,
    .gecos = TEXT("Agent,,,"),
    .home = TEXT("/home/agent"),
    .login_shell = TEXT("/usr/local/bin/sbxsh"),
    .groups = groups,
    .n_groups = N(groups),
};

static const struct sbx_policy defaults = {
    .workspace = TEXT("/var/lib/sbx/agent"),
    .home = TEXT("/home/agent"),
    .root = TEXT("/"),
    .shell = TEXT("/bin/bash"),
    .memory_max_bytes = 4 * GIB,
    .memory_high_bytes = SBX_UNLIMITED,
    .swap_max_bytes = 0,
    .tasks_max = 4096,
    .cpu_max_percent = SBX_UNLIMITED,
    .tmp_size_bytes = GIB,
    .network = SBX_NETWORK_HOST,
    .linger_s = 0,
    .landlock = SBX_LANDLOCK_PREFER,
};

static struct sbx_fact debian_image[] = {
    FACT_DIRECTORY("/usr"),	      FACT_DIRECTORY("/opt"),
    FACT_LINK("/bin", "usr/bin"),     FACT_LINK("/sbin", "usr/sbin"),
    FACT_LINK("/lib", "usr/lib"),     FACT_LINK("/lib64", "usr/lib64"),
    FACT_FILE("/bin/bash"),	      FACT_DIRECTORY("/etc/alternatives"),
    FACT_FILE("/etc/bash.bashrc"),    FACT_LINK("/etc/os-release", "../usr/lib/os-release"),
    FACT_DIRECTORY("/etc/ssl/certs"),
};

static struct sbx_fact debian_host[] = {
    FACT_LINK("/etc/resolv.conf", "../run/systemd/resolve/stub-resolv.conf"),
    FACT_FILE("/etc/hosts"),
    FACT_LINK("/etc/localtime", "/usr/share/zoneinfo/Etc/UTC"),
    FACT_DIRECTORY("/sys/devices/system/cpu"),
    FACT_FILE("/dev/null"),
    FACT_FILE("/dev/zero"),
    FACT_FILE("/dev/full"),
    FACT_FILE("/dev/random"),
    FACT_FILE("/dev/urandom"),
    FACT_FILE("/dev/tty"),
    FACT_LINK("/dev/log", "/run/systemd/journal/dev-log"),
    FACT_DIRECTORY("/run/dbus"),
    FACT_DIRECTORY("/run/systemd/journal"),
    FACT_FILE("/run/utmp"),
    FACT_DIRECTORY("/var/log"),
};

static const struct sbx_facts debian = {
    .image = {debian_image, N(debian_image)},
    .host = {debian_host, N(debian_host)},
};

static const struct sbx_facts nothing;

/* --- Helpers ------------------------------------------------------------------------------- */

/* Make a plan that cannot fail and print it. Both are freed by done(). */
struct made {
	struct sbx_plan *plan;
	struct sbx_str text;
};

static void made_done(struct made *made)
{
	sbx_plan_free(made->plan);
	sbx_str_done(&made->text);
}

#define MADE __attribute__((cleanup(made_done))) struct made

static struct made make(const struct sbx_policy *policy, const struct sbx_facts *facts)
{
	struct made made = {0};
	struct sbx_err err = {0};

	if (sbx_plan_make(policy, &agent, facts, &made.plan, &err) < 0)
		fail_msg("%s", err.msg);
	sbx_plan_print(made.plan, &made.text);
	assert_int_equal(made.text.rc, 0);
	return made;
}

static void has(const struct made *made, const char *text)
{
	if (strstr(made->text.text, text) == NULL)
		fail_msg("'%s' is not in:\n%s", text, made->text.text);
}

static void lacks(const struct made *made, const char *text)
{
	if (strstr(made->text.text, text) != NULL)
		fail_msg("'%s' is in:\n%s", text, made->text.text);
}

/* The one operation on 'target'; -1 when there is none. Two of them are an error. */
static int find(const struct sbx_plan *plan, const char *target)
{
	int found = -1;

	for (size_t i = 1; i + 1 < plan->n_ops; i++) {
		if (strcmp(plan->ops[i].target, target) != 0)
			continue;
		if (found >= 0)
			fail_msg("two operations on '%s'", target);
		found = (int)i;
	}
	return found;
}

static const struct sbx_op *op(const struct sbx_plan *plan, const char *target)
{
	int index = find(plan, target);

	if (index < 0)
		fail_msg("no operation on '%s'", target);
	return &plan->ops[index];
}

/* --- The whole ----------------------------------------------------------------------------- */

static const char golden[] =
    "root: /\n"
    "shell: /bin/bash\n"
    "hostname: sandbox\n"
    "namespaces: mnt pid ipc uts cgroup\n"
    "user namespaces inside: denied\n"
    "limits:\n"
    "  memory_max   4294967296 bytes\n"
    "  memory_high  none\n"
    "  swap_max     0 bytes\n"
    "  tasks_max    4096\n"
    "  cpu_max      none\n"
    "  linger       0 s\n"
    "view, in order:\n"
    "  tmpfs      / rw,nosuid,nodev mode=0755 size=16777216\n"
    "  bind       /usr <- /usr ro,nosuid,nodev\n"
    "  bind       /opt <- /opt ro,nosuid,nodev\n"
    "  symlink    /bin -> usr/bin\n"
    "  symlink    /sbin -> usr/sbin\n"
    "  symlink    /lib -> usr/lib\n"
    "  symlink    /lib64 -> usr/lib64\n"
    "  directory  /etc mode=0755\n"
    "  bind       /etc/alternatives <- /etc/alternatives ro,nosuid,nodev if-present\n"
    "  copy       /etc/bash.bashrc <- /etc/bash.bashrc mode=0644 if-present\n"
    "  symlink    /etc/os-release -> ../usr/lib/os-release\n"
    "  bind       /etc/ssl/certs <- /etc/ssl/certs ro,nosuid,nodev if-present\n"
    "  copy       /etc/resolv.conf <- /etc/resolv.conf mode=0644 if-present\n"
    "  copy       /etc/hosts <- /etc/hosts mode=0644 if-present\n"
    "  symlink    /etc/localtime -> /usr/share/zoneinfo/Etc/UTC\n"
    "  file       /etc/hostname mode=0644\n"
    "  file       /etc/profile mode=0644\n"
    "  symlink    /etc/mtab -> /proc/self/mounts\n"
    "  file       /etc/passwd mode=0644\n"
    "  file       /etc/group mode=0644\n"
    "  file       /etc/nsswitch.conf mode=0644\n"
    "  tmpfs      /tmp rw,nosuid,nodev mode=1777 size=1073741824\n"
    "  tmpfs      /var/tmp rw,nosuid,nodev mode=1777 size=268435456\n"
    "  directory  /var/cache mode=0755\n"
    "  directory  /var/lib mode=0755\n"
    "  directory  /var/log mode=0755\n"
    "  symlink    /var/run -> /run\n"
    "  symlink    /var/lock -> /run/lock\n"
    "  directory  /run/lock mode=0755\n"
    "  tmpfs      /run/user/1000 rw,nosuid,nodev mode=0700 owner=1000:1000 size=268435456\n"
    "  directory  /dev mode=0755\n"
    "  bind       /dev/null <- /dev/null rw,nosuid,noexec\n"
    "  bind       /dev/zero <- /dev/zero rw,nosuid,noexec\n"
    "  bind       /dev/full <- /dev/full rw,nosuid,noexec\n"
    "  bind       /dev/random <- /dev/random rw,nosuid,noexec\n"
    "  bind       /dev/urandom <- /dev/urandom rw,nosuid,noexec\n"
    "  bind       /dev/tty <- /dev/tty rw,nosuid,noexec\n"
    "  symlink    /dev/fd -> /proc/self/fd\n"
    "  symlink    /dev/stdin -> /proc/self/fd/0\n"
    "  symlink    /dev/stdout -> /proc/self/fd/1\n"
    "  symlink    /dev/stderr -> /proc/self/fd/2\n"
    "  symlink    /dev/ptmx -> pts/ptmx\n"
    "  devpts     /dev/pts rw,nosuid,noexec mode=0620\n"
    "  tmpfs      /dev/shm rw,nosuid,nodev mode=1777 size=268435456\n"
    "  proc       /proc rw,nosuid,nodev,noexec\n"
    "  directory  /sys mode=0755\n"
    "  bind       /sys/devices/system/cpu <- /sys/devices/system/cpu ro,nosuid,nodev,noexec "
    "if-present\n"
    "  cgroup     /sys/fs/cgroup ro,nosuid,nodev,noexec\n"
    "  directory  /run/host mode=0700\n"
    "  bind       /run/host/dbus <- /run/dbus rw,nosuid,nodev,noexec if-present\n"
    "  symlink    /run/dbus -> /run/host/dbus\n"
    "  bind       /run/host/journal <- /run/systemd/journal rw,nosuid,nodev,noexec if-present\n"
    "  symlink    /run/systemd/journal -> /run/host/journal\n"
    "  bind       /run/host/utmp <- /run/utmp rw,nosuid,nodev,noexec if-present\n"
    "  symlink    /run/utmp -> /run/host/utmp\n"
    "  bind       /run/host/log <- /var/log rw,nosuid,nodev,noexec if-present\n"
    "  symlink    /var/log/wtmp -> /run/host/log/wtmp\n"
    "  symlink    /var/log/btmp -> /run/host/log/btmp\n"
    "  symlink    /var/log/lastlog -> /run/host/log/lastlog\n"
    "  symlink    /var/log/faillog -> /run/host/log/faillog\n"
    "  symlink    /dev/log -> /run/systemd/journal/dev-log\n"
    "  mirror     /run/host/etc <- /etc rw,nosuid,nodev,noexec\n"
    "  mirror     /run/host/dev <- /dev rw,nosuid,nodev,noexec\n"
    "  file       /run/sbx/inside mode=0644\n"
    "  workspace  /home/agent <- /var/lib/sbx/agent rw,nosuid,nodev mode=0700 owner=1000:1000\n"
    "  seal       /\n";

static void test_default_policy(void **state)
{
	MADE made = make(&defaults, &debian);

	(void)state;
	assert_string_equal(made.text.text, golden);
}

static void test_same_twice(void **state)
{
	MADE one = make(&defaults, &debian);
	MADE two = make(&defaults, &debian);

	(void)state;
	assert_string_equal(one.text.text, two.text.text);
}

/* A machine of which nothing is known still gets a view that is whole. */
static void test_no_facts(void **state)
{
	MADE made = make(&defaults, &nothing);
	const struct sbx_plan *plan = made.plan;

	(void)state;
	assert_int_equal(plan->ops[0].kind, SBX_OP_TMPFS);
	assert_string_equal(plan->ops[0].target, "/");
	assert_int_equal(plan->ops[plan->n_ops - 1].kind, SBX_OP_SEAL);
	for (size_t i = 0; i < plan->n_ops; i++) {
		/* Nothing of the host that is not there, but for what is made when absent. */
		assert_int_not_equal(plan->ops[i].kind, SBX_OP_BIND);
		assert_int_not_equal(plan->ops[i].kind, SBX_OP_COPY);
	}
	assert_string_equal(op(plan, "/etc/hosts")->text,
			    "127.0.0.1 localhost\n127.0.1.1 sandbox\n");
	assert_int_equal(find(plan, "/etc/resolv.conf"), -1);
	assert_int_equal(find(plan, "/etc/localtime"), -1);
	assert_int_equal(find(plan, "/run/dbus"), -1);
	assert_int_equal(find(plan, "/run/systemd/journal"), -1);
	assert_int_equal(find(plan, "/run/utmp"), -1);
	assert_int_equal(find(plan, "/var/log/wtmp"), -1);
	assert_int_equal(find(plan, "/dev/log"), -1);
	/* A later login needs these. */
	assert_int_equal(op(plan, "/run/host")->mode, 0700);
	assert_int_equal(op(plan, "/run/host/etc")->kind, SBX_OP_MIRROR);
	assert_int_equal(op(plan, "/home/agent")->kind, SBX_OP_WORKSPACE);
}

/* --- Parts of the view --------------------------------------------------------------------- */

static void test_directories_of_unmerged_host(void **state)
{
	struct sbx_fact image[] = {FACT_DIRECTORY("/usr"), FACT_DIRECTORY("/bin"),
				   FACT_DIRECTORY("/lib"), FACT_FILE("/lib32"),
				   FACT_LINK("/lib64", "lib")};
	const struct sbx_facts facts = {.image = {image, N(image)}};
	MADE made = make(&defaults, &facts);

	(void)state;
	has(&made, "  bind       /bin <- /bin ro,nosuid,nodev\n");
	has(&made, "  bind       /lib <- /lib ro,nosuid,nodev\n");
	has(&made, "  symlink    /lib64 -> lib\n");
	assert_int_equal(find(made.plan, "/sbin"), -1);
	assert_int_equal(find(made.plan, "/lib32"), -1); /* a file there is none of ours */
	assert_int_equal(op(made.plan, "/bin")->flags, SBX_OP_READ_ONLY | SBX_OP_IMAGE);
}

/* Names that no list has, and lists' names in other places: whatever the facts say. */
static void test_etc_is_an_allow_list(void **state)
{
	struct sbx_fact image[] = {
	    FACT_FILE("/etc/shadow"),
	    FACT_FILE("/etc/shadow-"),
	    FACT_FILE("/etc/gshadow"),
	    FACT_LINK("/etc/sudoers", "/etc/secret"),
	    FACT_FILE("/etc/passwd"),
	    FACT_DIRECTORY("/etc/group"),
	    FACT_DIRECTORY("/etc"),
	    FACT_DIRECTORY("/etc/"),
	    FACT_DIRECTORY("/etc/ssl"),
	    FACT_DIRECTORY("/etc/ssl/private"),
	    FACT_DIRECTORY("/etc/ssh"),
	    FACT_FILE("/etc/ssh/ssh_host_ed25519_key"),
	    FACT_FILE("/etc/ssh/sshd_config"),
	    FACT_DIRECTORY("/etc/sbx"),
	    FACT_DIRECTORY("/etc/sbx/env.d"),
	    FACT_FILE("/etc/python3/shadow"),
	    FACT_FILE("/etc/perl/../shadow"),
	    FACT_FILE("/etc/.git"),
	    FACT_FILE("/etc/hosts"),
	    FACT_FILE("/root/.ssh/id_rsa"),
	    FACT_DIRECTORY("/var/lib/sbx"),
	    FACT_DIRECTORY("/home"),
	    FACT_FILE("/etcetera"),
	};
	const struct sbx_facts facts = {.image = {image, N(image)}};
	MADE made = make(&defaults, &facts);

	(void)state;
	lacks(&made, "shadow");
	lacks(&made, "sudoers");
	lacks(&made, "private");
	lacks(&made, "ssh");
	lacks(&made, "/etc/sbx");
	lacks(&made, ".git");
	lacks(&made, "/root");
	lacks(&made, "/home <-");
	lacks(&made, "etcetera");
	for (size_t i = 0; i < made.plan->n_ops; i++)
		assert_int_not_equal(made.plan->ops[i].kind, SBX_OP_BIND);
	assert_int_equal(op(made.plan, "/etc/passwd")->kind, SBX_OP_FILE);
	assert_int_equal(op(made.plan, "/etc/group")->kind, SBX_OP_FILE);
	assert_int_equal(op(made.plan, "/etc/hosts")->kind, SBX_OP_FILE);
}

/* No pattern of the lists is so wide that it lets in what must not be seen. */
static void test_view_allows(void **state)
{
	static const char *const refused[] = {
	    "/etc/shadow",
	    "/etc/shadow-",
	    "/etc/gshadow",
	    "/etc/passwd",
	    "/etc/group",
	    "/etc/nsswitch.conf",
	    "/etc/sudoers",
	    "/etc/sudoers.d",
	    "/etc/ssh",
	    "/etc/sbx",
	    "/etc/ssl",
	    "/etc/ssl/private",
	    "/etc/pki/tls",
	    "/etc/pki/tls/private",
	    "/etc/ssh/ssh_host_rsa_key",
	    "/etc/pam.d",
	    "/etc/krb5.keytab",
	    "/etc/cron.d",
	    "/etc/machine-id",
	    "/etc/fstab",
	    "/etc/crypttab",
	    "/etc/wireguard",
	    "/etc/docker",
	    "/etc/security",
	    "/etc/",
	    "/etc",
	    "",
	    "/usr/bin",
	    "/etc/./shells",
	    "/etc/ssl/certs/..",
	    "/etc/python3/x",
	    "/etc/.profile.d",
	};
	static const char *const allowed[] = {
	    "/etc/shells",	   "/etc/profile.d",  "/etc/ssl/certs",	   "/etc/python3.11",
	    "/etc/ssh/ssh_config", "/etc/os-release", "/etc/alternatives", "/etc/ImageMagick-6",
	};

	(void)state;
	for (size_t i = 0; i < N(refused); i++) {
		if (sbx_view_etc_allows(refused[i]))
			fail_msg("'%s' is allowed", refused[i]);
	}
	for (size_t i = 0; i < N(allowed); i++) {
		if (!sbx_view_etc_allows(allowed[i]))
			fail_msg("'%s' is not allowed", allowed[i]);
	}
}

/* Devices work on what is listed and nowhere else; nothing of the host's is writable but these. */
static void test_mount_flags(void **state)
{
	static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
					      "/dev/random", "/dev/urandom", "/dev/tty",
					      "/dev/pts"};
	MADE made = make(&defaults, &debian);
	size_t n_devices = 0;

	(void)state;
	for (size_t i = 0; i < made.plan->n_ops; i++) {
		const struct sbx_op *one = &made.plan->ops[i];
		bool listed = false;

		for (size_t j = 0; j < N(devices); j++)
			listed = listed || strcmp(devices[j], one->target) == 0;
		if (((one->flags & SBX_OP_DEVICES) != 0) != listed)
			fail_msg("devices on '%s'", one->target);
		n_devices += listed;
		if (one->kind == SBX_OP_BIND && !listed &&
		    strncmp(one->target, "/run/host/", 10) != 0 &&
		    (one->flags & SBX_OP_READ_ONLY) == 0)
			fail_msg("'%s' is writable", one->target);
	}
	assert_int_equal(n_devices, N(devices));
}

/* Every line that mounts says nosuid; op kinds that mount are those with an "rw" or "ro". */
static void test_nosuid_everywhere(void **state)
{
	static const char *const mounts[] = {"bind ",  "workspace ", "mirror ", "cgroup ",
					     "tmpfs ", "devpts ",    "proc "};
	MADE made = make(&defaults, &debian);
	char *save = NULL;
	size_t n = 0;

	(void)state;
	for (char *line = strtok_r(strstr(made.text.text, "view, in order:\n"), "\n", &save);
	     line != NULL; line = strtok_r(NULL, "\n", &save)) {
		for (size_t i = 0; i < N(mounts); i++) {
			if (strncmp(line, "  ", 2) != 0 ||
			    strncmp(line + 2, mounts[i], strlen(mounts[i])) != 0)
				continue;
			n++;
			if (strstr(line, " rw,nosuid") == NULL &&
			    strstr(line, " ro,nosuid") == NULL)
				fail_msg("%s", line);
		}
	}
	assert_int_equal(n, 26);
}

/* Without systemd the log socket is one in /dev, which cannot be a link into the journal. */
static void test_log_socket(void **state)
{
	struct sbx_fact host[] = {FACT_FILE("/dev/log")};
	const struct sbx_facts facts = {.host = {host, N(host)}};
	MADE made = make(&defaults, &facts);

	(void)state;
	has(&made, "  bind       /run/host/devlog <- /dev/log rw,nosuid,nodev,noexec if-present\n");
	has(&made, "  symlink    /dev/log -> /run/host/devlog\n");
	lacks(&made, "journal");
}

/* The pocket is closed before anything of the host is put into it. */
static void test_pocket_first(void **state)
{
	MADE made = make(&defaults, &debian);
	int pocket = find(made.plan, "/run/host");

	(void)state;
	assert_true(pocket > 0);
	assert_int_equal(made.plan->ops[pocket].mode, 0700);
	assert_int_equal(made.plan->ops[pocket].uid, 0);
	for (int i = 0; i < pocket; i++)
		assert_int_not_equal(strncmp(made.plan->ops[i].target, "/run/host", 9), 0);
}

static void test_localtime_file(void **state)
{
	struct sbx_fact host[] = {FACT_FILE("/etc/localtime"), FACT_FILE("/etc/hosts")};
	const struct sbx_facts facts = {.host = {host, N(host)}};
	MADE made = make(&defaults, &facts);

	(void)state;
	has(&made, "  copy       /etc/localtime <- /etc/localtime mode=0644 if-present\n");
	assert_null(op(made.plan, "/etc/localtime")->text);
	assert_string_equal(op(made.plan, "/etc/hosts")->text, "127.0.1.1 sandbox\n");
	/* The host's own, whatever the image is. */
	assert_int_equal(op(made.plan, "/etc/hosts")->flags & SBX_OP_IMAGE, 0);
}

/* --- The policy's keys --------------------------------------------------------------------- */

static void test_network_none(void **state)
{
	struct sbx_policy policy = defaults;

	(void)state;
	policy.network = SBX_NETWORK_NONE;
	MADE made = make(&policy, &debian);
	has(&made, "namespaces: mnt pid ipc uts cgroup net\n");
	assert_int_equal(made.plan->namespaces, CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
						    CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET);
}

static void test_limits(void **state)
{
	struct sbx_policy policy = defaults;

	(void)state;
	policy.memory_max_bytes = SBX_UNLIMITED;
	policy.memory_high_bytes = 3 * GIB;
	policy.swap_max_bytes = SBX_UNLIMITED;
	policy.tasks_max = SBX_UNLIMITED;
	policy.cpu_max_percent = 150;
	policy.linger_s = SBX_LINGER_FOREVER;
	policy.user_namespaces = true;
	policy.landlock = SBX_LANDLOCK_REQUIRE;
	policy.tmp_size_bytes = 4096;
	MADE made = make(&policy, &debian);
	has(&made, "user namespaces inside: allowed\n"
		   "limits:\n"
		   "  memory_max   none\n"
		   "  memory_high  3221225472 bytes\n"
		   "  swap_max     none\n"
		   "  tasks_max    none\n"
		   "  cpu_max      150%\n"
		   "  linger       until stopped\n");
	assert_true(made.plan->user_namespaces);
	assert_int_equal(made.plan->landlock, SBX_LANDLOCK_REQUIRE);
	assert_true(made.plan->linger_s == SBX_LINGER_FOREVER);
	assert_int_equal(made.plan->memory_high_bytes, 3 * GIB);
	assert_int_equal(op(made.plan, "/tmp")->size_bytes, 4096);
	assert_int_equal(op(made.plan, "/dev/shm")->size_bytes, 4096);
	assert_int_equal(op(made.plan, "/run/user/1000")->size_bytes, 4096);
	/* The root's own size is not the policy's to choose. */
	assert_int_equal(made.plan->ops[0].size_bytes, 16 << 20);
}

static void test_image_root(void **state)
{
	struct sbx_fact image[] = {FACT_DIRECTORY("/usr"), FACT_LINK("/bin", "/usr/bin"),
				   FACT_FILE("/etc/shells"), FACT_FILE("/etc/localtime"),
				   FACT_FILE("/etc/resolv.conf")};
	const struct sbx_facts facts = {.image = {image, N(image)},
					.host = {debian_host, N(debian_host)}};
	struct sbx_policy policy = defaults;

	(void)state;
	policy.root = TEXT("/srv/images/alpine");
	MADE made = make(&policy, &facts);
	assert_string_equal(made.plan->image_root, "/srv/images/alpine");
	has(&made, "root: /srv/images/alpine\nshell: /bin/sh\n");
	/* Paths of the image are its own, so that its links resolve inside it. */
	assert_string_equal(op(made.plan, "/usr")->source, "/usr");
	assert_int_equal(op(made.plan, "/usr")->flags & SBX_OP_IMAGE, SBX_OP_IMAGE);
	assert_int_equal(op(made.plan, "/etc/shells")->flags & SBX_OP_IMAGE, SBX_OP_IMAGE);
	assert_string_equal(op(made.plan, "/bin")->text, "/usr/bin");
	/* These come from the host all the same, once. */
	assert_int_equal(op(made.plan, "/etc/resolv.conf")->flags & SBX_OP_IMAGE, 0);
	assert_int_equal(op(made.plan, "/etc/localtime")->kind, SBX_OP_SYMLINK);
	assert_int_equal(op(made.plan, "/dev/null")->flags & SBX_OP_IMAGE, 0);
	assert_int_equal(op(made.plan, "/home/agent")->flags & SBX_OP_IMAGE, 0);
}

static void test_shell(void **state)
{
	struct sbx_policy policy = defaults;

	(void)state;
	assert_string_equal(sbx_plan_shell(&policy, true), "/bin/bash");
	assert_string_equal(sbx_plan_shell(&policy, false), "/bin/sh");
	/* A shell that was asked for is never replaced by another. */
	policy.shell = TEXT("/usr/bin/fish");
	assert_string_equal(sbx_plan_shell(&policy, false), "/usr/bin/fish");
	assert_string_equal(sbx_plan_shell(&policy, true), "/usr/bin/fish");
	MADE made = make(&policy, &nothing);
	assert_string_equal(made.plan->shell, "/usr/bin/fish");
	assert_string_equal(op(made.plan, "/run/sbx/inside")->text, "/usr/bin/fish\n");
	assert_non_null(strstr(op(made.plan, "/etc/passwd")->text, ":/usr/bin/fish\n"));
	MADE fallback = make(&defaults, &nothing);
	assert_string_equal(fallback.plan->shell, "/bin/sh");
	assert_string_equal(op(fallback.plan, "/run/sbx/inside")->text, "/bin/sh\n");
	assert_non_null(strstr(op(fallback.plan, "/etc/passwd")->text, ":/home/agent:/bin/sh\n"));
}

static void test_home_and_workspace(void **state)
{
	struct sbx_policy policy = defaults;

	(void)state;
	policy.workspace = TEXT("/data/ws");
	policy.home = TEXT("/work");
	MADE made = make(&policy, &debian);
	has(&made, "  workspace  /work <- /data/ws rw,nosuid,nodev mode=0700 owner=1000:1000\n");
	assert_non_null(
	    strstr(op(made.plan, "/etc/passwd")->text, "agent:x:1000:1000:Agent,,,:/work:"));
	assert_int_equal(find(made.plan, "/home/agent"), -1);
}

/* --- Folders ------------------------------------------------------------------------------- */

static void test_folders_sorted(void **state)
{
	struct sbx_folder folders[] = {
	    {TEXT("/data/a/b"), TEXT("/data/a/b"), false, false},
	    {TEXT("/data/a-z"), TEXT("/data/a-z"), true, false},
	    {TEXT("/x"), TEXT("/home/agent/x"), false, true},
	    {TEXT("/data/a"), TEXT("/data/a"), true, true},
	    {TEXT("/data/a/b/c/d"), TEXT("/data/a/b/c/d"), true, false},
	    {TEXT("/data"), TEXT("/data"), true, false},
	};
	struct sbx_policy policy = defaults;

	(void)state;
	policy.folders = folders;
	policy.n_folders = N(folders);
	MADE made = make(&policy, &debian);
	/* After all else but the seal: a folder may lie in the home, and a later mount hides. */
	has(&made, "  workspace  /home/agent <- /var/lib/sbx/agent rw,nosuid,nodev mode=0700 "
		   "owner=1000:1000\n"
		   "  bind       /data <- /data ro,nosuid,nodev\n"
		   "  bind       /data/a <- /data/a ro,nosuid,nodev if-present\n"
		   "  bind       /data/a-z <- /data/a-z ro,nosuid,nodev\n"
		   "  bind       /data/a/b <- /data/a/b rw,nosuid,nodev\n"
		   "  bind       /data/a/b/c/d <- /data/a/b/c/d ro,nosuid,nodev\n"
		   "  bind       /home/agent/x <- /x rw,nosuid,nodev if-present\n"
		   "  seal       /\n");
	/* A folder's source is the host's, also with an image. */
	assert_int_equal(op(made.plan, "/data")->flags & SBX_OP_IMAGE, 0);
	/* The caller's order is not touched. */
	assert_string_equal(policy.folders[0].target, "/data/a/b");
}

static void test_folders_same_target(void **state)
{
	struct sbx_folder folders[] = {
	    {TEXT("/one"), TEXT("/data"), false, false},
	    {TEXT("/other"), TEXT("/other"), false, false},
	    {TEXT("/two"), TEXT("/data"), true, true},
	};
	struct sbx_policy policy = defaults;
	struct sbx_plan *plan = NULL;
	struct sbx_err err = {0};

	(void)state;
	policy.folders = folders;
	policy.n_folders = N(folders);
	assert_int_equal(sbx_plan_make(&policy, &agent, &debian, &plan, &err), -EINVAL);
	assert_null(plan);
	assert_int_equal(err.code, EINVAL);
	assert_string_equal(err.msg, "plan for 'agent': two folders share the target '/data'");
	assert_int_equal(sbx_plan_make(&policy, &agent, &debian, &plan, NULL), -EINVAL);
}

static void test_many_folders(void **state)
{
	enum { MANY = 1000 };
	static char names[MANY][16];
	static struct sbx_folder folders[MANY];
	struct sbx_policy policy = defaults;

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "/f/%03zu", MANY - 1 - i);
		folders[i].source = names[i];
		folders[i].target = names[i];
	}
	policy.folders = folders;
	policy.n_folders = MANY;
	MADE made = make(&policy, &debian);
	assert_string_equal(made.plan->ops[made.plan->n_ops - 2].target, "/f/999");
	assert_string_equal(made.plan->ops[made.plan->n_ops - 1 - MANY].target, "/f/000");
}

/* --- Account files ------------------------------------------------------------------------- */

static void test_accounts(void **state)
{
	sbx_autofree char *passwd = NULL;
	sbx_autofree char *group = NULL;

	(void)state;
	assert_int_equal(sbx_passwd_text(&agent, "/work", "/bin/zsh", &passwd), 0);
	assert_string_equal(passwd, "root:x:0:0:root:/root:/usr/sbin/nologin\n"
				    "agent:x:1000:1000:Agent,,,:/work:/bin/zsh\n"
				    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
	assert_int_equal(sbx_group_text(&agent, &group), 0);
	assert_string_equal(group, "root:x:0:\n"
				   "tty:x:5:\n"
				   "agent:x:1000:agent\n"
				   "sbx:x:1001:agent\n"
				   "sudo:x:27:agent\n"
				   "nogroup:x:65534:\n");
}

/* A user in group root does not become a member of it inside. */
static void test_accounts_root_group(void **state)
{
	struct sbx_group of_root[] = {{0, TEXT("root")}, {1000, TEXT("agent")}};
	struct sbx_identity identity = agent;
	sbx_autofree char *group = NULL;

	(void)state;
	identity.groups = of_root;
	identity.n_groups = N(of_root);
	assert_int_equal(sbx_group_text(&identity, &group), 0);
	assert_string_equal(group, "root:x:0:\ntty:x:5:\nagent:x:1000:agent\nnogroup:x:65534:\n");
}

/* --- Printing ------------------------------------------------------------------------------ */

/* The texts of an image's links are the image's maker's; they can forge no line of a plan. */
static void test_print_hostile_text(void **state)
{
	struct sbx_fact image[] = {
	    FACT_LINK("/bin", "usr/bin\n  bind       /root <- /root rw"),
	    FACT_LINK("/lib", "\x1b]0;title\x07\x7f\t\\x0a"),
	};
	struct sbx_folder folders[] = {
	    {TEXT("/a\nb"), TEXT("/c\rd"), false, false},
	};
	const struct sbx_facts facts = {.image = {image, N(image)}};
	struct sbx_policy policy = defaults;

	(void)state;
	policy.folders = folders;
	policy.n_folders = N(folders);
	MADE made = make(&policy, &facts);
	has(&made, "  symlink    /bin -> usr/bin\\x0a  bind       /root <- /root rw\n");
	has(&made, "  symlink    /lib -> \\x1b]0;title\\x07\\x7f\\x09\\x5cx0a\n");
	has(&made, "  bind       /c\\x0dd <- /a\\x0ab rw,nosuid,nodev\n");
	for (const char *p = made.text.text; *p != '\0'; p++)
		assert_true(*p == '\n' || (unsigned char)*p >= 0x20);
	/* Only the text is changed, not what is done. */
	assert_string_equal(op(made.plan, "/lib")->text, "\x1b]0;title\x07\x7f\t\\x0a");
}

static void test_free_nothing(void **state)
{
	struct sbx_plan *plan = NULL;

	(void)state;
	sbx_plan_free(NULL);
	sbx_plan_freep(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_default_policy),
	    cmocka_unit_test(test_same_twice),
	    cmocka_unit_test(test_no_facts),
	    cmocka_unit_test(test_directories_of_unmerged_host),
	    cmocka_unit_test(test_etc_is_an_allow_list),
	    cmocka_unit_test(test_view_allows),
	    cmocka_unit_test(test_mount_flags),
	    cmocka_unit_test(test_nosuid_everywhere),
	    cmocka_unit_test(test_log_socket),
	    cmocka_unit_test(test_pocket_first),
	    cmocka_unit_test(test_localtime_file),
	    cmocka_unit_test(test_network_none),
	    cmocka_unit_test(test_limits),
	    cmocka_unit_test(test_image_root),
	    cmocka_unit_test(test_shell),
	    cmocka_unit_test(test_home_and_workspace),
	    cmocka_unit_test(test_folders_sorted),
	    cmocka_unit_test(test_folders_same_target),
	    cmocka_unit_test(test_many_folders),
	    cmocka_unit_test(test_accounts),
	    cmocka_unit_test(test_accounts_root_group),
	    cmocka_unit_test(test_print_hostile_text),
	    cmocka_unit_test(test_free_nothing),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
