/* SPDX-License-Identifier: MIT */
#include "base/fd.h"
#include "control/check.h"
#include "control/pam_stack.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define CONFIG_MAX_BYTES ((size_t)1 << 20)
#define INCLUDES_MAX 16 /* as sshd */

/* Services that start programs as a user. */
static const struct {
	const char *name;
	bool secondary; /* a gap there is a warning only */
} services[] = {
    {"sshd", false},
    {"su", false},
    {"su-l", false},
    {"sudo", false},
    {"sudo-i", false},
    {"login", false},
    {"remote", false},
    {"cron", false},
    {"crond", false},
    {"atd", false},
    {"gdm-password", false},
    {"lightdm", false},
    {"sddm", false},
    {"xrdp-sesman", false},
    /* For root's own scripts; root can leave out PAM as well. */
    {"runuser", true},
    {"runuser-l", true},
    /* The module refuses it. Without, a user manager runs the units of the passwd home, which
     * sandboxed users cannot write unless it is their workspace. */
    {"systemd-user", true},
};

/* What is wrong, and how to mend it. */
static const struct {
	const char *what;
	const char *remedy;
} hook_texts[] = {
    [SBX_PAM_MISSING] = {"sessions open without pam_sbx.so, so enrolled users come out on the "
			 "host",
			 "run 'pam-auth-update --enable sbx' (Debian, for those that include "
			 "common-session), or add 'session required pam_sbx.so' as the last "
			 "session line"},
    [SBX_PAM_OPTIONAL] = {"a session begins although pam_sbx.so refused it or is not there",
			  "make the line 'session required pam_sbx.so'"},
    [SBX_PAM_BYPASSED] = {"an entry before pam_sbx.so can end the stack or jump over it",
			  "move 'session required pam_sbx.so' before that entry, or make the "
			  "entry 'required'"},
};

#define N_SERVICES (sizeof(services) / sizeof(services[0]))

/* One finding for all services with the same fault. */
static void report_hook(struct sbx_check *check, const enum sbx_pam_hook *hooks,
			enum sbx_pam_hook fault, bool secondary)
{
	/* With nobody enrolled it is a gap that nobody can slip through yet. */
	const enum sbx_severity severity = secondary || sbx_strv_length(check->enrolled) == 0
					       ? SBX_FINDING_WARNING
					       : SBX_FINDING_ERROR;
	sbx_autostr struct sbx_str subject = {0};
	size_t n = 0;

	sbx_str_add(&subject, "PAM service");
	for (size_t i = 0; i < N_SERVICES; i++) {
		if (hooks[i] == fault && services[i].secondary == secondary)
			sbx_str_addf(&subject, "%s %s", n++ == 0 ? "" : ",", services[i].name);
	}
	if (subject.rc < 0) {
		check->findings.rc = subject.rc;
	} else if (n > 0) {
		sbx_findings_add(&check->findings, severity, subject.text, "%s",
				 hook_texts[fault].what);
		sbx_findings_remedy(&check->findings, "%s", hook_texts[fault].remedy);
	}
}

static void check_pam(struct sbx_check *check)
{
	enum sbx_pam_hook hooks[N_SERVICES];

	for (size_t i = 0; i < N_SERVICES; i++) {
		struct sbx_err reason = {0};

		hooks[i] = SBX_PAM_NO_SERVICE;
		if (sbx_pam_stack_scan(check->paths.pam_dirs, services[i].name, &hooks[i],
				       &reason) < 0)
			sbx_findings_add(&check->findings, SBX_FINDING_ERROR, services[i].name,
					 "PAM service cannot be read: %s", reason.msg);
	}
	for (size_t fault = SBX_PAM_MISSING; fault < SBX_PAM_HOOKED; fault++) {
		report_hook(check, hooks, (enum sbx_pam_hook)fault, false);
		report_hook(check, hooks, (enum sbx_pam_hook)fault, true);
	}
}

/* --- sshd ------------------------------------------------------------------------------------ */

/* Finds the first UsePAM, which is the one that sshd goes by. */
struct sshd_scan {
	unsigned int n_includes;
	bool found;
	bool use_pam;
};

static int scan_sshd_file(struct sshd_scan *scan, const char *path, struct sbx_err *err);

/* NOLINTNEXTLINE(misc-no-recursion): bounded by INCLUDES_MAX, as sshd's own */
static int scan_sshd_include(struct sshd_scan *scan, const char *pattern, struct sbx_err *err)
{
	sbx_autostr struct sbx_str path = {0};
	glob_t matches = {0};
	int rc = 0;

	if (++scan->n_includes > INCLUDES_MAX)
		return sbx_fail(err, ELOOP, "more than %d includes", INCLUDES_MAX);
	sbx_str_addf(&path, "%s%s", pattern[0] == '/' ? "" : "/etc/ssh/", pattern);
	if (path.rc < 0)
		return sbx_fail(err, -path.rc, "include '%s'", pattern);
	if (glob(path.text, 0, NULL, &matches) == 0) {
		for (size_t i = 0; i < matches.gl_pathc && rc == 0 && !scan->found; i++)
			rc = scan_sshd_file(scan, matches.gl_pathv[i], err);
	}
	globfree(&matches);
	return rc;
}

/* NOLINTNEXTLINE(misc-no-recursion): see scan_sshd_include() */
static int scan_sshd_line(struct sshd_scan *scan, char *line, struct sbx_err *err)
{
	static const char separators[] = " \t\r=\"";
	char *state = NULL;
	const char *keyword = strtok_r(line, separators, &state);
	const char *value;
	int rc = 0;

	if (keyword == NULL || keyword[0] == '#')
		return 0;
	if (strcasecmp(keyword, "UsePAM") == 0) {
		value = strtok_r(NULL, separators, &state);
		scan->found = true;
		scan->use_pam = value != NULL && strcasecmp(value, "yes") == 0;
	} else if (strcasecmp(keyword, "Include") == 0) {
		while (rc == 0 && !scan->found &&
		       (value = strtok_r(NULL, separators, &state)) != NULL)
			rc = scan_sshd_include(scan, value, err);
	}
	return rc;
}

/* NOLINTNEXTLINE(misc-no-recursion): see scan_sshd_include() */
static int scan_sshd_file(struct sshd_scan *scan, const char *path, struct sbx_err *err)
{
	sbx_autofree char *text = NULL;
	char *rest;
	int rc = sbx_file_read(AT_FDCWD, path, 0, CONFIG_MAX_BYTES, &text, NULL, NULL, err);

	rest = text;
	for (char *line = strsep(&rest, "\n"); rc == 0 && line != NULL && !scan->found;
	     line = strsep(&rest, "\n"))
		rc = scan_sshd_line(scan, line, err);
	return rc;
}

static void check_sshd(struct sbx_check *check)
{
	const char *path = check->paths.sshd_config;
	struct sshd_scan scan = {0};
	struct sbx_err reason = {0};
	int rc = scan_sshd_file(&scan, path, &reason);

	if (rc == -ENOENT)
		return; /* no sshd here */
	if (rc < 0) {
		sbx_findings_add(&check->findings, SBX_FINDING_WARNING, path, "%s", reason.msg);
	} else if (!scan.use_pam) {
		sbx_findings_add(
		    &check->findings,
		    sbx_strv_length(check->enrolled) > 0 ? SBX_FINDING_ERROR : SBX_FINDING_WARNING,
		    path,
		    "sshd does not use PAM: file transfers and forwardings of enrolled "
		    "users run on the host");
		sbx_findings_remedy(&check->findings, "set 'UsePAM yes' and reload sshd");
	}
}

int sbx_check_services(struct sbx_check *check, struct sbx_err *err)
{
	(void)err; /* what cannot be read is a finding */
	check_pam(check);
	check_sshd(check);
	return 0;
}
