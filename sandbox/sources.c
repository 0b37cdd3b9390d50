/* SPDX-License-Identifier: MIT */
#include "sandbox/sources.h"

#include "base/fd.h"
#include "sandbox/copy.h"
#include "sandbox/path.h"
#include "sandbox/workspace.h"

#include "base/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void source_done(struct sbx_source *source)
{
	free(source->path);
	free(source->text);
}

void sbx_sources_free(struct sbx_sources *sources)
{
	if (sources == NULL)
		return;
	source_done(&sources->image_root);
	for (size_t i = 0; i < sources->n_ops; i++)
		source_done(&sources->ops[i]);
	free(sources->ops);
	free(sources);
}

void sbx_sources_freep(struct sbx_sources **sources) { sbx_sources_free(*sources); }

/* Where does 'fd' lead? The kernel's answer has no link in it. */
static int remember(int fd, const char *path, struct sbx_source *source, struct sbx_err *err)
{
	char fd_path[64];
	char text[PATH_MAX];
	struct stat st;
	ssize_t length;

	(void)snprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", fd); /* fits */
	length = readlink(fd_path, text, sizeof(text) - 1);
	if (length < 0 || fstat(fd, &st) < 0)
		return sbx_fail(err, errno, "look at '%s': %s", path, strerror(errno));
	text[length] = '\0';
	source->path = strdup(text);
	if (source->path == NULL)
		return sbx_fail(err, ENOMEM, "look at '%s': %s", path, strerror(ENOMEM));
	source->device = st.st_dev;
	source->inode = st.st_ino;
	return 0;
}

static int find_path(const char *path, struct sbx_source *source, struct sbx_err *err)
{
	sbx_autoclose int fd = -EBADF;
	int rc = sbx_path_open(path, geteuid(), &fd, err);

	return rc < 0 ? rc : remember(fd, path, source, err);
}

static int find_workspace(const struct sbx_op *op, struct sbx_source *source, struct sbx_err *err)
{
	sbx_autoclose int fd = -EBADF;
	int rc = sbx_workspace_open(op->source, SBX_SKEL_DIR, op->uid, op->gid, &fd, err);

	return rc < 0 ? rc : remember(fd, op->source, source, err);
}

static int find_source(const struct sbx_op *op, struct sbx_source *source, struct sbx_err *err)
{
	int rc = 0;

	/* Links in an image resolve in the image, whoever made them. */
	if ((op->flags & SBX_OP_IMAGE) != 0)
		return 0;
	if (op->kind == SBX_OP_BIND)
		rc = find_path(op->source, source, err);
	else if (op->kind == SBX_OP_WORKSPACE)
		rc = find_workspace(op, source, err);
	else if (op->kind == SBX_OP_COPY)
		rc = sbx_copy_read(-EBADF, op->source, op->text, &source->text, &source->length,
				   err);
	if (rc == -ENOENT && (op->flags & SBX_OP_OPTIONAL) != 0)
		rc = 0;
	return rc;
}

int sbx_sources_find(const struct sbx_plan *plan, struct sbx_sources **ret_sources,
		     struct sbx_err *err)
{
	__attribute__((cleanup(sbx_sources_freep))) struct sbx_sources *sources =
	    calloc(1, sizeof(*sources));
	int rc;

	if (sources == NULL)
		return sbx_fail(err, ENOMEM, "look at the host: %s", strerror(ENOMEM));
	sources->ops = calloc(plan->n_ops + 1, sizeof(*sources->ops));
	if (sources->ops == NULL)
		return sbx_fail(err, ENOMEM, "look at the host: %s", strerror(ENOMEM));
	sources->n_ops = plan->n_ops;
	rc = find_path(plan->image_root, &sources->image_root, err);
	for (size_t i = 0; rc == 0 && i < plan->n_ops; i++)
		rc = find_source(&plan->ops[i], &sources->ops[i], err);
	if (rc < 0)
		return rc;
	*ret_sources = sources;
	sources = NULL;
	return 0;
}

int sbx_source_open(const struct sbx_source *source, int *ret_fd, struct sbx_err *err)
{
	sbx_autoclose int fd = -EBADF;
	struct stat st;

	if (source->path == NULL)
		return sbx_fail(err, ENOENT, "%s", strerror(ENOENT));
	fd = open(source->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return sbx_fail(err, errno, "open '%s': %s", source->path, strerror(errno));
	if (st.st_dev != source->device || st.st_ino != source->inode)
		return sbx_fail(err, ESTALE, "'%s' was replaced meanwhile", source->path);
	*ret_fd = sbx_take_fd(&fd);
	return 0;
}
