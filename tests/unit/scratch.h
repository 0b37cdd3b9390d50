/* SPDX-License-Identifier: MIT */
#ifndef SBX_TEST_SCRATCH_H
#define SBX_TEST_SCRATCH_H

#include <sys/types.h>

/*
 * A directory of a test's own, and what tests put into it. All paths given to the
 * functions below are relative to it ("" is the directory itself). They fail the
 * running test on any error, so that they need no check.
 *
 * It is a fresh one of mode 0700 in /tmp, which is as it should be on every machine: sticky,
 * root's, and not a link.
 */
struct scratch {
	char path[64];
	int fd; /* O_PATH */
};

/* For cmocka's fixtures: *state is a struct scratch. */
int scratch_setup(void **state);
int scratch_teardown(void **state);

/* The full path of 'name'; the string lives as long as the test program. */
const char *scratch_path(const struct scratch *scratch, const char *name);

void scratch_directory(const struct scratch *scratch, const char *name, mode_t mode);
void scratch_file(const struct scratch *scratch, const char *name, const char *text);
void scratch_link(const struct scratch *scratch, const char *name, const char *text);
void scratch_fifo(const struct scratch *scratch, const char *name);

/*
 * Make 'name' belong to somebody who is not to be trusted. As root: to uid 65534. Without
 * root nothing needs to be done, as everything belongs to a user who is not root.
 */
void scratch_give_away(const struct scratch *scratch, const char *name);

/* What a file holds; the caller frees. NULL when there is none. */
char *scratch_read(const struct scratch *scratch, const char *name);

/* Device and inode number are the same, links not followed? */
int scratch_is(const struct scratch *scratch, const char *name, int fd);

/* How many descriptors the process has open. */
size_t scratch_open_fds(void);

#endif
