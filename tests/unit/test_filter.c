/* SPDX-License-Identifier: MIT */
/*
 * The seccomp filters as data: runs the generated programs in an interpreter, for every
 * call number of every ABI, and compares with a list that is written here a second time.
 * Needs no privilege and loads nothing, so that it can also test filters of other machines.
 */
#include "filter_bytes.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define REFUSE(error) (SECCOMP_RET_ERRNO | (uint32_t)(error))
#define LAST_CALL 469
#define SWEEP_END 1200

struct filter {
	const struct sock_filter *steps;
	size_t n_steps;
};

#define FILTER(array)                                                                              \
	{                                                                                          \
		array, sizeof(array) / sizeof((array)[0])                                          \
	}
static const struct filter session_deny = FILTER(sbx_filter_session_deny);
static const struct filter session_allow = FILTER(sbx_filter_session_allow);
static const struct filter keeper = FILTER(sbx_filter_keeper);

static uint32_t load(const struct seccomp_data *data, uint32_t offset,
		     unsigned int *n_argument_loads)
{
	uint32_t word;

	assert_true(offset + sizeof(word) <= sizeof(*data) && offset % sizeof(word) == 0);
	memcpy(&word, (const char *)data + offset, sizeof(word));
	if (offset >= offsetof(struct seccomp_data, args))
		(*n_argument_loads)++;
	return word;
}

static bool jumps(const struct sock_filter *step, uint32_t a)
{
	switch (BPF_OP(step->code)) {
	case BPF_JEQ:
		return a == step->k;
	case BPF_JGT:
		return a > step->k;
	case BPF_JGE:
		return a >= step->k;
	case BPF_JSET:
		return (a & step->k) != 0;
	default:
		fail_msg("unexpected jump %#x", (unsigned int)step->code);
		return false;
	}
}

/* What the kernel would do; fails the test on a step that no filter of ours should have. */
static uint32_t run(const struct filter *filter, const struct seccomp_data *data,
		    unsigned int *n_argument_loads)
{
	uint32_t a = 0;
	size_t pc = 0;

	*n_argument_loads = 0;
	while (pc < filter->n_steps) {
		const struct sock_filter *step = &filter->steps[pc++];

		if (step->code == (BPF_RET | BPF_K))
			return step->k;
		if (step->code == (BPF_LD | BPF_W | BPF_ABS))
			a = load(data, step->k, n_argument_loads);
		else if (step->code == (BPF_ALU | BPF_AND | BPF_K))
			a &= step->k;
		else if (step->code == (BPF_JMP | BPF_JA))
			pc += step->k;
		else if (BPF_CLASS(step->code) == BPF_JMP && BPF_SRC(step->code) == BPF_K)
			pc += jumps(step, a) ? step->jt : step->jf;
		else
			fail_msg("unexpected step %#x", (unsigned int)step->code);
	}
	fail_msg("the program runs past its end");
	return 0;
}

static uint32_t answer(const struct filter *filter, uint32_t arch, int number, uint64_t arg0,
		       uint64_t arg1, uint64_t arg2)
{
	const struct seccomp_data data = {
	    .nr = number, .arch = arch, .args = {arg0, arg1, arg2, ~0ULL, ~0ULL, ~0ULL}};
	unsigned int n_argument_loads;

	return run(filter, &data, &n_argument_loads);
}

/* The ABIs of the machine that the filters are for. */
static size_t abis(uint32_t *arch)
{
	if (strcmp(SBX_FILTER_ARCH, "x86_64") == 0) {
		arch[0] = SCMP_ARCH_X86_64;
		arch[1] = SCMP_ARCH_X86;
		return 2;
	}
	if (strcmp(SBX_FILTER_ARCH, "aarch64") == 0) {
		arch[0] = SCMP_ARCH_AARCH64;
		arch[1] = SCMP_ARCH_ARM;
		return 2;
	}
	assert_string_equal(SBX_FILTER_ARCH, "riscv64");
	arch[0] = SCMP_ARCH_RISCV64;
	return 1;
}

/* Refused whatever the arguments; 'guarded' ones only without user namespaces. */
static const struct {
	const char *name;
	int error;
	bool guarded;
} refused[] = {
    {"mount", EPERM, true},
    {"umount", EPERM, true},
    {"umount2", EPERM, true},
    {"pivot_root", EPERM, true},
    {"open_tree", EPERM, true},
    {"move_mount", EPERM, true},
    {"fsopen", EPERM, true},
    {"fsconfig", EPERM, true},
    {"fsmount", EPERM, true},
    {"fspick", EPERM, true},
    {"mount_setattr", EPERM, true},
    {"setns", EPERM, true},
    {"clone3", ENOSYS, true},
    {"add_key", EPERM, false},
    {"keyctl", EPERM, false},
    {"request_key", EPERM, false},
    {"open_by_handle_at", EPERM, false},
    {"bpf", EPERM, false},
    {"perf_event_open", EPERM, false},
    {"userfaultfd", EPERM, false},
    {"io_uring_setup", ENOSYS, false},
    {"io_uring_enter", ENOSYS, false},
    {"io_uring_register", ENOSYS, false},
    {"fanotify_init", EPERM, false},
    {"syslog", EPERM, false},
    {"acct", EPERM, false},
    {"clock_settime", EPERM, false},
    {"clock_settime64", EPERM, false},
    {"settimeofday", EPERM, false},
    {"stime", EPERM, false},
    {"delete_module", EPERM, false},
    {"finit_module", EPERM, false},
    {"init_module", EPERM, false},
    {"ioperm", EPERM, false},
    {"iopl", EPERM, false},
    {"kexec_file_load", EPERM, false},
    {"kexec_load", EPERM, false},
    {"quotactl", EPERM, false},
    {"quotactl_fd", EPERM, false},
    {"reboot", EPERM, false},
    {"swapoff", EPERM, false},
    {"swapon", EPERM, false},
    {"modify_ldt", EPERM, false},
    {"vm86", EPERM, false},
    {"vm86old", EPERM, false},
    {"lookup_dcookie", EPERM, false},
    {"uselib", EPERM, false},
};

/* The only calls whose arguments may be looked at. */
static const char *const looked_at[] = {"ioctl",  "clone",	"unshare",
					"socket", "socketpair", "socketcall"};

static uint32_t expected(uint32_t arch, int number, bool user_namespaces)
{
	if (number == 467) /* open_tree_attr, unknown to older libseccomp */
		return user_namespaces ? SECCOMP_RET_ALLOW : REFUSE(EPERM);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		if (seccomp_syscall_resolve_name_arch(arch, refused[i].name) == number &&
		    !(refused[i].guarded && user_namespaces))
			return REFUSE(refused[i].error);
	}
	return number > LAST_CALL ? REFUSE(ENOSYS) : SECCOMP_RET_ALLOW;
}

static int call_number(uint32_t arch, const char *name)
{
	/* libseccomp has stand-ins for these two names */
	if (arch == SCMP_ARCH_X86 && strcmp(name, "socket") == 0)
		return 359;
	if (arch == SCMP_ARCH_X86 && strcmp(name, "socketpair") == 0)
		return 360;
	return seccomp_syscall_resolve_name_arch(arch, name);
}

static bool is_looked_at(uint32_t arch, int number)
{
	for (size_t i = 0; i < sizeof(looked_at) / sizeof(looked_at[0]); i++) {
		if (call_number(arch, looked_at[i]) == number)
			return true;
	}
	return false;
}

static void sweep(const struct filter *filter, uint32_t arch, bool user_namespaces)
{
	for (int number = 0; number < SWEEP_END; number++) {
		const struct seccomp_data data = {
		    .nr = number, .arch = arch, .args = {~0ULL, ~0ULL, ~0ULL}};
		unsigned int n_argument_loads;
		uint32_t got;

		if (is_looked_at(arch, number))
			continue;
		got = run(filter, &data, &n_argument_loads);
		if (got != expected(arch, number, user_namespaces))
			fail_msg("call %d of %#x: %#x instead of %#x", number, arch, got,
				 expected(arch, number, user_namespaces));
		/* Otherwise the kernel would run the filter for each of these calls. */
		if (n_argument_loads != 0)
			fail_msg("call %d of %#x: loads an argument", number, arch);
	}
}

static void test_each_number_of_each_abi(void **state)
{
	uint32_t arch[2];
	size_t n = abis(arch);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		sweep(&session_deny, arch[i], false);
		sweep(&session_allow, arch[i], true);
	}
}

/* The sweep trusts libseccomp's numbers, so some are checked against known ones. */
static void test_known_numbers(void **state)
{
	static const struct {
		uint32_t arch;
		int mount, setns, keyctl;
	} known[] = {
	    {SCMP_ARCH_X86_64, 165, 308, 250}, {SCMP_ARCH_X86, 21, 346, 288},
	    {SCMP_ARCH_AARCH64, 40, 268, 219}, {SCMP_ARCH_ARM, 21, 375, 311},
	    {SCMP_ARCH_RISCV64, 40, 268, 219},
	};
	uint32_t arch[2];
	size_t n = abis(arch);
	size_t n_checked = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		for (size_t j = 0; j < n; j++) {
			if (known[i].arch != arch[j])
				continue;
			assert_int_equal(answer(&session_deny, arch[j], known[i].mount, 0, 0, 0),
					 REFUSE(EPERM));
			assert_int_equal(answer(&session_deny, arch[j], known[i].setns, 0, 0, 0),
					 REFUSE(EPERM));
			assert_int_equal(answer(&session_allow, arch[j], known[i].keyctl, 0, 0, 0),
					 REFUSE(EPERM));
			n_checked++;
		}
	}
	assert_int_equal(n_checked, n);
}

static void test_terminal_requests(void **state)
{
	static const uint32_t requests[] = {0x5412, 0x541c, 0x5423};
	static const uint32_t harmless[] = {0x5401, 0x540e, 0x5413, 0x5422};
	static const uint64_t high[] = {0, 1ULL << 32, 0xffffffffULL << 32};
	uint32_t arch[2];
	size_t n = abis(arch);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		int number = call_number(arch[i], "ioctl");

		for (size_t j = 0; j < 9; j++) {
			uint64_t request = requests[j % 3] | high[j / 3];

			assert_int_equal(answer(&session_deny, arch[i], number, 0, request, 0),
					 REFUSE(EPERM));
			assert_int_equal(answer(&session_allow, arch[i], number, 0, request, 0),
					 REFUSE(EPERM));
		}
		for (size_t j = 0; j < sizeof(harmless) / sizeof(harmless[0]); j++)
			assert_int_equal(
			    answer(&session_deny, arch[i], number, 0x5412, harmless[j], 0x5412),
			    SECCOMP_RET_ALLOW);
	}
}

static void test_namespace_flags(void **state)
{
	static const uint32_t flags[] = {0x00020000, 0x02000000, 0x04000000, 0x08000000,
					 0x10000000, 0x20000000, 0x40000000};
	uint32_t arch[2];
	size_t n = abis(arch);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		int clone_nr = call_number(arch[i], "clone");
		int unshare_nr = call_number(arch[i], "unshare");

		for (size_t j = 0; j < sizeof(flags) / sizeof(flags[0]); j++) {
			uint64_t both[] = {flags[j], flags[j] | 17 | 0x00000100 | 1ULL << 63};

			for (size_t k = 0; k < 2; k++) {
				assert_int_equal(
				    answer(&session_deny, arch[i], clone_nr, both[k], 0, 0),
				    REFUSE(EPERM));
				assert_int_equal(
				    answer(&session_deny, arch[i], unshare_nr, both[k], 0, 0),
				    REFUSE(EPERM));
				assert_int_equal(
				    answer(&session_allow, arch[i], clone_nr, both[k], 0, 0),
				    SECCOMP_RET_ALLOW);
				assert_int_equal(
				    answer(&session_allow, arch[i], unshare_nr, both[k], 0, 0),
				    SECCOMP_RET_ALLOW);
			}
		}
		/* a thread, as the C library makes it; vfork; fork */
		assert_int_equal(answer(&session_deny, arch[i], clone_nr, 0x003d0f00, 0, 0),
				 SECCOMP_RET_ALLOW);
		assert_int_equal(answer(&session_deny, arch[i], clone_nr, 0x00004111, 0, 0),
				 SECCOMP_RET_ALLOW);
		assert_int_equal(answer(&session_deny, arch[i], clone_nr, 0x01200011, 0, 0),
				 SECCOMP_RET_ALLOW);
		/* CLONE_NEWTIME, and a bit that the kernel may give a meaning one day */
		assert_int_equal(answer(&session_deny, arch[i], unshare_nr, 0x80, 0, 0),
				 REFUSE(EPERM));
		assert_int_equal(answer(&session_deny, arch[i], unshare_nr, 0x00100000, 0, 0),
				 REFUSE(EPERM));
		assert_int_equal(answer(&session_deny, arch[i], unshare_nr, 0x600, 0, 0),
				 SECCOMP_RET_ALLOW);
	}
}

static void check_families(const struct filter *filter, uint32_t arch, const char *call)
{
	int number = call_number(arch, call);

	assert_true(number >= 0);
	for (uint64_t family = 0; family < 300; family++) {
		bool good = family == 1 || family == 2 || family == 10 || family == 16;
		uint32_t wanted = good ? SECCOMP_RET_ALLOW : REFUSE(EAFNOSUPPORT);

		assert_int_equal(answer(filter, arch, number, family, 1, 0), wanted);
		/* the kernel ignores the high half: 1 << 32 | AF_VSOCK is AF_VSOCK */
		assert_int_equal(answer(filter, arch, number, family | 1ULL << 32, 1, 0), wanted);
		assert_int_equal(answer(filter, arch, number, family | 0xffffffffULL << 32, 1, 0),
				 wanted);
	}
	assert_int_equal(answer(filter, arch, number, 0x80000001, 1, 0), REFUSE(EAFNOSUPPORT));
}

static void test_socket_families(void **state)
{
	uint32_t arch[2];
	size_t n = abis(arch);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		check_families(&session_deny, arch[i], "socket");
		check_families(&session_deny, arch[i], "socketpair");
		check_families(&session_allow, arch[i], "socket");
		check_families(&session_allow, arch[i], "socketpair");
	}
}

static void test_socketcall(void **state)
{
	(void)state;
	if (strcmp(SBX_FILTER_ARCH, "x86_64") != 0)
		return; /* i386 only */
	for (uint64_t call = 0; call < 32; call++) {
		bool makes_one = call == 1 || call == 8;

		for (uint64_t high = 0; high < 2; high++)
			assert_int_equal(
			    answer(&session_deny, SCMP_ARCH_X86, 102, call | high << 32, 0, 0),
			    makes_one ? REFUSE(EPERM) : SECCOMP_RET_ALLOW);
	}
}

static void test_odd_numbers_and_architectures(void **state)
{
	static const uint32_t foreign[] = {0, 0x40000028 ^ 1, 0xc0000015, 0x80000016, 0xffffffff};
	uint32_t arch[2];
	size_t n = abis(arch);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		/* a call that a tracer has cancelled */
		assert_int_equal(answer(&session_deny, arch[i], -1, 0, 0, 0), SECCOMP_RET_ALLOW);
		assert_int_equal(answer(&session_deny, arch[i], -2, 0, 0, 0),
				 arch[i] == SCMP_ARCH_X86_64 ? REFUSE(EPERM) : REFUSE(ENOSYS));
		assert_int_equal(answer(&session_deny, arch[i], 0x3fffffff, 0, 0, 0),
				 REFUSE(ENOSYS));
	}
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		assert_int_equal(answer(&session_deny, foreign[i], 0, 0, 0, 0),
				 SECCOMP_RET_KILL_PROCESS);
		assert_int_equal(answer(&keeper, foreign[i], 0, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
	}
	if (arch[0] == SCMP_ARCH_X86_64) {
		for (int number = 0; number < SWEEP_END; number++) { /* x32 */
			assert_int_equal(
			    answer(&session_deny, arch[0], number | 0x40000000, 0, 0, 0),
			    REFUSE(EPERM));
			assert_int_equal(
			    answer(&session_allow, arch[0], number | 0x40000000, 0, 0, 0),
			    REFUSE(EPERM));
			assert_int_equal(answer(&keeper, arch[0], number | 0x40000000, 0, 0, 0),
					 SECCOMP_RET_KILL_PROCESS);
		}
	}
	if (arch[0] == SCMP_ARCH_AARCH64) { /* ARM's own calls: cacheflush, set_tls */
		assert_int_equal(answer(&session_deny, arch[1], 0xf0002, 0, 0, 0),
				 SECCOMP_RET_ALLOW);
		assert_int_equal(answer(&session_deny, arch[1], 0xf0005, 0, 0, 0),
				 SECCOMP_RET_ALLOW);
		assert_int_equal(answer(&session_deny, arch[1], 0xf0007, 0, 0, 0), REFUSE(ENOSYS));
		assert_int_equal(answer(&session_deny, arch[1], 0xf0000, 0, 0, 0), REFUSE(ENOSYS));
	}
}

static void test_keeper(void **state)
{
	static const char *const needed[] = {"epoll_pwait", "ppoll",	"read",	 "write",
					     "recvmsg",	    "sendmsg",	"wait4", "waitid",
					     "kill",	    "unlinkat", "close", "exit_group",
					     "brk",	    "munmap",	"futex", "rt_sigreturn"};
	static const char *const deadly[] = {
	    "execve", "execveat", "openat", "openat2", "open",	       "socket",	 "connect",
	    "ptrace", "clone",	  "clone3", "fork",    "setns",	       "unshare",	 "mount",
	    "setuid", "capset",	  "prctl",  "ioctl",   "memfd_create", "io_uring_setup", "bpf"};
	uint32_t arch[2];
	size_t n = abis(arch);
	int mmap_nr = call_number(arch[0], "mmap");
	int mprotect_nr = call_number(arch[0], "mprotect");

	(void)state;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		assert_int_equal(answer(&keeper, arch[0], call_number(arch[0], needed[i]), 0, 0, 0),
				 SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++) {
		int number = call_number(arch[0], deadly[i]);

		if (number >= 0) /* open and fork are missing on newer architectures */
			assert_int_equal(answer(&keeper, arch[0], number, 0, 0, 0),
					 SECCOMP_RET_KILL_PROCESS);
	}
	for (uint64_t prot = 0; prot < 8; prot++) {
		uint32_t wanted = (prot & 4) != 0 ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW;

		assert_int_equal(answer(&keeper, arch[0], mmap_nr, 0, 4096, prot), wanted);
		assert_int_equal(answer(&keeper, arch[0], mprotect_nr, 0, 4096, prot), wanted);
	}
	assert_int_equal(answer(&keeper, arch[0], LAST_CALL + 1, 0, 0, 0), REFUSE(ENOSYS));
	if (n > 1) /* a native program has no business with the other ABI */
		assert_int_equal(answer(&keeper, arch[1], 4, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_number_of_each_abi),
	    cmocka_unit_test(test_known_numbers),
	    cmocka_unit_test(test_terminal_requests),
	    cmocka_unit_test(test_namespace_flags),
	    cmocka_unit_test(test_socket_families),
	    cmocka_unit_test(test_socketcall),
	    cmocka_unit_test(test_odd_numbers_and_architectures),
	    cmocka_unit_test(test_keeper),
	};

	return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
