/* SPDX-License-Identifier: MIT */
/*
 * Which system calls a session, or the keeper, may not make, and why.
 *
 * A session's filter is a deny-list, because what an agent runs is not known: compilers,
 * browsers, debuggers, JVMs. It closes three kinds of calls:
 *   - those that could undo the sandbox (namespaces, mounts, file handles);
 *   - those that reach a part of the host that has no namespace (keyrings, kernel log,
 *     terminals of other people, virtual machine sockets);
 *   - large parts of the kernel that agents do not need and in which most local exploits
 *     were found (bpf, io_uring, perf, userfaultfd, rare socket families).
 * It is inherited by the root process of sshd, su, login, sudo or cron, which still has to
 * set ids, kill, wait, chown a terminal and write the login records. So calls that a
 * capability guards anyway, and that such a process may need, are left alone: chroot
 * (sshd's ChrootDirectory), vhangup (login), sethostname, mknod, and so on.
 *
 * Looked at and left open:
 *   ptrace, process_vm_*, kcmp, pidfd_getfd   debuggers; the kernel's own check holds
 *   personality          gdb and sanitizers switch address randomization off with it
 *   seccomp, landlock_*  can only take away more; browsers and agents confine their children
 *   name_to_handle_at    harmless while open_by_handle_at is closed
 *   memfd_secret, mseal, statmount, listmount, mempolicy, *xattrat, file_getattr, ...
 *                        no more than the calling user could do before
 *   adjtimex             reading is for everybody; setting needs a capability
 */
#include "sandbox/filter.h"

#include <errno.h>
#include <linux/sched.h>
#include <sys/socket.h>

#define TTY_STI 0x5412U	  /* TIOCSTI */
#define TTY_LINUX 0x541CU /* TIOCLINUX */
#define TTY_SETD 0x5423U  /* TIOCSETD */

#define DENY(call)                                                                                 \
	{                                                                                          \
		.name = (call), .number = -1, .error = EPERM, .unless_user_namespaces = false      \
	}
#define DENY_NEW(call, nr)                                                                         \
	{                                                                                          \
		.name = (call), .number = (nr), .error = EPERM, .unless_user_namespaces = false    \
	}
#define HIDE_NEW(call, nr)                                                                         \
	{                                                                                          \
		.name = (call), .number = (nr), .error = ENOSYS, .unless_user_namespaces = false   \
	}
/*
 * What bubblewrap, Chromium, unshare(1) and a nested sbxsh need to build a sandbox of their own.
 * With user namespaces allowed, the kernel's own rule is what is left: such a process rules
 * only what its namespace owns, and mounts it inherited stay locked.
 */
#define GUARD(call)                                                                                \
	{                                                                                          \
		.name = (call), .number = -1, .error = EPERM, .unless_user_namespaces = true       \
	}
#define GUARD_NEW(call, nr)                                                                        \
	{                                                                                          \
		.name = (call), .number = (nr), .error = EPERM, .unless_user_namespaces = true     \
	}

const struct sbx_filter_call sbx_filter_denied[] = {
    /* Mounts. All of them, for one forgotten call is enough (CVE-2021-41133). */
    GUARD("mount"),
    GUARD("umount"),
    GUARD("umount2"),
    GUARD("pivot_root"),
    GUARD_NEW("open_tree", 428),
    GUARD_NEW("move_mount", 429),
    GUARD_NEW("fsopen", 430),
    GUARD_NEW("fsconfig", 431),
    GUARD_NEW("fsmount", 432),
    GUARD_NEW("fspick", 433),
    GUARD_NEW("mount_setattr", 442),
    GUARD_NEW("open_tree_attr", 467),

    /* Namespaces; clone and unshare are looked at by flags, below. */
    GUARD("setns"),
    /*
     * clone3 keeps its flags in memory, where no filter can look. ENOSYS sends the C
     * libraries back to clone; EPERM would make their thread creation fail.
     */
    {.name = "clone3", .number = 435, .error = ENOSYS, .unless_user_namespaces = true},

    /* The kernel's keyrings have no namespace: a user's keys are shared with the host. */
    DENY("add_key"),
    DENY("keyctl"),
    DENY("request_key"),

    /* Open a file by its number, past every mount and directory above it. */
    DENY("open_by_handle_at"),

    DENY("bpf"),
    DENY("perf_event_open"),
    DENY("userfaultfd"), /* stops the kernel half-way in a copy: makes its races easy to win */
    /*
     * Opens sockets and files from a ring in memory, past this filter. ENOSYS, because
     * programs take that as "old kernel" and use the plain calls.
     */
    HIDE_NEW("io_uring_setup", 425),
    HIDE_NEW("io_uring_enter", 426),
    HIDE_NEW("io_uring_register", 427),
    DENY("fanotify_init"), /* inotify does for an agent; this one hands out file handles */
    DENY("syslog"),	   /* the host's kernel log, with its addresses */

    /* The machine itself. Guarded by capabilities too; nobody in a session has a use for them. */
    DENY("acct"),
    DENY("clock_settime"),
    DENY("clock_settime64"),
    DENY("settimeofday"),
    DENY("stime"),
    DENY("delete_module"),
    DENY("finit_module"),
    DENY("init_module"),
    DENY("ioperm"),
    DENY("iopl"),
    DENY("kexec_file_load"),
    DENY("kexec_load"),
    DENY("quotactl"),
    DENY_NEW("quotactl_fd", 443),
    DENY("reboot"),
    DENY("swapoff"),
    DENY("swapon"),

    /* Old corners of x86: 16-bit segments and real mode (costs 16-bit Windows programs). */
    DENY("modify_ldt"),
    DENY("vm86"),
    DENY("vm86old"),
    DENY("lookup_dcookie"),
    DENY("uselib"),
};
const size_t sbx_filter_n_denied = sizeof(sbx_filter_denied) / sizeof(sbx_filter_denied[0]);

/*
 * TIOCSTI types into a terminal, TIOCLINUX pastes into a console: both would run commands
 * in the shell of whoever called su (CVE-2017-5226, CVE-2023-28100). TIOCSETD loads line
 * disciplines, a source of kernel exploits. A comparison of all 64 bits is what made
 * earlier filters useless (CVE-2019-10063).
 */
const uint32_t sbx_filter_ioctls[] = {TTY_STI, TTY_LINUX, TTY_SETD};
const size_t sbx_filter_n_ioctls = sizeof(sbx_filter_ioctls) / sizeof(sbx_filter_ioctls[0]);

/*
 * AF_VSOCK reaches the hypervisor's host, AF_ALG, AF_PACKET, AF_TIPC and the like are
 * attack surface. Netlink stays: getifaddrs() uses it, and sshd, su and sudo write their
 * audit records through it.
 */
const uint32_t sbx_filter_families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
const size_t sbx_filter_n_families = sizeof(sbx_filter_families) / sizeof(sbx_filter_families[0]);

/* CLONE_NEWTIME is not among them: for clone its bit is part of the exit signal. */
const uint32_t sbx_filter_clone_flags = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
					CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

/* unshare has bits to spare, so here it is all but those that only concern the caller. */
const uint32_t sbx_filter_unshare_flags =
    ~(uint32_t)(CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SIGHAND | CLONE_THREAD | CLONE_VM);

/*
 * The keeper polls, reaps, signals, answers on a socket and removes names in directories
 * it holds open. Nothing here opens a file, starts a program or makes a new mapping
 * executable. Both spellings of a call are listed where C libraries differ. Whatever is
 * missing kills it, and with it the sandbox: see sbx_confine_keeper().
 */
const char *const sbx_filter_keeper_calls[] = {
    /* wait for something to happen */
    "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "poll", "ppoll",
    "pselect6", "select", "timerfd_create", "timerfd_gettime", "timerfd_settime", "eventfd2",
    "signalfd4", "clock_gettime", "clock_nanosleep", "nanosleep", "gettimeofday", "time",
    "restart_syscall",
    /* read, write, talk */
    "accept", "accept4", "close", "close_range", "dup", "fcntl", "flock", "fstat", "getsockopt",
    "lseek", "newfstatat", "read", "readv", "recvfrom", "recvmsg", "sendmsg", "sendto", "shutdown",
    "unlinkat", "write", "writev",
    /* processes */
    "kill", "pidfd_open", "pidfd_send_signal", "tgkill", "wait4", "waitid", "getegid", "geteuid",
    "getgid", "getpid", "getppid", "gettid", "getuid",
    /* what a C library does behind one's back */
    "brk", "exit", "exit_group", "futex", "getrandom", "madvise", "mremap", "munmap",
    "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend",
    "rt_sigtimedwait", "sched_yield"};
const size_t sbx_filter_n_keeper_calls =
    sizeof(sbx_filter_keeper_calls) / sizeof(sbx_filter_keeper_calls[0]);

const char *const sbx_filter_keeper_maps[] = {"mmap", "mprotect"};
const size_t sbx_filter_n_keeper_maps =
    sizeof(sbx_filter_keeper_maps) / sizeof(sbx_filter_keeper_maps[0]);
