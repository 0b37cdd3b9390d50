/* SPDX-License-Identifier: MIT */
#include "sandbox/facts.h"

#include "base/fd.h"
#include "base/str.h"
#include "sandbox/path.h"
#include "sandbox/view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int sbx_fact_add(struct sbx_fact_list *list, const char *path, enum sbx_fact_kind kind,
		 const char *link_text)
{
	struct sbx_fact fact = {.kind = kind};
	struct sbx_fact *grown;

	/* Room is doubled at powers of two, so that no capacity has to be kept beside the count. */
	if ((list->n_entries & (list->n_entries - 1)) == 0) {
		size_t room = list->n_entries == 0 ? 1 : list->n_entries * 2;

		grown = reallocarray(list->entries, room, sizeof(*grown));
		if (grown == NULL)
			return -ENOMEM;
		list->entries = grown;
	}
	fact.path = strdup(path);
	if (fact.path == NULL)
		return -ENOMEM;
	if (link_text != NULL) {
		fact.link_text = strdup(link_text);
		if (fact.link_text == NULL) {
			free(fact.path);
			return -ENOMEM;
		}
	}
	list->entries[list->n_entries++] = fact;
	return 0;
}

const struct sbx_fact *sbx_fact_find(const struct sbx_fact_list *list, const char *path)
{
	for (size_t i = 0; i < list->n_entries; i++) {
		if (strcmp(list->entries[i].path, path) == 0)
			return &list->entries[i];
	}
	return NULL;
}

static void fact_list_done(struct sbx_fact_list *list)
{
	for (size_t i = 0; i < list->n_entries; i++) {
		free(list->entries[i].path);
		free(list->entries[i].link_text);
	}
	free(list->entries);
}

void sbx_facts_free(struct sbx_facts *facts)
{
	if (facts == NULL)
		return;
	fact_list_done(&facts->image);
	fact_list_done(&facts->host);
	free(facts);
}

void sbx_facts_freep(struct sbx_facts **facts) { sbx_facts_free(*facts); }

/* Look at 'path' (absolute) below 'root_fd' and add what it is; absent paths add nothing. */
static int probe_path(int root_fd, const char *path, struct sbx_fact_list *list)
{
	char link_text[4096];
	struct stat st;
	ssize_t length;

	if (fstatat(root_fd, path + 1, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* absent or unreachable: a plan treats both alike */
	if (S_ISDIR(st.st_mode))
		return sbx_fact_add(list, path, SBX_FACT_DIRECTORY, NULL);
	if (!S_ISLNK(st.st_mode))
		return sbx_fact_add(list, path, SBX_FACT_FILE, NULL);
	length = readlinkat(root_fd, path + 1, link_text, sizeof(link_text) - 1);
	if (length < 0)
		return 0;
	link_text[length] = '\0';
	return sbx_fact_add(list, path, SBX_FACT_LINK, link_text);
}

static int probe_paths(int root_fd, const char *const *paths, struct sbx_fact_list *list)
{
	for (size_t i = 0; paths[i] != NULL; i++) {
		int rc = probe_path(root_fd, paths[i], list);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int etc_path(const char *name, char **ret_path)
{
	sbx_autostr struct sbx_str path = {0};

	sbx_str_addf(&path, "/etc/%s", name);
	return sbx_str_take(&path, ret_path);
}

static bool etc_name_allowed(const char *name)
{
	char path[sizeof("/etc/") + NAME_MAX];
	int length = snprintf(path, sizeof(path), "/etc/%s", name);

	return length > 0 && (size_t)length < sizeof(path) && sbx_view_etc_allows(path);
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* One listing of /etc instead of a look at each of the names that might be there. */
static int etc_listing(int root_fd, char ***ret_names)
{
	sbx_autostrv char **names = NULL;
	const struct dirent *entry;
	DIR *dir;
	int fd;
	int rc = 0;

	fd = openat(root_fd, "etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0; /* an image without /etc is a poor one, but not wrong */
	dir = fdopendir(fd);
	if (dir == NULL) {
		rc = -errno;
		(void)close(fd); /* nothing written */
		return rc;
	}
	while (rc == 0 && (errno = 0, entry = readdir(dir)) != NULL) {
		if (etc_name_allowed(entry->d_name))
			rc = sbx_strv_append(&names, entry->d_name);
	}
	if (rc == 0)
		rc = -errno; /* of readdir(3); 0 at the end of the directory */
	(void)closedir(dir); /* nothing written */
	if (rc < 0)
		return rc;
	/* Sorted, so that a plan reads the same on every file system. */
	if (names != NULL)
		qsort(names, sbx_strv_length(names), sizeof(*names), compare_names);
	*ret_names = names;
	names = NULL;
	return 0;
}

/* The way to it may lead over links, which mean paths in the image and not on the host. */
static int probe_shell(int image_fd, struct sbx_fact_list *list)
{
	sbx_autoclose int fd = -EBADF;

	if (sbx_path_open_in(image_fd, SBX_SHELL_DEFAULT, O_PATH, &fd, NULL) < 0)
		return 0; /* absent */
	return sbx_fact_add(list, SBX_SHELL_DEFAULT, SBX_FACT_FILE, NULL);
}

static int probe_etc(int root_fd, struct sbx_fact_list *list)
{
	sbx_autostrv char **names = NULL;
	int rc = etc_listing(root_fd, &names);

	for (size_t i = 0; rc == 0 && names != NULL && names[i] != NULL; i++) {
		sbx_autofree char *path = NULL;

		rc = etc_path(names[i], &path);
		if (rc == 0)
			rc = probe_path(root_fd, path, list);
	}
	for (size_t i = 0; rc == 0 && sbx_view_etc_nested[i] != NULL; i++) {
		sbx_autofree char *path = NULL;

		rc = etc_path(sbx_view_etc_nested[i], &path);
		if (rc == 0)
			rc = probe_path(root_fd, path, list);
	}
	return rc;
}

int sbx_facts_probe(const char *image_root, struct sbx_facts **ret_facts, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_facts_freep))) struct sbx_facts *facts = NULL;
	sbx_autoclose int image_fd = -EBADF;
	sbx_autoclose int host_fd = -EBADF;
	int rc;

	facts = calloc(1, sizeof(*facts));
	if (facts == NULL)
		return sbx_fail(err, ENOMEM, "look at the host: %s", strerror(ENOMEM));
	facts->unprivileged = geteuid() != 0;
	image_fd = open(image_root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (image_fd < 0)
		return sbx_fail(err, errno, "open root '%s': %s", image_root, strerror(errno));
	host_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (host_fd < 0)
		return sbx_fail(err, errno, "open '/': %s", strerror(errno));

	rc = probe_paths(image_fd, sbx_view_top, &facts->image);
	if (rc == 0)
		rc = probe_shell(image_fd, &facts->image);
	if (rc == 0)
		rc = probe_etc(image_fd, &facts->image);
	if (rc == 0)
		rc = probe_paths(host_fd, sbx_view_etc_host, &facts->host);
	if (rc == 0)
		rc = probe_paths(host_fd, sbx_view_sys, &facts->host);
	if (rc == 0)
		rc = probe_paths(host_fd, sbx_view_dev, &facts->host);
	if (rc == 0)
		rc = probe_paths(host_fd, sbx_view_host, &facts->host);
	if (rc < 0)
		return sbx_fail(err, -rc, "look at the host: %s", strerror(-rc));
	*ret_facts = facts;
	facts = NULL;
	return 0;
}
