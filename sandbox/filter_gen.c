/* SPDX-License-Identifier: MIT */
/*
 * Runs while building: writes the seccomp filters as a C header to standard output.
 *
 *   filter_gen [ARCH] > filter_bytes.h       ARCH: x86_64, aarch64, riscv64; default: this
 * machine's
 *
 * libseccomp supplies what is tedious and differs: the numbers of each ABI. The program is
 * laid out here, because how long its paths are is felt at each login: when a filter is
 * loaded, the kernel (5.11 and later) walks it once for every call number of every ABI, to
 * remember the calls that are allowed whatever their arguments and not to run the filter
 * for them again. libseccomp's own search tree took twice as long to load, and it has no
 * comparison for "any of these bits" or "none of these values".
 *
 *   which ABI?  --- another ---> kill
 *     |
 *   number above the ceiling? ---> x32, unknown, ...
 *     |
 *   search tree; at its leaves up to four "is it this one?" each
 *     |             \
 *   default answer   an error, or a look at the arguments
 */
#include "sandbox/filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_ABIS 2
#define MAX_STEPS BPF_MAXINSNS
#define MAX_ENTRIES 256
#define LEAF_ENTRIES 4
#define MAX_JUMP 255U /* of a conditional jump */
#define X32_BIT 0x40000000U
#define NO_CALL 0xffffffffU

#define ANSWER(error) (SECCOMP_RET_ERRNO | (uint32_t)(error))

/* Where a call that is not answered by default ends. */
enum outcome {
	OUT_ALLOW,
	OUT_EPERM,
	OUT_ENOSYS,
	OUT_IOCTL,
	OUT_CLONE,
	OUT_UNSHARE,
	OUT_SOCKET,
	OUT_SOCKETCALL,
	OUT_MAP,
	N_OUTCOMES
};

struct abi {
	uint32_t arch;		/* SCMP_ARCH_*, which is AUDIT_ARCH_* */
	bool x32;		/* shares its value with x32, told apart by a bit in the number */
	uint32_t private_first; /* numbers above the ceiling that are part of the ABI; 0 = none */
	uint32_t private_last;
	/*
	 * i386 has both socketcall and, since Linux 4.3, these. libseccomp then gives only
	 * stand-ins for their names. -1 = it knows them.
	 */
	int socket;
	int socketpair;
};

/* All little-endian, with clone's flags first. Others need a look at both before they are added. */
static const struct target {
	const char *name;
	struct abi abis[MAX_ABIS]; /* the native one first */
	size_t n_abis;
} targets[] = {
    {"x86_64",
     {{.arch = SCMP_ARCH_X86_64, .x32 = true, .socket = -1, .socketpair = -1},
      {.arch = SCMP_ARCH_X86, .socket = 359, .socketpair = 360}},
     2},
    {"aarch64",
     {{.arch = SCMP_ARCH_AARCH64, .socket = -1, .socketpair = -1},
      /* breakpoint .. get_tls of arch/arm/include/uapi/asm/unistd.h */
      {.arch = SCMP_ARCH_ARM,
       .private_first = 0xf0001,
       .private_last = 0xf0006,
       .socket = -1,
       .socketpair = -1}},
     2},
    {"riscv64", {{.arch = SCMP_ARCH_RISCV64, .socket = -1, .socketpair = -1}}, 1},
};

#if defined(__x86_64__)
static const char *const this_machine = "x86_64";
#elif defined(__aarch64__)
static const char *const this_machine = "aarch64";
#elif defined(__riscv) && __riscv_xlen == 64
static const char *const this_machine = "riscv64";
#else
static const char *const this_machine = "this machine";
#endif

struct program {
	struct sock_filter steps[MAX_STEPS];
	enum outcome goes_to[MAX_STEPS]; /* for a "is it this one?" step */
	size_t n_steps;
};

/* The calls of one ABI that are not answered by default. */
struct table {
	struct entry {
		uint32_t number;
		enum outcome outcome;
	} entries[MAX_ENTRIES];
	size_t n_entries;
	uint32_t arch;
	uint32_t default_answer;
};

static int complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static int complain(const char *fmt, ...)
{
	va_list ap;

	(void)fputs("filter_gen: ", stderr);
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
	return -1;
}

/* Too long a program is noticed once, at the end. */
static void add(struct program *program, unsigned int code, size_t if_true, size_t if_false,
		uint32_t k)
{
	if (program->n_steps < MAX_STEPS) {
		program->steps[program->n_steps] = (struct sock_filter){
		    .code = (uint16_t)code,
		    .jt = (uint8_t)if_true,
		    .jf = (uint8_t)if_false,
		    .k = k,
		};
	}
	program->n_steps++;
}

static void add_load(struct program *program, size_t offset)
{
	add(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void add_answer(struct program *program, uint32_t answer)
{
	add(program, BPF_RET | BPF_K, 0, 0, answer);
}

static size_t low_half_of_argument(size_t index)
{
	return offsetof(struct seccomp_data, args) + index * sizeof(uint64_t);
}

/* Go on at 'outcome', whose place is not known yet, if the loaded number is this one. */
static void add_entry(struct program *program, const struct entry *entry)
{
	if (program->n_steps < MAX_STEPS)
		program->goes_to[program->n_steps] = entry->outcome;
	add(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, entry->number);
}

/* One answer when a low half of an argument is among these values, another when it is not. */
static void add_choice(struct program *program, size_t argument, const uint32_t *values,
		       size_t n_values, uint32_t if_among, uint32_t if_not)
{
	add_load(program, low_half_of_argument(argument));
	for (size_t i = 0; i < n_values; i++)
		add(program, BPF_JMP | BPF_JEQ | BPF_K, n_values - i, 0, values[i]);
	add_answer(program, if_not);
	add_answer(program, if_among);
}

/* Refuse when a low half of an argument has any of these bits. */
static void add_bits(struct program *program, size_t argument, uint32_t bits, uint32_t if_any)
{
	add_load(program, low_half_of_argument(argument));
	add(program, BPF_JMP | BPF_JSET | BPF_K, 0, 1, bits);
	add_answer(program, if_any);
	add_answer(program, SECCOMP_RET_ALLOW);
}

/* socketcall(2) keeps the family in memory; its calls 1 and 8 make sockets. */
static const uint32_t socketcall_makers[] = {1, 8};

static void add_outcome(struct program *program, enum outcome outcome)
{
	switch (outcome) {
	case OUT_ALLOW:
		add_answer(program, SECCOMP_RET_ALLOW);
		break;
	case OUT_EPERM:
		add_answer(program, ANSWER(EPERM));
		break;
	case OUT_ENOSYS:
		add_answer(program, ANSWER(ENOSYS));
		break;
	case OUT_IOCTL:
		add_choice(program, 1, sbx_filter_ioctls, sbx_filter_n_ioctls, ANSWER(EPERM),
			   SECCOMP_RET_ALLOW);
		break;
	case OUT_CLONE:
		add_bits(program, 0, sbx_filter_clone_flags, ANSWER(EPERM));
		break;
	case OUT_UNSHARE:
		add_bits(program, 0, sbx_filter_unshare_flags, ANSWER(EPERM));
		break;
	case OUT_SOCKET:
		add_choice(program, 0, sbx_filter_families, sbx_filter_n_families,
			   SECCOMP_RET_ALLOW, ANSWER(EAFNOSUPPORT));
		break;
	case OUT_SOCKETCALL:
		add_choice(program, 0, socketcall_makers,
			   sizeof(socketcall_makers) / sizeof(socketcall_makers[0]), ANSWER(EPERM),
			   SECCOMP_RET_ALLOW);
		break;
	case OUT_MAP:
		add_bits(program, 2, PROT_EXEC, SECCOMP_RET_KILL_PROCESS);
		break;
	case N_OUTCOMES:
		break;
	}
}

/* Leaves the call's number loaded. */
static void add_ceiling(struct program *program, const struct abi *abi, uint32_t x32_answer)
{
	size_t jump;

	add_load(program, offsetof(struct seccomp_data, nr));
	jump = program->n_steps;
	add(program, BPF_JMP | BPF_JGT | BPF_K, 0, 0, SBX_FILTER_LAST_CALL);
	/*
	 * -1 is a tracer's way to cancel a call. An error from here would overwrite the
	 * result that the tracer has put in place.
	 */
	add(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, NO_CALL);
	add_answer(program, SECCOMP_RET_ALLOW);
	/*
	 * x32 is switched off in nearly every kernel and used by nothing an agent runs: closing
	 * it as a whole saves a third set of rules. EPERM, not ENOSYS, so that a test can tell
	 * this filter from such a kernel.
	 */
	if (abi->x32) {
		add(program, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32_BIT);
		add_answer(program, x32_answer);
	}
	if (abi->private_first != 0) {
		add(program, BPF_JMP | BPF_JGE | BPF_K, 0, 2, abi->private_first);
		add(program, BPF_JMP | BPF_JGT | BPF_K, 1, 0, abi->private_last);
		add_answer(program, SECCOMP_RET_ALLOW);
	}
	add_answer(program, ANSWER(ENOSYS));
	if (program->n_steps <= MAX_STEPS)
		program->steps[jump].jf = (uint8_t)(program->n_steps - jump - 1);
}

/* Entries must be sorted. */
/* NOLINTNEXTLINE(misc-no-recursion): each level halves them */
static int add_tree(struct program *program, const struct entry *entries, size_t n_entries,
		    uint32_t default_answer)
{
	size_t half = n_entries / 2;
	size_t jump;

	if (n_entries <= LEAF_ENTRIES) {
		for (size_t i = 0; i < n_entries; i++)
			add_entry(program, &entries[i]);
		add_answer(program, default_answer);
		return 0;
	}
	jump = program->n_steps;
	add(program, BPF_JMP | BPF_JGE | BPF_K, 0, 0, entries[half].number);
	if (add_tree(program, entries, half, default_answer) < 0)
		return -1;
	if (program->n_steps > MAX_STEPS || program->n_steps - jump - 1 > MAX_JUMP)
		return complain("a search tree is too large");
	program->steps[jump].jt = (uint8_t)(program->n_steps - jump - 1);
	return add_tree(program, &entries[half], n_entries - half, default_answer);
}

static int compare_entries(const void *a, const void *b)
{
	uint32_t x = ((const struct entry *)a)->number;
	uint32_t y = ((const struct entry *)b)->number;

	return (x > y) - (x < y);
}

/* Write the table as a tree followed by each outcome it needs, once, and join the two. */
static int add_table(struct program *program, struct table *table)
{
	size_t first = program->n_steps;
	size_t places[N_OUTCOMES] = {0};
	bool used[N_OUTCOMES] = {false};
	size_t end;

	qsort(table->entries, table->n_entries, sizeof(table->entries[0]), compare_entries);
	for (size_t i = 0; i < table->n_entries; i++) {
		used[table->entries[i].outcome] = true;
		if (i > 0 && table->entries[i].number == table->entries[i - 1].number)
			return complain("call %u of architecture %#x has two rules",
					table->entries[i].number, table->arch);
	}
	if (add_tree(program, table->entries, table->n_entries, table->default_answer) < 0)
		return -1;
	end = program->n_steps;
	for (unsigned int i = 0; i < N_OUTCOMES; i++) {
		places[i] = program->n_steps;
		if (used[i])
			add_outcome(program, (enum outcome)i);
	}
	if (program->n_steps > MAX_STEPS)
		return complain("a filter is longer than %d steps", MAX_STEPS);
	for (size_t i = first; i < end; i++) {
		size_t distance = places[program->goes_to[i]] - i - 1;

		if (program->steps[i].code != (BPF_JMP | BPF_JEQ | BPF_K))
			continue;
		if (distance > MAX_JUMP)
			return complain("a search tree is too large");
		program->steps[i].jt = (uint8_t)distance;
	}
	return 0;
}

/*
 * The call's number on that ABI, or -1 where it does not exist.
 * known_number  what it must be, or stands in where libseccomp is older than the call; -1: none
 * Returns 0, or -1 when libseccomp should know the name and does not.
 */
static int find_number(uint32_t arch, const char *name, int known_number, int *ret_number)
{
	int number = seccomp_syscall_resolve_name_arch(arch, name);

	if (number == __NR_SCMP_ERROR && known_number < 0)
		return complain("libseccomp does not know the call '%s'", name);
	if (number >= 0 && known_number >= 0 && number != known_number)
		return complain("'%s' is %d for libseccomp, %d for us", name, number, known_number);
	if (number < 0 && known_number >= 0)
		number =
		    known_number; /* also where libseccomp has a stand-in for a multiplexed call */
	*ret_number = number < 0 ? -1 : number;
	return 0;
}

static int add_rule(struct table *table, const char *name, int known_number, enum outcome outcome)
{
	int number = -1;

	if (find_number(table->arch, name, known_number, &number) < 0)
		return -1;
	if (number < 0)
		return 0;
	if (table->n_entries == MAX_ENTRIES || number > SBX_FILTER_LAST_CALL)
		return complain("no room for a rule about '%s'", name);
	table->entries[table->n_entries++] =
	    (struct entry){.number = (uint32_t)number, .outcome = outcome};
	return 0;
}

/* The same for a call that every ABI has: a rule must not be left out for want of its number. */
static int add_basic_rule(struct table *table, const char *name, int known_number,
			  enum outcome outcome)
{
	size_t n_entries = table->n_entries;

	if (add_rule(table, name, known_number, outcome) < 0)
		return -1;
	if (table->n_entries == n_entries)
		return complain("libseccomp has no number for '%s' on architecture %#x", name,
				table->arch);
	return 0;
}

static int fill_session_table(struct table *table, const struct abi *abi, bool user_namespaces)
{
	if (add_basic_rule(table, "ioctl", -1, OUT_IOCTL) < 0 ||
	    add_basic_rule(table, "socket", abi->socket, OUT_SOCKET) < 0 ||
	    add_basic_rule(table, "socketpair", abi->socketpair, OUT_SOCKET) < 0)
		return -1;
	/* Costs 32-bit programs that make sockets this way, as glibc's on i386 do, all of them. */
	if (add_rule(table, "socketcall", -1, OUT_SOCKETCALL) < 0)
		return -1;
	if (!user_namespaces && (add_basic_rule(table, "clone", -1, OUT_CLONE) < 0 ||
				 add_basic_rule(table, "unshare", -1, OUT_UNSHARE) < 0))
		return -1;
	for (size_t i = 0; i < sbx_filter_n_denied; i++) {
		const struct sbx_filter_call *call = &sbx_filter_denied[i];
		enum outcome outcome = call->error == ENOSYS ? OUT_ENOSYS : OUT_EPERM;

		if (call->error != ENOSYS && call->error != EPERM)
			return complain("'%s': only EPERM and ENOSYS are written", call->name);
		if (user_namespaces && call->unless_user_namespaces)
			continue;
		if (add_rule(table, call->name, call->number, outcome) < 0)
			return -1;
	}
	return 0;
}

static int fill_keeper_table(struct table *table)
{
	for (size_t i = 0; i < sbx_filter_n_keeper_calls; i++) {
		if (add_rule(table, sbx_filter_keeper_calls[i], -1, OUT_ALLOW) < 0)
			return -1;
	}
	for (size_t i = 0; i < sbx_filter_n_keeper_maps; i++) {
		if (add_basic_rule(table, sbx_filter_keeper_maps[i], -1, OUT_MAP) < 0)
			return -1;
	}
	return 0;
}

enum kind { SESSION_DENY, SESSION_ALLOW, KEEPER };

static int add_abi(struct program *program, const struct abi *abi, enum kind kind)
{
	static struct table table;
	int rc;

	table.n_entries = 0;
	table.arch = abi->arch;
	if (kind == KEEPER) {
		table.default_answer = SECCOMP_RET_KILL_PROCESS;
		add_ceiling(program, abi, SECCOMP_RET_KILL_PROCESS);
		rc = fill_keeper_table(&table);
	} else {
		table.default_answer = SECCOMP_RET_ALLOW;
		add_ceiling(program, abi, ANSWER(EPERM));
		rc = fill_session_table(&table, abi, kind == SESSION_ALLOW);
	}
	if (rc < 0)
		return rc;
	return add_table(program, &table);
}

/* An ABI's part is entered by a long jump, for the short ones reach 255 steps only. */
static int make_program(const struct target *target, enum kind kind, struct program *program)
{
	size_t n_abis = kind == KEEPER ? 1 : target->n_abis; /* the keeper is a native program */
	size_t jumps[MAX_ABIS] = {0};

	program->n_steps = 0;
	add_load(program, offsetof(struct seccomp_data, arch));
	for (size_t i = 0; i < n_abis; i++) {
		add(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, target->abis[i].arch);
		jumps[i] = program->n_steps;
		add(program, BPF_JMP | BPF_JA, 0, 0, 0);
	}
	add_answer(program, SECCOMP_RET_KILL_PROCESS);
	for (size_t i = 0; i < n_abis; i++) {
		program->steps[jumps[i]].k = (uint32_t)(program->n_steps - jumps[i] - 1);
		if (add_abi(program, &target->abis[i], kind) < 0)
			return -1;
	}
	return 0;
}

static int print_program(const struct target *target, enum kind kind, const char *name)
{
	static struct program program;

	if (make_program(target, kind, &program) < 0)
		return -1;
	printf("\nstatic const struct sock_filter %s[] = {\n", name);
	for (size_t i = 0; i < program.n_steps; i++) {
		const struct sock_filter *step = &program.steps[i];

		printf("\t{0x%02x, %u, %u, 0x%08x},\n", (unsigned int)step->code,
		       (unsigned int)step->jt, (unsigned int)step->jf, step->k);
	}
	printf("};\n");
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : this_machine;
	const struct target *target = NULL;

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		if (strcmp(targets[i].name, name) == 0)
			target = &targets[i];
	}
	if (argc > 2 || target == NULL) {
		(void)complain("no filter for '%s'; usage: filter_gen [x86_64|aarch64|riscv64]",
			       name);
		return EXIT_FAILURE;
	}
	printf("/* Written by filter_gen; see sandbox/filter_rules.c. */\n");
	printf("#include <linux/filter.h>\n\n#define SBX_FILTER_ARCH \"%s\"\n", target->name);
	if (print_program(target, SESSION_DENY, "sbx_filter_session_deny") < 0 ||
	    print_program(target, SESSION_ALLOW, "sbx_filter_session_allow") < 0 ||
	    print_program(target, KEEPER, "sbx_filter_keeper") < 0)
		return EXIT_FAILURE;
	/* A header cut short would compile into a shorter filter, or into none. */
	if (fflush(stdout) != 0 || ferror(stdout) != 0) {
		(void)complain("write: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
