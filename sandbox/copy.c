/* SPDX-License-Identifier: MIT */
#include "sandbox/copy.h"

#include "base/fd.h"
#include "base/str.h"
#include "sandbox/path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define COPY_MAX_BYTES ((size_t)4 << 20)

int sbx_copy_read(int image_fd, const char *path, const char *suffix, char **ret_text,
		  size_t *ret_length, struct sbx_err *err)
{
	sbx_autoclose int source_fd = -EBADF;
	sbx_autofree char *content = NULL;
	sbx_autostr struct sbx_str text = {0};
	char fd_path[64];
	struct stat st;
	size_t length;
	int rc;

	if (image_fd >= 0)
		rc = sbx_path_open_in(image_fd, path, O_PATH, &source_fd, err);
	else
		rc = sbx_path_open(path, 0, &source_fd, err);
	if (rc < 0)
		return rc;
	/* Looked at first: opening a device, even to close it again, can do things. */
	if (fstat(source_fd, &st) < 0)
		return sbx_fail(err, errno, "copy '%s': %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return sbx_fail(err, EINVAL, "copy '%s': not a regular file", path);
	/* Without root the file could not even be opened. */
	if ((st.st_mode & S_IROTH) == 0) {
		*ret_text = NULL;
		*ret_length = 0;
		return 0;
	}
	/* Reopened through /proc so that what is read is what was walked to. */
	(void)snprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", source_fd); /* fits */
	rc = sbx_file_read(AT_FDCWD, fd_path, 0, COPY_MAX_BYTES, &content, &length, &st, err);
	if (rc < 0)
		return sbx_wrap(err, rc, "copy '%s'", path);
	if ((st.st_mode & S_IROTH) == 0) {
		*ret_text = NULL;
		*ret_length = 0;
		return 0;
	}
	sbx_str_addn(&text, content, length);
	if (suffix != NULL)
		sbx_str_add(&text, suffix);
	length = text.length;
	rc = sbx_str_take(&text, ret_text);
	if (rc < 0)
		return sbx_fail(err, -rc, "copy '%s': %s", path, strerror(-rc));
	*ret_length = length;
	return 0;
}
