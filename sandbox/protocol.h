/* SPDX-License-Identifier: MIT */
#ifndef SBX_PROTOCOL_H
#define SBX_PROTOCOL_H

#include "sandbox/namespaces.h"
#include "sandbox/origin.h"

#include <stddef.h>
#include <stdint.h>

/*
 * What sessions and the keeper say to each other, over a SOCK_SEQPACKET socket in a
 * directory that only root (or, without root, the user) can enter.
 *
 * A session connects, sends ENTER with a pidfd of its own process, and gets an
 * answer with the keeper's pidfd and the files to write to for entering the cgroup.
 * Descriptors instead of numbers and paths: a process number means something else
 * in another PID namespace, and may be reused. Afterwards the open connection
 * stands for the session; when it is gone and the process too, the session is over,
 * however it ended.
 */

#define SBX_PROTOCOL_MAGIC 0x32786273U /* "sbx2": raised with each incompatible change */
#define SBX_CONTROL_NAME "control"
#define SBX_LOCK_NAME "lock"

enum sbx_request_kind {
	SBX_REQUEST_ENTER = 1,
	SBX_REQUEST_LEAVE = 2,	  /* the session is over although its process lives on */
	SBX_REQUEST_STOP = 3,	  /* end the sandbox: TERM, wait grace_ms, KILL */
	SBX_REQUEST_HOLD = 4,	  /* stay without sessions, until STOP */
	SBX_REQUEST_DESCRIBE = 5, /* what the session is: 'origin' */
	SBX_REQUEST_STATUS = 6,	  /* answered by a struct sbx_status_reply */
	SBX_REQUEST_SESSION = 7,  /* answered by a struct sbx_session_reply */
};

struct sbx_request {
	uint32_t magic;
	uint32_t kind;
	uint64_t grace_ms;	  /* STOP */
	uint64_t after;		  /* SESSION: the next one whose number is above */
	struct sbx_origin origin; /* DESCRIBE */
};

#define SBX_REPLY_FDS_MAX 4 /* the keeper's pidfd, then up to three cgroup files */

struct sbx_reply {
	uint32_t magic;
	int32_t namespaces; /* CLONE_NEW* flags to join */
	struct sbx_namespaces inodes;
};

#define SBX_CGROUP_NAME_MAX 128

/*
 * With the keeper's pidfd and, one for each part of the cgroup, the directory that holds
 * the directory 'cgroup_name'. Times are ages because the clocks' zero is nobody's business.
 */
struct sbx_status_reply {
	uint32_t magic;
	uint32_t n_sessions;
	uint64_t age_ms;
	uint64_t linger_s; /* SBX_LINGER_FOREVER after HOLD */
	char cgroup_name[SBX_CGROUP_NAME_MAX];
};

/* With a pidfd of the session's process, unless that is gone. */
struct sbx_session_reply {
	uint32_t magic;
	uint32_t found; /* 0: no session has a number above */
	uint64_t number;
	uint64_t age_ms;
	struct sbx_origin origin;
};

/*
 * Send or receive one message with descriptors.
 * Received descriptors are close-on-exec and the caller's.
 * Return 0 or -errno; -ECONNRESET when the other side is gone, -EBADMSG for a message
 * of another size or with more descriptors than 'max_fds'.
 */
int sbx_message_send(int socket_fd, const void *message, size_t n_bytes, const int *fds,
		     size_t n_fds);
int sbx_message_receive(int socket_fd, void *message, size_t n_bytes, int *fds, size_t max_fds,
			size_t *ret_n_fds);

/*
 * How the keeper is started: "sbx-keeper NAMESPACES LINGER_S CGROUP N_PARTS", with
 * these descriptors. From SBX_KEEPER_FD_PARTS on three for each cgroup part: join,
 * parent directory, leave.
 */
enum {
	SBX_KEEPER_FD_STATUS = 3, /* a struct sbx_err goes out here once: code 0 = ready */
	SBX_KEEPER_FD_LISTEN = 4,
	SBX_KEEPER_FD_STATE = 5, /* directory of the socket */
	SBX_KEEPER_FD_LOCK = 6,
	SBX_KEEPER_FD_PARTS = 7,
};

#define SBX_KEEPER_FDS_PER_PART 3

#endif
