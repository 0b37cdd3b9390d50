/* SPDX-License-Identifier: MIT */
#include "control/public_key.h"

#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const types[] = {
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
};

struct word {
	const char *start;
	size_t length;
};

/* The next word of a line; blanks in double quotes do not end it, as in sshd(8)'s options. */
static struct word next_word(const char **text)
{
	struct word word = {*text + strspn(*text, " \t"), 0};
	const char *p = word.start;
	bool quoted = false;

	for (; *p != '\0' && (quoted || (*p != ' ' && *p != '\t')); p++) {
		if (*p == '\\' && p[1] == '"')
			p++;
		else if (*p == '"')
			quoted = !quoted;
	}
	word.length = (size_t)(p - word.start);
	*text = p;
	return word;
}

static const char *type_of(struct word word)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strlen(types[i]) == word.length &&
		    strncmp(types[i], word.start, word.length) == 0)
			return types[i];
	}
	return NULL;
}

/* The first 'n' bytes of what the base64 stands for; false if it is none or shorter. */
static bool decode_start(struct word base64, unsigned char *bytes, size_t n)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t significant = base64.length;
	size_t written = 0;
	uint32_t bits = 0;
	unsigned int n_bits = 0;

	while (significant > 0 && base64.start[significant - 1] == '=')
		significant--;
	if (base64.length % 4 != 0 || base64.length - significant > 2)
		return false;
	for (size_t i = 0; i < significant; i++) {
		const char *digit = strchr(digits, base64.start[i]);

		if (digit == NULL || *digit == '\0')
			return false;
		bits = (bits << 6 | (uint32_t)(digit - digits)) & 0xffffff;
		n_bits += 6;
		if (n_bits < 8)
			continue;
		n_bits -= 8;
		if (written < n)
			bytes[written++] = (unsigned char)(bits >> n_bits);
	}
	return written == n;
}

/* A key's blob begins with its type: 4 bytes of length, then the name. */
static bool is_blob_of(struct word base64, const char *type)
{
	size_t length = strlen(type);
	unsigned char bytes[64];

	return decode_start(base64, bytes, length + 4) && bytes[0] == 0 && bytes[1] == 0 &&
	       bytes[2] == 0 && bytes[3] == length && memcmp(bytes + 4, type, length) == 0 &&
	       base64.length > (length + 4 + 16) * 4 / 3;
}

static bool is_key_line(const char *line)
{
	struct word word = next_word(&line);
	const char *type = type_of(word);

	if (type == NULL) { /* options first */
		word = next_word(&line);
		type = type_of(word);
	}
	return type != NULL && is_blob_of(next_word(&line), type);
}

static bool is_nothing(const char *line)
{
	line += strspn(line, " \t");
	return *line == '\0' || *line == '#';
}

int sbx_public_keys_check(const char *file, const char *text, size_t length, struct sbx_err *err)
{
	sbx_autofree char *copy = strdup(text);
	char *rest = copy;
	unsigned int number = 0;
	size_t n_keys = 0;

	if (copy == NULL)
		return sbx_fail(err, ENOMEM, "read '%s': %s", file, strerror(ENOMEM));
	if (strstr(text, "PRIVATE KEY") != NULL || strstr(text, "PuTTY-User-Key-File") != NULL)
		return sbx_fail(err, EINVAL,
				"'%s' is a private key, which belongs on no other machine; the "
				"public one is what ssh-keygen called FILE.pub",
				file);
	if (strlen(text) != length)
		return sbx_fail(err, EINVAL, "'%s' is not a text", file);
	for (const char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
		number++;
		for (const unsigned char *p = (const unsigned char *)line; *p != '\0'; p++) {
			if ((*p < 0x20 && *p != '\t') || *p == 0x7f)
				return sbx_fail(err, EINVAL, "%s:%u: control character", file,
						number);
		}
		if (is_nothing(line))
			continue;
		if (!is_key_line(line))
			return sbx_fail(err, EINVAL, "%s:%u: not an OpenSSH public key", file,
					number);
		n_keys++;
	}
	return n_keys > 0 ? 0 : sbx_fail(err, EINVAL, "there is no public key in '%s'", file);
}

/* ------------------------------------------------------------------ the file */

static bool has_line(const char *text, const char *line)
{
	size_t length = strlen(line);

	for (const char *p = text; p != NULL; p = strchr(p, '\n')) {
		p += *p == '\n' ? 1 : 0;
		if (strncmp(p, line, length) == 0 && (p[length] == '\n' || p[length] == '\0'))
			return true;
	}
	return false;
}

/* Append what 'text' has and 'present' has not. */
static int merge(const char *present, const char *text, struct sbx_str *out, size_t *ret_added)
{
	sbx_autofree char *copy = strdup(text);
	char *rest = copy;
	size_t added = 0;

	if (copy == NULL)
		return -ENOMEM;
	sbx_str_add(out, present);
	if (out->length > 0 && out->text[out->length - 1] != '\n')
		sbx_str_add(out, "\n");
	for (const char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
		if (is_nothing(line) || has_line(out->text == NULL ? "" : out->text, line))
			continue;
		sbx_str_addf(out, "%s\n", line);
		added++;
	}
	*ret_added = added;
	return out->rc;
}

static int write_file(int dir_fd, const char *name, const struct sbx_str *text)
{
	sbx_autostr struct sbx_str temporary = {0};
	sbx_autoclose int fd = -EBADF;
	int rc;

	sbx_str_addf(&temporary, ".%s.new", name);
	if (temporary.rc < 0)
		return temporary.rc;
	if (unlinkat(dir_fd, temporary.text, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(dir_fd, temporary.text, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0644);
	if (fd < 0)
		return -errno;
	rc = sbx_write_all(fd, text->text, text->length);
	if (rc == 0 && (fchmod(fd, 0644) < 0 || fsync(fd) < 0 ||
			renameat(dir_fd, temporary.text, dir_fd, name) < 0 || fsync(dir_fd) < 0))
		rc = -errno;
	if (rc < 0)
		(void)unlinkat(dir_fd, temporary.text, 0); /* else the next one does */
	return rc;
}

static int open_directory(const char *dir, int *ret_fd)
{
	sbx_autoclose int fd = -EBADF;
	struct stat st;

	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return -errno;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != 0 || (st.st_mode & 0022) != 0)
		return -EPERM; /* sshd would not read keys there, and rightly */
	if (flock(fd, LOCK_EX) < 0)
		return -errno;
	*ret_fd = sbx_take_fd(&fd);
	return 0;
}

int sbx_public_keys_install(const char *dir, const char *user, const char *text, bool dry_run,
			    size_t *ret_added, struct sbx_err *err)
{
	sbx_autofree char *present = NULL;
	sbx_autostr struct sbx_str merged = {0};
	sbx_autostr struct sbx_str path = {0};
	sbx_autoclose int dir_fd = -EBADF;
	int rc = dry_run ? 0 : open_directory(dir, &dir_fd);

	if (rc < 0)
		return sbx_fail(err, -rc, "directory '%s': %s", dir, strerror(-rc));
	sbx_str_addf(&path, "%s/%s", dir, user);
	if (path.rc < 0)
		return sbx_fail(err, -path.rc, "%s", strerror(-path.rc));
	rc = sbx_file_read(AT_FDCWD, path.text, O_NOFOLLOW, SBX_PUBLIC_KEYS_MAX_BYTES, &present,
			   NULL, NULL, err);
	if (rc < 0 && rc != -ENOENT)
		return rc;
	rc = merge(present == NULL ? "" : present, text, &merged, ret_added);
	if (rc == 0 && !dry_run && *ret_added > 0)
		rc = write_file(dir_fd, user, &merged);
	return rc < 0 ? sbx_fail(err, -rc, "write '%s': %s", path.text, strerror(-rc)) : 0;
}
