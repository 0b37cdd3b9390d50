/* SPDX-License-Identifier: MIT */
/*
 * Attack probe: makes every call that a session must not make, on every ABI of the
 * machine, and prints a table of the answers. Run it inside a session, as root or as the
 * agent. All arguments are invalid, so that nothing happens where a call gets through.
 *
 *   syscall_table [--user-namespaces]     the policy allows user namespaces
 *
 * Where the kernel looks at the arguments first, its own answer differs from the filter's
 * and a pass proves the filter; else (marked "~") the kernel may have refused for want of
 * a capability. Without a filter, or with a hole in it, this fails. Exit status: 0 all as
 * expected, 1 not, 2 usage.
 *
 * Link it statically: it must run in any root file system. Call numbers are the kernel's,
 * written out for i386, and none come from the library that made the filter.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BAD 1L /* no memory there: EFAULT */
#define HIGH (1L << 32)
#define NONE (-1)
#define X32_BIT 0x40000000L
#define N_ARGS 5

/* Newer than the headers of some build machines; the same number everywhere. */
#define NR_OPEN_TREE_ATTR 467

#ifdef __x86_64__
#define X86_ONLY(number) number
#else
#define X86_ONLY(number) NONE
#endif

enum {
	GUARDED = 1 << 0,      /* reaches the kernel when user namespaces are allowed */
	CAPABILITY = 1 << 1,   /* without one the kernel refuses before it looks at arguments */
	WIDE = 1 << 2,	       /* an argument uses more than 32 bits */
	MAY_BE_ABSENT = 1 << 3 /* old or small kernels answer ENOSYS */
};

struct attempt {
	const char *name;
	long native; /* or NONE */
	long i386;   /* or NONE */
	long args[N_ARGS];
	int expected; /* errno with the filter; 0 = success */
	int open;     /* errno of the call itself, from a process with all capabilities */
	unsigned int flags;
};

static const struct attempt attempts[] = {
    /* mounts */
    {"mount", SYS_mount, 21, {BAD, BAD, BAD, 0, 0}, EPERM, EFAULT, GUARDED},
    {"umount", NONE, 22, {BAD}, EPERM, EFAULT, GUARDED | CAPABILITY},
    {"umount2", SYS_umount2, 52, {BAD, 0x8000}, EPERM, EINVAL, GUARDED},
    {"pivot_root", SYS_pivot_root, 217, {BAD, BAD}, EPERM, EFAULT, GUARDED | CAPABILITY},
    {"open_tree", SYS_open_tree, 428, {-1, BAD, 0x40000000}, EPERM, EINVAL, GUARDED},
    {"move_mount",
     SYS_move_mount,
     429,
     {-1, BAD, -1, BAD, 0x40000000},
     EPERM,
     EINVAL,
     GUARDED | CAPABILITY},
    {"fsopen", SYS_fsopen, 430, {BAD, 0xff}, EPERM, EINVAL, GUARDED | CAPABILITY},
    {"fsconfig", SYS_fsconfig, 431, {-1, 99, 0, 0, 0}, EPERM, EINVAL, GUARDED},
    {"fsmount", SYS_fsmount, 432, {-1, 0xff, 0}, EPERM, EINVAL, GUARDED | CAPABILITY},
    {"fspick", SYS_fspick, 433, {-1, BAD, 0xffff}, EPERM, EINVAL, GUARDED | CAPABILITY},
    {"mount_setattr", SYS_mount_setattr, 442, {-1, BAD, 0x40000000}, EPERM, EINVAL, GUARDED},
    {"open_tree_attr",
     NR_OPEN_TREE_ATTR,
     467,
     {-1, BAD, 0x40000000},
     EPERM,
     EINVAL,
     GUARDED | MAY_BE_ABSENT},

    /* namespaces: each flag, with one that makes the call invalid */
    {"setns", SYS_setns, 346, {-1, 0}, EPERM, EBADF, GUARDED},
    {"unshare NEWTIME", SYS_unshare, 310, {0x80 | 1}, EPERM, EINVAL, GUARDED},
    {"unshare NEWNS", SYS_unshare, 310, {CLONE_NEWNS | 1}, EPERM, EINVAL, GUARDED},
    {"unshare NEWCGROUP", SYS_unshare, 310, {CLONE_NEWCGROUP | 1}, EPERM, EINVAL, GUARDED},
    {"unshare NEWUTS", SYS_unshare, 310, {CLONE_NEWUTS | 1}, EPERM, EINVAL, GUARDED},
    {"unshare NEWIPC", SYS_unshare, 310, {CLONE_NEWIPC | 1}, EPERM, EINVAL, GUARDED},
    {"unshare NEWUSER", SYS_unshare, 310, {CLONE_NEWUSER | 1}, EPERM, EINVAL, GUARDED},
    {"unshare NEWPID", SYS_unshare, 310, {CLONE_NEWPID | 1}, EPERM, EINVAL, GUARDED},
    {"unshare NEWNET", SYS_unshare, 310, {CLONE_NEWNET | 1}, EPERM, EINVAL, GUARDED},
    {"unshare new bit", SYS_unshare, 310, {0x00100000 | 1}, EPERM, EINVAL, GUARDED},
    {"unshare high bits", SYS_unshare, NONE, {HIGH | CLONE_NEWUSER}, EPERM, EINVAL, GUARDED | WIDE},
    {"clone NEWNS", SYS_clone, 120, {CLONE_NEWNS | CLONE_THREAD}, EPERM, EINVAL, GUARDED},
    {"clone NEWCGROUP", SYS_clone, 120, {CLONE_NEWCGROUP | CLONE_THREAD}, EPERM, EINVAL, GUARDED},
    {"clone NEWUTS", SYS_clone, 120, {CLONE_NEWUTS | CLONE_THREAD}, EPERM, EINVAL, GUARDED},
    {"clone NEWIPC", SYS_clone, 120, {CLONE_NEWIPC | CLONE_THREAD}, EPERM, EINVAL, GUARDED},
    {"clone NEWUSER", SYS_clone, 120, {CLONE_NEWUSER | CLONE_THREAD}, EPERM, EINVAL, GUARDED},
    {"clone NEWPID", SYS_clone, 120, {CLONE_NEWPID | CLONE_THREAD}, EPERM, EINVAL, GUARDED},
    {"clone NEWNET", SYS_clone, 120, {CLONE_NEWNET | CLONE_THREAD}, EPERM, EINVAL, GUARDED},
    {"clone3", SYS_clone3, 435, {0, 0}, ENOSYS, EINVAL, GUARDED},

    /* keyrings, file handles */
    {"add_key", SYS_add_key, 286, {BAD, BAD, 0, 0, 0}, EPERM, EFAULT, 0},
    {"request_key", SYS_request_key, 287, {BAD, BAD, 0, 0}, EPERM, EFAULT, 0},
    {"keyctl", SYS_keyctl, 288, {9999}, EPERM, EOPNOTSUPP, 0},
    {"open_by_handle_at", SYS_open_by_handle_at, 342, {-1, BAD, 0}, EPERM, EFAULT, CAPABILITY},

    /* surface */
    {"bpf", SYS_bpf, 357, {9999, 0, 0}, EPERM, EINVAL, CAPABILITY},
    {"perf_event_open", SYS_perf_event_open, 336, {BAD, 0, -1, -1, 0xffff}, EPERM, EINVAL, 0},
    {"userfaultfd", SYS_userfaultfd, 374, {0xff}, EPERM, EINVAL, CAPABILITY},
    {"io_uring_setup", SYS_io_uring_setup, 425, {0, BAD}, ENOSYS, EFAULT, CAPABILITY},
    {"io_uring_enter", SYS_io_uring_enter, 426, {-1, 0, 0, 0, 0}, ENOSYS, EBADF, 0},
    {"io_uring_register", SYS_io_uring_register, 427, {-1, 9999, 0, 0}, ENOSYS, EINVAL, 0},
    {"fanotify_init", SYS_fanotify_init, 338, {0x7fffffff, 0}, EPERM, EINVAL, CAPABILITY},
    {"syslog", SYS_syslog, 103, {99, 0, 0}, EPERM, EINVAL, CAPABILITY},

    /* the machine */
    {"acct", SYS_acct, 51, {BAD}, EPERM, EFAULT, CAPABILITY},
    {"clock_settime", SYS_clock_settime, 264, {9999, BAD}, EPERM, EINVAL, 0},
    {"clock_settime64", NONE, 404, {9999, BAD}, EPERM, EINVAL, 0},
    {"settimeofday", SYS_settimeofday, 79, {BAD, 0}, EPERM, EFAULT, 0},
    {"stime", NONE, 25, {BAD}, EPERM, EFAULT, 0},
    {"delete_module", SYS_delete_module, 129, {BAD, 0}, EPERM, EFAULT, CAPABILITY},
    {"finit_module", SYS_finit_module, 350, {-1, BAD, 0xff00}, EPERM, EINVAL, CAPABILITY},
    {"init_module", SYS_init_module, 128, {BAD, 0, BAD}, EPERM, ENOEXEC, CAPABILITY},
    {"ioperm", X86_ONLY(SYS_ioperm), 101, {-1, 1, 1}, EPERM, EINVAL, 0},
    {"iopl", X86_ONLY(SYS_iopl), 110, {99}, EPERM, EINVAL, 0},
    {"kexec_load", SYS_kexec_load, 283, {0, 0, 0, 0xff00}, EPERM, EINVAL, CAPABILITY},
    {"kexec_file_load",
     SYS_kexec_file_load,
     NONE,
     {-1, -1, 0, BAD, 0xff00},
     EPERM,
     EINVAL,
     CAPABILITY},
    {"quotactl", SYS_quotactl, 131, {0xff, 0, 0, 0}, EPERM, EINVAL, 0},
    {"quotactl_fd", SYS_quotactl_fd, 443, {-1, 0xff, 0, 0}, EPERM, EBADF, MAY_BE_ABSENT},
    {"reboot", SYS_reboot, 88, {0, 0, 0, 0}, EPERM, EINVAL, CAPABILITY},
    {"swapoff", SYS_swapoff, 115, {BAD}, EPERM, EFAULT, CAPABILITY},
    {"swapon", SYS_swapon, 87, {BAD, -1}, EPERM, EINVAL, CAPABILITY},
    {"modify_ldt", X86_ONLY(SYS_modify_ldt), 123, {99, 0, 0}, EPERM, ENOSYS, 0},
    {"vm86old", NONE, 113, {BAD}, EPERM, ENOSYS, 0},
    {"vm86", NONE, 166, {99, BAD}, EPERM, ENOSYS, 0},
    {"lookup_dcookie", X86_ONLY(212), 253, {0, BAD, 0}, EPERM, ENOSYS, CAPABILITY},
    {"uselib", X86_ONLY(134), 86, {BAD}, EPERM, ENOSYS, 0},

    /* terminals */
    {"ioctl TIOCSTI", SYS_ioctl, 54, {-1, 0x5412, BAD}, EPERM, EBADF, 0},
    {"ioctl TIOCSTI high", SYS_ioctl, NONE, {-1, HIGH | 0x5412, BAD}, EPERM, EBADF, WIDE},
    {"ioctl TIOCSTI -high", SYS_ioctl, NONE, {-1, -HIGH | 0x5412, BAD}, EPERM, EBADF, WIDE},
    {"ioctl TIOCLINUX", SYS_ioctl, 54, {-1, 0x541c, BAD}, EPERM, EBADF, 0},
    {"ioctl TIOCLINUX high", SYS_ioctl, NONE, {-1, HIGH | 0x541c, BAD}, EPERM, EBADF, WIDE},
    {"ioctl TIOCSETD", SYS_ioctl, 54, {-1, 0x5423, BAD}, EPERM, EBADF, 0},

    /* socket families; type 15 does not exist */
    {"socket UNSPEC", SYS_socket, 359, {0, 15, 0}, EAFNOSUPPORT, EINVAL, 0},
    {"socket PACKET", SYS_socket, 359, {17, 15, 0}, EAFNOSUPPORT, EINVAL, 0},
    {"socket KEY", SYS_socket, 359, {15, 15, 0}, EAFNOSUPPORT, EINVAL, 0},
    {"socket ALG", SYS_socket, 359, {38, 15, 0}, EAFNOSUPPORT, EINVAL, 0},
    {"socket VSOCK", SYS_socket, 359, {40, 15, 0}, EAFNOSUPPORT, EINVAL, 0},
    {"socket XDP", SYS_socket, 359, {44, 15, 0}, EAFNOSUPPORT, EINVAL, 0},
    {"socket VSOCK high", SYS_socket, NONE, {HIGH | 40, 15, 0}, EAFNOSUPPORT, EINVAL, WIDE},
    {"socketpair VSOCK", SYS_socketpair, 360, {40, 15, 0, BAD}, EAFNOSUPPORT, EFAULT, 0},
    {"socketcall socket", NONE, 102, {1, BAD}, EPERM, EFAULT, 0},
    {"socketcall socketpair", NONE, 102, {8, BAD}, EPERM, EFAULT, 0},

    /* and what must get through */
    {"+ unshare FS", SYS_unshare, 310, {CLONE_FS}, 0, 0, 0},
    {"+ clone THREAD", SYS_clone, 120, {CLONE_THREAD}, EINVAL, EINVAL, 0},
    {"+ ioctl TCGETS", SYS_ioctl, 54, {-1, 0x5401, BAD}, EBADF, EBADF, 0},
    {"+ ioctl TIOCSCTTY", SYS_ioctl, 54, {-1, 0x540e, 0}, EBADF, EBADF, 0},
    {"+ socket UNIX", SYS_socket, 359, {1, 15, 0}, EINVAL, EINVAL, 0},
    {"+ socket INET", SYS_socket, 359, {2, 15, 0}, EINVAL, EINVAL, 0},
    {"+ socket INET6", SYS_socket, 359, {10, 15, 0}, EINVAL, EINVAL, 0},
    {"+ socket NETLINK", SYS_socket, 359, {16, 15, 0}, EINVAL, EINVAL, 0},
    {"+ socket UNIX high", SYS_socket, NONE, {HIGH | 1, 15, 0}, EINVAL, EINVAL, WIDE},
    {"+ socketpair UNIX", SYS_socketpair, 360, {1, 15, 0, BAD}, EFAULT, EFAULT, 0},
    {"+ socketcall connect", NONE, 102, {3, BAD}, EFAULT, EFAULT, 0},
    {"+ personality query", SYS_personality, 136, {0xffffffff}, 0, 0, 0},
    {"+ ptrace", SYS_ptrace, 26, {99, 0, 0, 0}, ESRCH, ESRCH, 0},
    {"+ getpid", SYS_getpid, 20, {0}, 0, 0, 0},
};

static int failures;
static int passes;

/* errno, 0 for success */
static int call_native(long number, const long *args)
{
	errno = 0;
	return syscall(number, args[0], args[1], args[2], args[3], args[4]) >= 0 ? 0 : errno;
}

#ifdef __x86_64__
static int call_i386(long number, const long *args)
{
	/* The fast gate takes 32 bits of each register, and older kernels clear r8 to r11. */
	long result = number;

	__asm__ volatile("int $0x80"
			 : "+a"(result)
			 : "b"(args[0]), "c"(args[1]), "d"(args[2]), "S"(args[3]), "D"(args[4])
			 : "memory", "cc", "r8", "r9", "r10", "r11");
	result = (int32_t)result;
	return result < 0 && result >= -4095 ? (int)-result : 0;
}

/* Some kernels are built or started without it: then the instruction is a fault. */
static bool has_i386(void)
{
	static const long no_args[N_ARGS] = {0};
	int status;
	pid_t child = fork();

	if (child < 0)
		return true; /* try, rather than leave rows out */
	if (child == 0)
		_exit(call_i386(20, no_args) == 0 ? 0 : 1);
	return waitpid(child, &status, 0) != child ||
	       (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

static const char *error_name(int error)
{
	const char *name = error == 0 ? "success" : strerrorname_np(error);

	return name == NULL ? "?" : name;
}

static void report(const char *abi, const struct attempt *attempt, int expected, bool proves,
		   int got)
{
	bool good = got == expected;

	printf("%-7s %-22s %-13s %-13s %s\n", abi, attempt->name, error_name(expected),
	       error_name(got),
	       !good	? "FAILED"
	       : proves ? "ok"
			: "ok ~");
	if (good)
		passes++;
	else
		failures++;
}

/* What must come back; NONE if nothing sensible can be said. */
static int expectation(const struct attempt *attempt, bool user_namespaces)
{
	if (!user_namespaces || (attempt->flags & GUARDED) == 0)
		return attempt->expected;
	/* Open to the kernel, which may want a capability of its own. */
	if ((attempt->flags & (CAPABILITY | MAY_BE_ABSENT)) != 0)
		return NONE;
	return attempt->open;
}

static void try_attempt(const struct attempt *attempt, bool user_namespaces, bool with_i386)
{
	int expected = expectation(attempt, user_namespaces);
	bool proves = attempt->expected != attempt->open && (attempt->flags & CAPABILITY) == 0;

	if (expected == NONE)
		return;
	if (attempt->native != NONE)
		report("native", attempt, expected, proves,
		       call_native(attempt->native, attempt->args));
#ifdef __x86_64__
	if (attempt->native != NONE)
		report("x32", attempt, EPERM, true,
		       call_native(attempt->native | X32_BIT, attempt->args));
	if (attempt->i386 != NONE && with_i386)
		report("i386", attempt, expected, proves, call_i386(attempt->i386, attempt->args));
#else
	(void)with_i386;
#endif
}

int main(int argc, char **argv)
{
	bool user_namespaces = argc == 2 && strcmp(argv[1], "--user-namespaces") == 0;
	bool with_i386 = false;

	if (argc > 1 && !user_namespaces) {
		(void)fprintf(stderr, "usage: syscall_table [--user-namespaces]\n");
		return 2;
	}
#ifdef __x86_64__
	with_i386 = has_i386();
	if (!with_i386)
		printf("this kernel runs no i386 programs: those rows are left out\n");
#endif
	printf("%-7s %-22s %-13s %-13s\n", "arch", "call", "expected", "got");
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++)
		try_attempt(&attempts[i], user_namespaces, with_i386);
	printf("%d passed, %d failed\n", passes, failures);
	return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
