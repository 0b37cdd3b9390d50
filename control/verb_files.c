/* SPDX-License-Identifier: MIT */
/* sbxctl read, write, ls, exists, access, path: files of a workspace, from the host. */
#include "base/fd.h"
#include "base/str.h"
#include "control/command_line.h"
#include "control/json_text.h"
#include "control/output.h"
#include "control/workspace_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHUNK_BYTES 65536

struct request {
	bool json;
	bool write;
};

static int run(const char *verb, char **operands, const struct sbx_verb_options *options,
	       const struct request *request,
	       int (*work)(const struct sbx_workspace_job *, int, const char *), bool make)
{
	sbx_autouser struct sbx_user user = {0};
	struct sbx_err err = {0};
	const struct sbx_workspace_job job = {.verb = verb,
					      .user = &user,
					      .path = operands[1],
					      .make = make,
					      .work = work,
					      .data = request};

	if (sbx_user_load(operands[0], options, &user, &err) < 0) {
		sbx_complain(verb, "%s", err.msg);
		return SBX_EXIT_FAILED;
	}
	return sbx_workspace_run(&job);
}

static int no_json(const struct sbx_verb *verb, const struct sbx_verb_options *options)
{
	if (!options->json)
		return 0;
	sbx_complain(verb->name, "there is nothing that --json could print");
	return -EINVAL;
}

/* --------------------------------------------------------------------------------- read */

static int read_work(const struct sbx_workspace_job *job, int workspace_fd, const char *relative)
{
	/* Not blocking: a fifo would otherwise wait for somebody to write. */
	sbx_autoclose int fd = sbx_workspace_openat(workspace_fd, relative, O_RDONLY | O_NONBLOCK);
	sbx_autofree char *chunk = NULL;
	struct stat st;

	if (fd < 0)
		return sbx_workspace_fail(job, fd);
	if (fstat(fd, &st) < 0)
		return sbx_workspace_fail(job, -errno);
	if (!S_ISREG(st.st_mode))
		return sbx_workspace_fail(job, S_ISDIR(st.st_mode) ? -EISDIR : -ENXIO);
	chunk = malloc(CHUNK_BYTES);
	if (chunk == NULL)
		return sbx_workspace_fail(job, -ENOMEM);
	for (;;) {
		ssize_t n = read(fd, chunk, CHUNK_BYTES);
		int rc;

		if (n == 0)
			return SBX_EXIT_OK;
		if (n < 0)
			return sbx_workspace_fail(job, -errno);
		rc = sbx_write_all(STDOUT_FILENO, chunk, (size_t)n);
		if (rc < 0) {
			sbx_complain(job->verb, "standard output: %s", strerror(-rc));
			return SBX_EXIT_FAILED;
		}
	}
}

static int read_file(char **operands, const struct sbx_verb_options *options)
{
	if (no_json(&sbx_verb_read, options) < 0)
		return sbx_verb_usage_error(&sbx_verb_read);
	return run("read", operands, options, NULL, read_work, false);
}

/* -------------------------------------------------------------------------------- write */

static int write_work(const struct sbx_workspace_job *job, int workspace_fd, const char *relative)
{
	struct sbx_err err = {0};

	if (sbx_workspace_write(workspace_fd, relative, STDIN_FILENO, &err) < 0) {
		sbx_complain(job->verb, "'%s': %s", job->path, err.msg);
		return SBX_EXIT_FAILED;
	}
	return SBX_EXIT_OK;
}

static int write_file(char **operands, const struct sbx_verb_options *options)
{
	if (no_json(&sbx_verb_write, options) < 0)
		return sbx_verb_usage_error(&sbx_verb_write);
	return run("write", operands, options, NULL, write_work, true);
}

/* ----------------------------------------------------------------------------------- ls */

static const char *type_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "link";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	default:
		return "device";
	}
}

static json_t *entry_json(int dir_fd, const char *name, const struct stat *st)
{
	char mode[8];
	char text[PATH_MAX];
	ssize_t length;
	json_t *entry;

	(void)snprintf(mode, sizeof(mode), "%04o", st->st_mode & 07777U); /* fits */
	entry = json_pack("{s:s, s:I, s:s, s:I}", "type", type_name(st->st_mode), "size",
			  (json_int_t)st->st_size, "mode", mode, "mtime",
			  (json_int_t)st->st_mtim.tv_sec);
	if (sbx_json_text_set(entry, "name", name, strlen(name)) < 0)
		goto fail;
	length = S_ISLNK(st->st_mode) ? readlinkat(dir_fd, name, text, sizeof(text)) : -1;
	if (length >= 0 && sbx_json_text_set(entry, "target", text, (size_t)length) < 0)
		goto fail;
	return entry;
fail:
	json_decref(entry);
	return NULL;
}

/* On a terminal control characters could do things; a program gets the name as it is. */
static void print_name(const char *name, bool terminal)
{
	for (; *name != '\0'; name++) {
		const bool control = (unsigned char)*name < ' ' || *name == 0x7f;

		sbx_print("%c", terminal && control ? '?' : *name);
	}
	sbx_print("\n");
}

static int add_entry(int dir_fd, const char *name, json_t *list, bool terminal)
{
	struct stat st;

	if (list == NULL) {
		print_name(name, terminal);
		return 0;
	}
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno; /* removed meanwhile */
	return json_array_append_new(list, entry_json(dir_fd, name, &st)) < 0 ? -ENOMEM : 0;
}

static int ls_work(const struct sbx_workspace_job *job, int workspace_fd, const char *relative)
{
	const struct request *request = job->data;
	sbx_autoclose int fd = sbx_workspace_openat(workspace_fd, relative, O_RDONLY | O_DIRECTORY);
	json_auto_t *list = request->json ? json_array() : NULL;
	const bool terminal = isatty(STDOUT_FILENO);
	struct dirent **entries = NULL;
	int rc = 0;
	int n;

	if (fd < 0)
		return sbx_workspace_fail(job, fd);
	n = scandirat(fd, ".", &entries, NULL, alphasort);
	if (n < 0)
		return sbx_workspace_fail(job, -errno);
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;

		if (rc == 0 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
			rc = add_entry(fd, name, list, terminal);
		free(entries[i]);
	}
	free(entries);
	if (rc == 0 && request->json)
		rc = sbx_print_json(list);
	return rc < 0 ? sbx_workspace_fail(job, rc) : SBX_EXIT_OK;
}

static int ls(char **operands, const struct sbx_verb_options *options)
{
	const struct request request = {.json = options->json};

	return run("ls", operands, options, &request, ls_work, false);
}

/* ----------------------------------------------------------------------- exists, access */

static int answer(const struct sbx_workspace_job *job, const char *key, bool yes)
{
	const struct request *request = job->data;
	json_auto_t *root = NULL;

	if (request->json) {
		root = json_pack("{s:b}", key, (int)yes);
		if (sbx_print_json(root) < 0)
			return sbx_workspace_fail(job, -ENOMEM);
	}
	return yes ? SBX_EXIT_OK : SBX_EXIT_NO;
}

static int exists_work(const struct sbx_workspace_job *job, int workspace_fd, const char *relative)
{
	sbx_autoclose int fd = sbx_workspace_openat(workspace_fd, relative, O_PATH);

	if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR)
		return sbx_workspace_fail(job, fd);
	return answer(job, "exists", fd >= 0);
}

static int exists(char **operands, const struct sbx_verb_options *options)
{
	const struct request request = {.json = options->json};

	return run("exists", operands, options, &request, exists_work, false);
}

/* faccessat(3) looks at a path, and on older C libraries by other rules; this is the kernel's own.
 */
static int access_fd(int fd, int mode)
{
	return syscall(SYS_faccessat2, fd, "", mode, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

static int access_work(const struct sbx_workspace_job *job, int workspace_fd, const char *relative)
{
	const struct request *request = job->data;
	sbx_autoclose int fd = sbx_workspace_openat(workspace_fd, relative, O_PATH);
	int rc = fd;

	if (fd >= 0)
		rc = access_fd(fd, request->write ? W_OK : R_OK);
	if (rc < 0 && rc != -ENOENT && rc != -ENOTDIR && rc != -EACCES && rc != -EROFS)
		return sbx_workspace_fail(job, rc);
	return answer(job, "access", rc >= 0);
}

static int access_file(int argc, char **argv)
{
	static const struct sbx_option own[] = {
	    {"write", 'w', NULL, "may it be written? (else: may it be read?)"},
	    {.name = NULL},
	};
	sbx_autocommandline struct sbx_command_line line;
	struct request request = {0};
	int rc = sbx_command_line_read(&sbx_verb_access, own, 2, 2, false, argc, argv, &line);

	if (rc >= 0)
		return rc;
	request.json = line.common.json;
	request.write = sbx_command_line_value(&line, "write") != NULL;
	return run("access", line.operands, &line.common, &request, access_work, false);
}

/* --------------------------------------------------------------------------------- path */

/* Where an open file is on the host. */
static int host_path(int fd, struct sbx_str *out)
{
	char self[64];
	char text[PATH_MAX];
	ssize_t length;

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd); /* fits */
	length = readlink(self, text, sizeof(text));
	if (length < 0)
		return -errno;
	if ((size_t)length == sizeof(text) || text[0] != '/')
		return -ENAMETOOLONG;
	sbx_str_addn(out, text, (size_t)length);
	return out->rc;
}

/* Cut the last component off 'head', which becomes "." when none is left. */
static int cut_last(char **head, size_t *length)
{
	while (*length > 0 && (*head)[*length - 1] != '/')
		(*length)--;
	if (*length > 0) {
		(*head)[*length] = '\0';
		return 0;
	}
	free(*head);
	*head = strdup(".");
	return *head == NULL ? -ENOMEM : 0;
}

static void cut_slashes(char *head, size_t *length)
{
	while (*length > 0 && head[*length - 1] == '/')
		(*length)--;
	head[*length] = '\0';
}

/* The path of 'fd' on the host, and behind it the 'rest' that does not exist yet. */
static int host_path_and(int fd, const char *rest, struct sbx_str *out)
{
	struct stat st;
	int rc;

	rest += strspn(rest, "/");
	if (*rest != '\0' && (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode)))
		return -ENOTDIR;
	rc = host_path(fd, out);
	if (rc == 0 && *rest != '\0')
		sbx_str_addf(out, "/%s", rest);
	return rc < 0 ? rc : out->rc;
}

/* As much of the path as exists, resolved; then the rest as given. */
static int resolve(int workspace_fd, const char *relative, struct sbx_str *out)
{
	sbx_autofree char *head = strdup(relative);
	size_t length = strlen(relative);

	if (head == NULL)
		return -ENOMEM;
	for (;;) {
		sbx_autoclose int fd = sbx_workspace_openat(workspace_fd, head, O_PATH);
		struct stat st;
		int rc;

		if (fd >= 0)
			return host_path_and(fd, relative + length, out);
		if (fd != -ENOENT || strcmp(head, ".") == 0)
			return fd;
		/* A link that leads nowhere is not nothing: what is made would be elsewhere. */
		cut_slashes(head, &length);
		if (fstatat(workspace_fd, head, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISLNK(st.st_mode))
			return -ELOOP;
		rc = cut_last(&head, &length);
		if (rc < 0)
			return rc;
	}
}

static int path_work(const struct sbx_workspace_job *job, int workspace_fd, const char *relative)
{
	const struct request *request = job->data;
	sbx_autostr struct sbx_str path = {0};
	json_auto_t *root = NULL;
	int rc = resolve(workspace_fd, relative, &path);

	if (rc < 0)
		return sbx_workspace_fail(job, rc);
	if (!request->json) {
		sbx_print("%s\n", path.text);
		return SBX_EXIT_OK;
	}
	root = json_object();
	rc = sbx_json_text_set(root, "path", path.text, path.length);
	if (rc == 0)
		rc = sbx_print_json(root);
	return rc < 0 ? sbx_workspace_fail(job, rc) : SBX_EXIT_OK;
}

static int path(char **operands, const struct sbx_verb_options *options)
{
	const struct request request = {.json = options->json};

	return run("path", operands, options, &request, path_work, false);
}

/* --------------------------------------------------------------------------------------------- */

#define ABOUT_PATHS                                                                                \
	"PATH is relative to the workspace, or absolute as it is seen inside (below home) or on\n" \
	"the host. '..' is refused. Links are followed while they stay in the workspace and are\n" \
	"relative. It is done with the rights of USER. The sandbox need not run.\n"

const struct sbx_verb sbx_verb_read = {
    .name = "read",
    .operands = "USER PATH",
    .summary = "write a file of USER's workspace to standard output",
    .help = ABOUT_PATHS
    "Only regular files are read.\n"
    "\n"
    "exit status: 0 read; 1 there is no such file; 3 refused, or could not be read.\n",
    .n_operands = 2,
    .run = read_file,
};

const struct sbx_verb sbx_verb_write = {
    .name = "write",
    .operands = "USER PATH",
    .summary = "write standard input to a file of USER's workspace",
    .help = ABOUT_PATHS
    "Missing directories are made. The file is replaced as a whole when all of standard input\n"
    "has been written: until then, and if anything goes wrong, the old one stays. A new file\n"
    "has mode 0644, one that is replaced keeps its mode.\n"
    "\n"
    "exit status: 0 written; 3 refused, or could not be written.\n",
    .n_operands = 2,
    .run = write_file,
};

const struct sbx_verb sbx_verb_ls = {
    .name = "ls",
    .operands = "USER PATH",
    .summary = "list a directory of USER's workspace",
    .help = ABOUT_PATHS
    "One name a line, sorted by bytes. --json prints objects with name, type (file, directory,\n"
    "link, fifo, socket, device), size, mode, mtime and, of links, target.\n"
    "\n"
    "exit status: 0 listed; 1 there is no such directory; 3 refused, or could not be listed.\n",
    .n_operands = 2,
    .run = ls,
};

const struct sbx_verb sbx_verb_exists = {
    .name = "exists",
    .operands = "USER PATH",
    .summary = "is it there, in USER's workspace?",
    .help = ABOUT_PATHS "A link that leads nowhere is not there.\n"
			"\n"
			"exit status: 0 yes; 1 no; 3 refused, or could not be found out.\n",
    .n_operands = 2,
    .run = exists,
};

const struct sbx_verb sbx_verb_access = {
    .name = "access",
    .operands = "USER PATH",
    .summary = "may USER read (or --write) it?",
    .help = ABOUT_PATHS
    "\n"
    "exit status: 0 yes; 1 no, or it is not there; 3 refused, or could not be found out.\n",
    .run_own = access_file,
};

const struct sbx_verb sbx_verb_path = {
    .name = "path",
    .operands = "USER PATH",
    .summary = "where a path of USER's sandbox is on the host",
    .help = ABOUT_PATHS
    "Prints the path on the host, links resolved. What does not exist yet is appended as given.\n"
    "It says how things are at this moment: whoever then uses the path as root must keep in\n"
    "mind that USER can put a link there. 'sbxctl read' and 'write' are safe from that.\n"
    "\n"
    "exit status: 0 printed; 1 a part of it is no directory; 3 refused, or could not be found\n"
    "out.\n",
    .n_operands = 2,
    .run = path,
};
