/* SPDX-License-Identifier: MIT */
#ifndef SBX_SIGNALS_H
#define SBX_SIGNALS_H

/*
 * Give every signal its default action and block none, whatever the caller was started
 * with. For a process of our own between fork and exec.
 */
void sbx_signals_reset(void);

#endif
