/* SPDX-License-Identifier: MIT */
/* Let libiniparser read what the scan has accepted. */
#include "config/ini_file.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* 4.1 installs it in a directory that pkg-config of 4.2 adds to the search path. */
#if __has_include(<iniparser/iniparser.h>)
#include <iniparser/iniparser.h>
#else
#include <iniparser.h>
#endif

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
#endif

static void dictionary_freep(dictionary **dict)
{
	if (*dict != NULL)
		iniparser_freedict(*dict);
}

/* Made of secrets, possibly. */
static void wipe(struct sbx_str *text)
{
	if (text->text != NULL)
		explicit_bzero(text->text, text->length);
	sbx_str_done(text);
}

static int open_memory(void)
{
	int fd = memfd_create("sbx-ini", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	/* Kernels before 6.3 do not know the flag, later ones may be set up to insist on it. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("sbx-ini", MFD_CLOEXEC);
	return fd;
}

/*
 * iniparser_load_file(), which takes a stream, came with 4.2; a name is what 4.1 and
 * 4.2 both take. An anonymous file has one under /proc.
 *
 * The library's error callback is left alone: it is one for the whole process, which
 * may be sshd's, and after the scan nothing is left that libiniparser would complain
 * about. A missing /proc is seen here first, so that it does not print that either.
 */
static int load(const char *file, const struct sbx_str *canonical, dictionary **ret_dict,
		size_t *ret_n_lines, struct sbx_err *err)
{
	sbx_autoclose int fd = open_memory();
	sbx_autoclose int again = -EBADF;
	dictionary *dict;
	char name[64];
	int rc;

	if (fd < 0)
		return sbx_fail(err, errno, "read '%s': memfd_create: %s", file, strerror(errno));
	rc = sbx_write_all(fd, canonical->text, canonical->length);
	if (rc < 0)
		return sbx_fail(err, -rc, "read '%s': anonymous file: %s", file, strerror(-rc));
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd); /* fits */
	again = open(name, O_RDONLY | O_CLOEXEC);
	if (again < 0) /* not ENOENT, which says that the file itself is absent */
		return sbx_fail(err, ENOTSUP, "read '%s': open '%s': %s (is /proc mounted?)", file,
				name, strerror(errno));
	dict = iniparser_load(name);
	if (dict == NULL)
		return sbx_fail(err, ENOMEM, "read '%s': libiniparser failed, out of memory?",
				file);
	*ret_n_lines = (size_t)dict->n;
	*ret_dict = dict;
	return 0;
}

/* The value of one entry, joined from its chunks. */
static int fetch(const struct sbx_ini *ini, const dictionary *dict, struct sbx_ini_entry *entry,
		 size_t *n_fetched)
{
	__attribute__((cleanup(wipe))) struct sbx_str value = {0};

	for (unsigned int chunk = 0;; chunk++) {
		sbx_autostr struct sbx_str lookup = {0};
		const char *text;
		int rc;

		sbx_ini_add_lookup(&lookup, ini->sections[entry->section].name, entry->key, chunk);
		if (lookup.rc < 0)
			return lookup.rc;
		text = iniparser_getstring(dict, lookup.text, NULL);
		if (text == NULL && chunk == 0)
			return -EBADMSG;
		if (text == NULL)
			return sbx_str_take(&value, &entry->value);
		rc = sbx_ini_add_decoded(&value, text);
		if (rc < 0)
			return -EBADMSG;
		(*n_fetched)++;
	}
}

int sbx_ini_parse(const char *file, const char *text, size_t length, struct sbx_ini **ret_ini,
		  struct sbx_err *err)
{
	__attribute__((cleanup(dictionary_freep))) dictionary *dict = NULL;
	__attribute__((cleanup(sbx_ini_freep))) struct sbx_ini *ini = NULL;
	__attribute__((cleanup(wipe))) struct sbx_str canonical = {0};
	size_t n_lines = 0;
	size_t n_fetched = 0;
	int rc = sbx_ini_scan(file, text, length, &ini, &canonical, err);

	/* Many files are all comments; the detour would double the time that they take. */
	if (rc == 0 && ini->n_entries > 0)
		rc = load(file, &canonical, &dict, &n_lines, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < ini->n_entries && rc == 0; i++)
		rc = fetch(ini, dict, &ini->entries[i], &n_fetched);
	/* It reports no read errors; that nothing is missing shows in the number of lines. */
	if (rc == 0 && ini->n_entries > 0 && n_fetched + ini->n_sections != n_lines)
		rc = -EBADMSG;
	if (rc == -EBADMSG)
		return sbx_fail(err, EBADMSG, "read '%s': libiniparser and the scan disagree",
				file);
	if (rc < 0)
		return sbx_fail(err, -rc, "read '%s': %s", file, strerror(-rc));
	*ret_ini = ini;
	ini = NULL;
	return 0;
}
