/* SPDX-License-Identifier: MIT */
#ifndef SBX_RELAY_H
#define SBX_RELAY_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * The process that was started as sbxsh cannot become the user's command, because only
 * its children are born in the sandbox's PID namespace. It stays as that one's parent and
 * has to be as good as not there: signals go through, stopping and continuing is mirrored,
 * the terminal's foreground is the command's, and the end is the command's end.
 *
 * With a terminal in the foreground the command normally stays in our process group, as in
 * the pipeline "sbxsh -- x | less", where taking the terminal would take it from less. But
 * a group whose leader is outside has the number 0 inside, and an interactive shell there
 * would try to take the terminal and be stopped for it. So an interactive shell, or a
 * command that has the terminal for itself (all three standard streams), gets a group of
 * its own and the foreground with it, as a shell does it with a job.
 */
struct sbx_relay {
	int tty_fd; /* -EBADF: no terminal, or it is not ours */
	pid_t own_group;
	bool hand_over; /* a group of its own and the foreground for the command */
	bool in_front;	/* the command has the foreground because we gave it */
};

/* Look at the terminal. Call it before the fork. */
void sbx_relay_prepare(struct sbx_relay *relay, bool interactive);

/* In the child, all signals blocked: take the place that was prepared for it. */
void sbx_relay_child(const struct sbx_relay *relay);

/* In the parent, all signals blocked: until the child has ended. Returns its wait status. */
int sbx_relay_wait(struct sbx_relay *relay, pid_t child);

/* End as the child did: by its exit status, or by the signal that ended it. */
_Noreturn void sbx_relay_end(int status);

#endif
