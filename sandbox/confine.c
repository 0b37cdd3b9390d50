/* SPDX-License-Identifier: MIT */
#include "sandbox/confine.h"

#include "base/fd.h"
#include "base/number.h"
#include "base/str.h"
#include "filter_bytes.h"
#include "sandbox/confine_common.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The bounding set is emptied by system calls and not through libcap-ng: that reads it
 * from /proc/PID, which is another process, or none, after joining a sandbox, and
 * releases before 0.8.1 report success when they could not drop it.
 */

#define CAP_SETS 2	      /* 32-bit halves in capset(2)'s version 3 */
#define CAP_NUMBERS 64	      /* more than a set can hold */
#define STATUS_MAX (1U << 20) /* of /proc/PID/status: 1.5 KiB, up to 700 more with 65536 groups */

/* linux/landlock.h of older distributions lacks these. */
#define LANDLOCK_ABI_SCOPES 6
#define LANDLOCK_SCOPE_ABSTRACT (1ULL << 0)
#define LANDLOCK_WANT_VERSION 1U
struct landlock_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

static int set_no_new_privs(struct sbx_err *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return sbx_fail(err, errno, "set no_new_privs: %s", strerror(errno));
	return 0;
}

/*
 * NOROOT: uid 0 is no source of capabilities at exec. NO_SETUID_FIXUP and KEEP_CAPS are
 * locked off: leaving uid 0 always clears all sets. Bits unknown here stay as they are.
 */
static int lock_securebits(struct sbx_err *err)
{
	const unsigned int on = SECBIT_NOROOT | SECBIT_NO_CAP_AMBIENT_RAISE;
	const unsigned int off = SECBIT_NO_SETUID_FIXUP | SECBIT_KEEP_CAPS;
	const unsigned int locks = SECBIT_NOROOT_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED |
				   SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED;
	int now = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
	unsigned int wanted;

	if (now < 0)
		return sbx_fail(err, errno, "read securebits: %s", strerror(errno));
	wanted = ((unsigned int)now & ~off) | on | locks;
	if (wanted == (unsigned int)now)
		return 0;
	if (prctl(PR_SET_SECUREBITS, (unsigned long)wanted, 0, 0, 0) < 0)
		return sbx_fail(err, errno, "lock securebits %#x as %#x: %s (needs CAP_SETPCAP)",
				(unsigned int)now, wanted, strerror(errno));
	return 0;
}

static int drop_bounding_set(struct sbx_err *err)
{
	for (unsigned long cap = 0; cap < CAP_NUMBERS; cap++) {
		int held;

		/* Dropping needs CAP_SETPCAP even for one that is not there; then look first. */
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		held = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);
		if (held < 0 && errno == EINVAL && cap > 0)
			return 0; /* past the last one that this kernel knows */
		if (held != 0)
			return sbx_fail(err, EPERM,
					"drop capability %lu from the bounding set: not permitted "
					"(needs CAP_SETPCAP)",
					cap);
	}
	return 0;
}

static int clear_ambient(struct sbx_err *err)
{
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return sbx_fail(err, errno, "clear ambient capabilities: %s", strerror(errno));
	return 0;
}

int sbx_confine_common(struct sbx_err *err)
{
	int rc = lock_securebits(err);

	if (rc == 0)
		rc = drop_bounding_set(err);
	if (rc == 0)
		rc = set_no_new_privs(err);
	if (rc == 0)
		rc = clear_ambient(err);
	return rc;
}

/* These capabilities and no others, in the permitted and effective sets alone. */
static int keep_only(uint64_t kept, struct sbx_err *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
	struct __user_cap_data_struct sets[CAP_SETS] = {0};

	for (size_t i = 0; i < CAP_SETS; i++)
		sets[i].permitted = sets[i].effective = (uint32_t)(kept >> (32 * i));
	if (syscall(SYS_capset, &header, sets) < 0)
		return sbx_fail(err, errno, "drop capabilities: %s", strerror(errno));
	return 0;
}

int sbx_confine_all_privileges(struct sbx_err *err)
{
	int rc = sbx_confine_common(err);

	return rc < 0 ? rc : keep_only(0, err);
}

int sbx_confine_landlock(enum sbx_landlock mode, struct sbx_err *err)
{
	const struct landlock_attr attr = {.scoped = LANDLOCK_SCOPE_ABSTRACT};
	sbx_autoclose int fd = -EBADF;
	long abi;

	if (mode == SBX_LANDLOCK_OFF)
		return 0;
	abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_WANT_VERSION);
	if (abi < LANDLOCK_ABI_SCOPES) {
		if (mode == SBX_LANDLOCK_PREFER)
			return 0;
		return sbx_fail(err, ENOTSUP,
				"landlock = require: the kernel has ABI %ld of Landlock, 6 is "
				"needed (Linux 6.12, and landlock in its list of LSMs)",
				abi < 0 ? 0 : abi);
	}
	fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (fd < 0)
		return sbx_fail(err, errno, "make a Landlock ruleset: %s", strerror(errno));
	if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		return sbx_fail(err, errno, "enter a Landlock domain: %s", strerror(errno));
	return 0;
}

/* struct sock_fprog, whose pointer lacks the const. */
struct filter_program {
	unsigned short n_steps;
	const struct sock_filter *steps;
};
_Static_assert(sizeof(struct filter_program) == sizeof(struct sock_fprog) &&
		   offsetof(struct filter_program, steps) == offsetof(struct sock_fprog, filter),
	       "struct filter_program is struct sock_fprog");

#define N_STEPS(filter) ((unsigned short)(sizeof(filter) / sizeof((filter)[0])))

/*
 * No flags. Without SECCOMP_FILTER_FLAG_TSYNC the filter is the calling thread's and its
 * children's, so nothing else of a program that hosts us is affected or can make this fail.
 * Without SECCOMP_FILTER_FLAG_SPEC_ALLOW the kernel's own choice of speculation
 * mitigations stands.
 */
static int load_filter(const struct filter_program *program, struct sbx_err *err)
{
	/* Root could load a filter without it, and would then have a session with setuid programs.
	 */
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return sbx_fail(err, EINVAL, "load the seccomp filter: no_new_privs is not set");
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program) != 0)
		return sbx_fail(err, errno, "load the seccomp filter: %s", strerror(errno));
	return 0;
}

int sbx_confine_filter(bool user_namespaces, struct sbx_err *err)
{
	static const struct filter_program deny = {N_STEPS(sbx_filter_session_deny),
						   sbx_filter_session_deny};
	static const struct filter_program allow = {N_STEPS(sbx_filter_session_allow),
						    sbx_filter_session_allow};

	return load_filter(user_namespaces ? &allow : &deny, err);
}

int sbx_confine_keeper(struct sbx_err *err)
{
	static const struct filter_program keeper = {N_STEPS(sbx_filter_keeper), sbx_filter_keeper};
	int rc;

	/* Without root the keeper has its user's uid, which is enough to signal that user's. */
	rc = sbx_confine_common(err);
	if (rc == 0)
		rc = keep_only(geteuid() == 0 ? 1ULL << CAP_KILL : 0, err);
	if (rc < 0)
		return rc;
	/*
	 * Its user is kept out by the uid where it is root's keeper; without root, by this. It
	 * keeps out a uid 0 without capabilities too.
	 */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return sbx_fail(err, errno, "make the keeper untraceable: %s", strerror(errno));
	return load_filter(&keeper, err);
}

/* The lines of /proc/PID/status that matter. */
enum line {
	LINE_NSPID,
	LINE_CAP_INHERITABLE,
	LINE_CAP_PERMITTED,
	LINE_CAP_EFFECTIVE,
	LINE_CAP_BOUNDING,
	LINE_CAP_AMBIENT,
	LINE_NO_NEW_PRIVS,
	LINE_SECCOMP,
	LINE_FILTERS,
	N_LINES
};

static const char *const line_names[N_LINES] = {
    [LINE_NSPID] = "NSpid",
    [LINE_CAP_INHERITABLE] = "CapInh",
    [LINE_CAP_PERMITTED] = "CapPrm",
    [LINE_CAP_EFFECTIVE] = "CapEff",
    [LINE_CAP_BOUNDING] = "CapBnd",
    [LINE_CAP_AMBIENT] = "CapAmb",
    [LINE_NO_NEW_PRIVS] = "NoNewPrivs",
    [LINE_SECCOMP] = "Seccomp",
    [LINE_FILTERS] = "Seccomp_filters",
};

/* Part of the text, not terminated. */
struct value {
	const char *text;
	size_t length;
	bool found;
};

/* Which of them starts here? N_LINES if none. */
static size_t name_line(const char *line, size_t length)
{
	const char *colon;
	size_t name_length;

	if (*line != 'N' && *line != 'C' && *line != 'S')
		return N_LINES;
	colon = memchr(line, ':', length);
	if (colon == NULL)
		return N_LINES;
	name_length = (size_t)(colon - line);
	for (size_t i = 0; i < N_LINES; i++) {
		if (strlen(line_names[i]) == name_length &&
		    memcmp(line_names[i], line, name_length) == 0)
			return i;
	}
	return N_LINES;
}

/*
 * Find the lines "NAME:\tVALUE". The only text in that file that others choose is a
 * process name, whose newlines the kernel escapes.
 */
static int find_values(const char *status, struct value *values, struct sbx_err *err)
{
	for (const char *line = status; *line != '\0';) {
		const char *end = strchr(line, '\n');
		size_t i;

		if (end == NULL)
			return sbx_fail(err, EBADMSG, "/proc/self/status ends within a line");
		i = name_line(line, (size_t)(end - line));
		if (i < N_LINES) {
			const char *text = line + strlen(line_names[i]) + 1;

			if (values[i].found)
				return sbx_fail(err, EBADMSG, "/proc/self/status has %s twice",
						line_names[i]);
			if (*text != '\t')
				return sbx_fail(err, EBADMSG, "/proc/self/status: odd line %s",
						line_names[i]);
			values[i].text = text + 1;
			values[i].length = (size_t)(end - text - 1);
			values[i].found = true;
		}
		line = end + 1;
	}
	for (size_t i = 0; i < N_LINES; i++) {
		if (!values[i].found)
			return sbx_fail(err, EBADMSG, "/proc/self/status has no %s", line_names[i]);
	}
	return 0;
}

static int bad_value(enum line line, const struct value *value, struct sbx_err *err)
{
	return sbx_fail(err, EBADMSG, "/proc/self/status has %s '%.*s'", line_names[line],
			(int)(value->length < 64 ? value->length : 64), value->text);
}

static int check_set(const struct value *values, enum line line, uint64_t allowed,
		     struct sbx_err *err)
{
	static const char digits[] = "0123456789abcdef";
	const struct value *value = &values[line];
	uint64_t set = 0;

	if (value->length != 2 * sizeof(set))
		return bad_value(line, value, err);
	for (size_t i = 0; i < value->length; i++) {
		const char *digit = memchr(digits, value->text[i], sizeof(digits) - 1);

		if (digit == NULL)
			return bad_value(line, value, err);
		set = set << 4 | (uint64_t)(digit - digits);
	}
	if ((set & ~allowed) != 0)
		return sbx_fail(err, EPERM, "not confined: %s is %016llx", line_names[line],
				(unsigned long long)set);
	return 0;
}

static int parse_number(const char *text, size_t length, uint64_t *ret)
{
	char copy[24];

	if (length >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return sbx_parse_u64(copy, 0, UINT64_MAX, ret);
}

static int check_number(const struct value *values, enum line line, uint64_t min, uint64_t max,
			struct sbx_err *err)
{
	const struct value *value = &values[line];
	uint64_t number;

	if (parse_number(value->text, value->length, &number) < 0)
		return bad_value(line, value, err);
	if (number < min || number > max)
		return sbx_fail(err, EPERM, "not confined: %s is %llu", line_names[line],
				(unsigned long long)number);
	return 0;
}

/* Whose status is it? The last number of NSpid is what the process itself sees. */
static int check_pid(const struct value *values, pid_t pid, struct sbx_err *err)
{
	const struct value *value = &values[LINE_NSPID];
	const char *tab = memrchr(value->text, '\t', value->length);
	const char *last = tab == NULL ? value->text : tab + 1;
	uint64_t number;

	if (parse_number(last, (size_t)(value->text + value->length - last), &number) < 0)
		return bad_value(LINE_NSPID, value, err);
	if (number != (uint64_t)pid)
		return sbx_fail(err, EPERM, "not confined: looked at process %llu, this is %d",
				(unsigned long long)number, (int)pid);
	return 0;
}

int sbx_confine_check_status(const char *status, pid_t pid,
			     const struct sbx_confine_expected *expected, struct sbx_err *err)
{
	uint64_t min_filters = expected->min_filters > 0 ? expected->min_filters : 1;
	struct value values[N_LINES];
	int rc;

	for (size_t i = 0; i < N_LINES; i++)
		values[i] = (struct value){.text = "", .length = 0, .found = false};
	rc = find_values(status, values, err);
	if (rc == 0)
		rc = check_pid(values, pid, err);
	if (rc == 0)
		rc = check_set(values, LINE_CAP_INHERITABLE, 0, err);
	if (rc == 0)
		rc = check_set(values, LINE_CAP_PERMITTED, expected->capabilities, err);
	if (rc == 0)
		rc = check_set(values, LINE_CAP_EFFECTIVE, expected->capabilities, err);
	if (rc == 0)
		rc = check_set(values, LINE_CAP_BOUNDING, 0, err);
	if (rc == 0)
		rc = check_set(values, LINE_CAP_AMBIENT, 0, err);
	if (rc == 0)
		rc = check_number(values, LINE_NO_NEW_PRIVS, 1, 1, err);
	if (rc == 0)
		rc = check_number(values, LINE_SECCOMP, SECCOMP_MODE_FILTER, SECCOMP_MODE_FILTER,
				  err);
	if (rc == 0)
		rc = check_number(values, LINE_FILTERS, min_filters, UINT64_MAX, err);
	return rc;
}

int sbx_confine_verify(int proc_self_fd, const struct sbx_confine_expected *expected,
		       struct sbx_err *err)
{
	sbx_autofree char *status = NULL;
	size_t length;
	int rc;

	rc = sbx_file_read(proc_self_fd, "status", O_NOFOLLOW, STATUS_MAX, &status, &length, NULL,
			   err);
	if (rc < 0)
		return sbx_wrap(err, rc, "check of the confinement");
	if (strlen(status) != length)
		return sbx_fail(err, EBADMSG, "/proc/self/status holds a NUL byte");
	return sbx_confine_check_status(status, getpid(), expected, err);
}
