/* SPDX-License-Identifier: MIT */
#include "sandbox/protocol.h"

#include "base/fd.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#define UNTOUCHED 12345 /* no descriptor has this number */
#define RAW_FDS_MAX 32

/* Two ends, and how many descriptors were open with them. */
struct pair {
	int ends[2];
	size_t n_fds;
};

static int setup(void **state)
{
	static struct pair pair;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.ends) < 0)
		return -1;
	pair.n_fds = scratch_open_fds();
	*state = &pair;
	return 0;
}

static int teardown(void **state)
{
	struct pair *pair = *state;

	sbx_closep(&pair->ends[0]);
	sbx_closep(&pair->ends[1]);
	return 0;
}

/* sendmsg(2) without the checks of sbx_message_send(): what a hostile peer may do. */
static void send_raw(const struct pair *pair, void *bytes, size_t n_bytes, int fd, size_t n_fds)
{
	union {
		char bytes[CMSG_SPACE(RAW_FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {.iov_base = bytes, .iov_len = n_bytes};
	struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};

	assert_true(n_fds <= RAW_FDS_MAX);
	if (n_fds > 0) {
		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		for (size_t i = 0; i < n_fds; i++)
			memcpy(CMSG_DATA(&control.align) + i * sizeof(int), &fd, sizeof(fd));
	}
	assert_int_equal(sendmsg(pair->ends[0], &header, 0), n_bytes);
}

/* What the caller gave is as before, and no descriptor stayed open. */
static void refuses(const struct pair *pair, size_t max_fds, int expected)
{
	struct sbx_request request = {0};
	int fds[SBX_REPLY_FDS_MAX] = {UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED};
	size_t n_fds = UNTOUCHED;
	int rc =
	    sbx_message_receive(pair->ends[1], &request, sizeof(request), fds, max_fds, &n_fds);

	assert_int_equal(rc, expected);
	assert_int_equal(n_fds, UNTOUCHED);
	for (size_t i = 0; i < SBX_REPLY_FDS_MAX; i++)
		assert_int_equal(fds[i], UNTOUCHED);
	assert_int_equal(scratch_open_fds(), pair->n_fds);
}

static void test_round_trip(void **state)
{
	struct pair *pair = *state;
	const struct sbx_reply sent = {
	    .magic = SBX_PROTOCOL_MAGIC, .namespaces = 7, .inodes = {{1, 2, 3, 4, 5, 6, 7}}};
	const int out[SBX_REPLY_FDS_MAX] = {0, 1, 2, pair->ends[0]};

	for (size_t n = 0; n <= SBX_REPLY_FDS_MAX; n++) {
		struct sbx_reply reply = {0};
		int fds[SBX_REPLY_FDS_MAX] = {UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED};
		size_t n_fds = UNTOUCHED;

		assert_int_equal(sbx_message_send(pair->ends[0], &sent, sizeof(sent), out, n), 0);
		assert_int_equal(sbx_message_receive(pair->ends[1], &reply, sizeof(reply), fds,
						     SBX_REPLY_FDS_MAX, &n_fds),
				 0);
		assert_memory_equal(&reply, &sent, sizeof(reply));
		assert_int_equal(n_fds, n);
		for (size_t i = 0; i < SBX_REPLY_FDS_MAX; i++) {
			if (i >= n) {
				assert_int_equal(fds[i], UNTOUCHED);
				continue;
			}
			assert_int_equal(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
			sbx_closep(&fds[i]);
		}
	}
	assert_int_equal(scratch_open_fds(), pair->n_fds);
}

static void test_wrong_size(void **state)
{
	struct pair *pair = *state;
	char bytes[4096] = {0};
	static const size_t sizes[] = {1, sizeof(struct sbx_request) - 1,
				       sizeof(struct sbx_request) + 1, 4096};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (size_t n_fds = 0; n_fds <= 2; n_fds++) {
			send_raw(pair, bytes, sizes[i], 0, n_fds);
			refuses(pair, 2, -EBADMSG);
		}
	}
	/* An empty one is what the end looks like; its descriptors are dropped all the same. */
	send_raw(pair, bytes, 0, 0, 2);
	refuses(pair, 2, -ECONNRESET);
	/* The connection can still be used. */
	assert_int_equal(sbx_message_send(pair->ends[0], bytes, 4, NULL, 0), 0);
	refuses(pair, 0, -EBADMSG);
}

static void test_too_many_fds(void **state)
{
	struct pair *pair = *state;
	struct sbx_request request = {0};

	for (size_t n_fds = 1; n_fds <= RAW_FDS_MAX; n_fds++) {
		for (size_t max_fds = 0; max_fds <= SBX_REPLY_FDS_MAX && max_fds < n_fds;
		     max_fds++) {
			send_raw(pair, &request, sizeof(request), 0, n_fds);
			refuses(pair, max_fds, -EBADMSG);
		}
	}
	/* No array at all, as when only a message is waited for. */
	send_raw(pair, &request, sizeof(request), 0, 3);
	{
		size_t n_fds = UNTOUCHED;

		assert_int_equal(
		    sbx_message_receive(pair->ends[1], &request, sizeof(request), NULL, 0, &n_fds),
		    -EBADMSG);
	}
	assert_int_equal(scratch_open_fds(), pair->n_fds);
	/* Nor may a sender go beyond. */
	{
		const int fds[SBX_REPLY_FDS_MAX + 1] = {0};

		assert_int_equal(sbx_message_send(pair->ends[0], &request, sizeof(request), fds,
						  SBX_REPLY_FDS_MAX + 1),
				 -EINVAL);
	}
}

/* Not all descriptors of a message could be received: that is no message. */
static void test_out_of_descriptors(void **state)
{
	struct pair *pair = *state;
	struct sbx_request request = {0};
	int fds[SBX_REPLY_FDS_MAX] = {UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED};
	size_t n_fds = UNTOUCHED;
	struct rlimit before;
	struct rlimit tight;
	int lowest = fcntl(0, F_DUPFD_CLOEXEC, 3);
	int rc;

	assert_true(lowest >= 3);
	assert_int_equal(close(lowest), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	send_raw(pair, &request, sizeof(request), 0, 4);
	tight = before;
	tight.rlim_cur = (rlim_t)lowest + 1; /* room for one */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	rc = sbx_message_receive(pair->ends[1], &request, sizeof(request), fds, 4, &n_fds);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(rc, -EBADMSG);
	assert_int_equal(fds[0], UNTOUCHED);
	assert_int_equal(scratch_open_fds(), pair->n_fds);
}

static void test_peer_closed(void **state)
{
	struct pair *pair = *state;
	struct sbx_request request = {0};

	sbx_closep(&pair->ends[0]);
	pair->n_fds--;
	refuses(pair, 1, -ECONNRESET);
	/* No SIGPIPE either, which would end the test, or sshd. */
	assert_int_equal(sbx_message_send(pair->ends[1], &request, sizeof(request), NULL, 0),
			 -ECONNRESET);
}

/* Closed with a message of ours unread: the kernel says so with ECONNRESET, once. */
static void test_peer_closed_unread(void **state)
{
	struct pair *pair = *state;
	struct sbx_request request = {0};

	assert_int_equal(sbx_message_send(pair->ends[1], &request, sizeof(request), NULL, 0), 0);
	sbx_closep(&pair->ends[0]);
	pair->n_fds--;
	refuses(pair, 1, -ECONNRESET);
	refuses(pair, 1, -ECONNRESET);
}

/* What was sent before the end still arrives. */
static void test_message_then_closed(void **state)
{
	struct pair *pair = *state;
	struct sbx_request request = {.magic = SBX_PROTOCOL_MAGIC};
	int fd = -EBADF;
	size_t n_fds = 0;

	assert_int_equal(sbx_message_send(pair->ends[0], &request, sizeof(request), &(int){0}, 1),
			 0);
	sbx_closep(&pair->ends[0]);
	request.magic = 0;
	assert_int_equal(
	    sbx_message_receive(pair->ends[1], &request, sizeof(request), &fd, 1, &n_fds), 0);
	assert_int_equal(request.magic, SBX_PROTOCOL_MAGIC);
	assert_int_equal(n_fds, 1);
	sbx_closep(&fd);
}

static void test_not_blocking(void **state)
{
	struct pair *pair = *state;

	assert_int_equal(fcntl(pair->ends[1], F_SETFL, O_NONBLOCK), 0);
	refuses(pair, 1, -EAGAIN);
}

static void test_not_a_socket(void **state)
{
	struct sbx_request request = {0};
	size_t n_fds;

	(void)state;
	assert_int_equal(sbx_message_send(-1, &request, sizeof(request), NULL, 0), -EBADF);
	assert_int_equal(sbx_message_receive(-1, &request, sizeof(request), NULL, 0, &n_fds),
			 -EBADF);
	assert_int_equal(sbx_message_send(0, &request, sizeof(request), NULL, 0), -ENOTSOCK);
}

/* Interrupted twice, and the third signal sends the message that is waited for. */
static volatile sig_atomic_t n_signals;
static int interrupted_fd;

static void interrupt(int number)
{
	const struct sbx_request request = {.magic = SBX_PROTOCOL_MAGIC};

	(void)number;
	if (++n_signals == 3)
		(void)send(interrupted_fd, &request, sizeof(request), 0);
}

static void test_interrupted(void **state)
{
	struct pair *pair = *state;
	const struct sigaction action = {.sa_handler = interrupt}; /* without SA_RESTART */
	const struct itimerval often = {.it_interval = {.tv_usec = 2000},
					.it_value = {.tv_usec = 2000}};
	const struct itimerval never = {0};
	struct sigaction before;
	struct sbx_request request = {0};
	size_t n_fds = UNTOUCHED;

	n_signals = 0;
	interrupted_fd = pair->ends[0];
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	assert_int_equal(
	    sbx_message_receive(pair->ends[1], &request, sizeof(request), NULL, 0, &n_fds), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
	assert_true(n_signals >= 3);
	assert_int_equal(request.magic, SBX_PROTOCOL_MAGIC);
	assert_int_equal(n_fds, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_round_trip),	    TEST(test_wrong_size),   TEST(test_too_many_fds),
	    TEST(test_out_of_descriptors),  TEST(test_peer_closed),  TEST(test_peer_closed_unread),
	    TEST(test_message_then_closed), TEST(test_not_blocking), TEST(test_not_a_socket),
	    TEST(test_interrupted),
	};

	return cmocka_run_group_tests_name("protocol", tests, NULL, NULL);
}
