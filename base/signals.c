/* SPDX-License-Identifier: MIT */
#include "base/signals.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KERNEL_SIGNALS 64
#define KERNEL_SET_BYTES 8

void sbx_signals_reset(void)
{
	/* SIG_DFL, no flags, no restorer, an empty mask: all zero in the kernel's structure. */
	static const unsigned long default_action[8];
	sigset_t none;

	/*
	 * Not sigaction(3), which refuses the two signals that glibc keeps for its threads;
	 * a program may well be started with those ignored.
	 */
	for (int i = 1; i <= KERNEL_SIGNALS; i++)
		(void)syscall(SYS_rt_sigaction, i, default_action, NULL,
			      KERNEL_SET_BYTES); /* fails for KILL and STOP, rightly */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}
