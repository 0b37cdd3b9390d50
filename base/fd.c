/* SPDX-License-Identifier: MIT */
#include "base/fd.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sbx_closep(int *fd)
{
	if (*fd >= 0) {
		int saved = errno;

		(void)close(*fd); /* nothing was written through it that matters here */
		errno = saved;
	}
	*fd = -EBADF;
}

int sbx_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -EBADF;
	return taken;
}

void sbx_fclosep(FILE **stream)
{
	if (*stream != NULL)
		(void)fclose(*stream); /* read-only streams */
	*stream = NULL;
}

int sbx_write_all(int fd, const void *bytes, size_t n_bytes)
{
	const char *p = bytes;

	while (n_bytes > 0) {
		ssize_t n = write(fd, p, n_bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		n_bytes -= (size_t)n;
	}
	return 0;
}

static int read_to_end(int fd, const char *path, size_t max_bytes, struct sbx_str *text,
		       struct sbx_err *err)
{
	char chunk[4096];

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sbx_fail(err, errno, "read '%s': %s", path, strerror(errno));
		if (n == 0)
			return 0;
		sbx_str_addn(text, chunk, (size_t)n);
		explicit_bzero(chunk, (size_t)n); /* secrets are read this way */
		if (text->length > max_bytes)
			return sbx_fail(err, EFBIG, "'%s' is larger than %zu bytes", path,
					max_bytes);
	}
}

int sbx_file_read(int dirfd, const char *path, int flags, size_t max_bytes, char **ret_text,
		  size_t *ret_length, struct stat *ret_stat, struct sbx_err *err)
{
	sbx_autoclose int fd = -EBADF;
	sbx_autostr struct sbx_str text = {0};
	struct stat st;
	size_t length;
	int rc;

	fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
	if (fd < 0)
		return sbx_fail(err, errno, "open '%s': %s", path, strerror(errno));
	if (fstat(fd, &st) < 0)
		return sbx_fail(err, errno, "stat '%s': %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return sbx_fail(err, EINVAL, "'%s' is not a regular file", path);
	rc = read_to_end(fd, path, max_bytes, &text, err);
	if (rc < 0)
		return rc;
	length = text.length;
	rc = sbx_str_take(&text, ret_text);
	if (rc < 0)
		return sbx_fail(err, -rc, "read '%s': %s", path, strerror(-rc));
	if (ret_length != NULL)
		*ret_length = length;
	if (ret_stat != NULL)
		*ret_stat = st;
	return 0;
}
