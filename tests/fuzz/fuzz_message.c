/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer entry point: a message of a peer that follows no rules. The first three bytes
 * are how many descriptors come with it, how many are expected, and how many bytes less
 * one; the rest is the message. Build with `make fuzz`.
 */
#include "sandbox/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define FDS_MAX 16
#define BYTES_MAX 255
#define UNTOUCHED (-7)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* abort() is how a fuzz target reports. */
static void must(bool right)
{
	if (!right)
		abort();
}

static int lowest_free_fd(void)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);

	must(fd >= 0 && close(fd) == 0);
	return fd;
}

static bool send_raw(int socket_fd, const uint8_t *bytes, size_t n_bytes, size_t n_fds)
{
	union {
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	char copy[4096];
	const int fd = STDERR_FILENO;
	struct iovec iov = {.iov_base = copy, .iov_len = n_bytes};
	struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};

	memcpy(copy, bytes, n_bytes);
	if (n_fds > 0) {
		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		for (size_t i = 0; i < n_fds; i++)
			memcpy(CMSG_DATA(&control.align) + i * sizeof(int), &fd, sizeof(fd));
	}
	return sendmsg(socket_fd, &header, MSG_NOSIGNAL) == (ssize_t)n_bytes;
}

/* What is received is what was sent, or nothing is. */
static void receive(int socket_fd, const uint8_t *sent, size_t n_sent, size_t n_sent_fds,
		    size_t n_bytes, size_t max_fds)
{
	uint8_t message[BYTES_MAX];
	int fds[SBX_REPLY_FDS_MAX] = {UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED};
	size_t n_fds = FDS_MAX;
	int rc = sbx_message_receive(socket_fd, message, n_bytes, fds, max_fds, &n_fds);
	bool right = n_sent == n_bytes && n_sent > 0 && n_sent_fds <= max_fds;

	must((rc == 0) == right);
	must(rc == 0 || rc == -EBADMSG || (rc == -ECONNRESET && n_sent == 0));
	must(n_fds == (right ? n_sent_fds : FDS_MAX));
	must(!right || memcmp(message, sent, n_sent) == 0);
	for (size_t i = 0; i < SBX_REPLY_FDS_MAX; i++) {
		if (right && i < n_sent_fds)
			must(fcntl(fds[i], F_GETFD) == FD_CLOEXEC && close(fds[i]) == 0);
		else
			must(fds[i] == UNTOUCHED);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int ends[2];
	int lowest;

	if (size < 3 || size - 3 > 4096)
		return 0;
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	lowest = lowest_free_fd();
	must(send_raw(ends[0], data + 3, size - 3, data[0] % (FDS_MAX + 1)));
	receive(ends[1], data + 3, size - 3, data[0] % (FDS_MAX + 1), data[2] % BYTES_MAX + 1,
		data[1] % (SBX_REPLY_FDS_MAX + 1));
	must(lowest_free_fd() == lowest);
	must(close(ends[0]) == 0 && close(ends[1]) == 0);
	return 0;
}
