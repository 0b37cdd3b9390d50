/* SPDX-License-Identifier: MIT */
#include "sandbox/protocol.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

union control_buffer {
	char bytes[CMSG_SPACE(SBX_REPLY_FDS_MAX * sizeof(int))];
	struct cmsghdr align;
};

int sbx_message_send(int socket_fd, const void *message, size_t n_bytes, const int *fds,
		     size_t n_fds)
{
	union {
		const void *in;
		void *out;
	} unconst = {.in = message}; /* sendmsg(2) does not write to it */
	union control_buffer control = {0};
	struct iovec iov = {.iov_base = unconst.out, .iov_len = n_bytes};
	struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (n_fds > SBX_REPLY_FDS_MAX)
		return -EINVAL;
	if (n_fds > 0) {
		struct cmsghdr *cmsg = &control.align;

		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fds, n_fds * sizeof(int));
	}
	do {
		n = sendmsg(socket_fd, &header, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EPIPE ? -ECONNRESET : -errno;
	return (size_t)n == n_bytes ? 0 : -EBADMSG;
}

static void close_all(const int *fds, size_t n_fds)
{
	for (size_t i = 0; i < n_fds; i++)
		(void)close(fds[i]); /* somebody else's descriptors, nothing written */
}

/* Collect what came with a message. Whatever arrived is in fds, even on failure. */
static int take_fds(struct msghdr *header, int *fds, size_t max_fds, size_t *n_fds)
{
	int rc = 0;

	*n_fds = 0;
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(header); cmsg != NULL;
	     cmsg = CMSG_NXTHDR(header, cmsg)) {
		size_t n;

		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(fd));
			if (*n_fds < max_fds) {
				fds[(*n_fds)++] = fd;
			} else {
				(void)close(fd); /* more than was asked for */
				rc = -EBADMSG;
			}
		}
	}
	return rc;
}

int sbx_message_receive(int socket_fd, void *message, size_t n_bytes, int *fds, size_t max_fds,
			size_t *ret_n_fds)
{
	union control_buffer control = {0};
	struct iovec iov = {.iov_base = message, .iov_len = n_bytes};
	struct msghdr header = {.msg_iov = &iov,
				.msg_iovlen = 1,
				.msg_control = control.bytes,
				.msg_controllen = sizeof(control.bytes)};
	int taken[SBX_REPLY_FDS_MAX];
	size_t n_fds;
	ssize_t n;
	int rc;

	do {
		n = recvmsg(socket_fd, &header, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EPIPE ? -ECONNRESET : -errno;
	rc = take_fds(&header, taken, max_fds < SBX_REPLY_FDS_MAX ? max_fds : SBX_REPLY_FDS_MAX,
		      &n_fds);
	if (rc == 0 && n == 0)
		rc = -ECONNRESET;
	if (rc == 0 && ((size_t)n != n_bytes || (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0))
		rc = -EBADMSG;
	if (rc < 0) {
		close_all(taken, n_fds);
		return rc;
	}
	for (size_t i = 0; i < n_fds; i++)
		fds[i] = taken[i];
	*ret_n_fds = n_fds;
	return 0;
}
