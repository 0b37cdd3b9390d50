/* SPDX-License-Identifier: MIT */
#ifndef SBX_REFUSAL_H
#define SBX_REFUSAL_H

#include "base/err.h"

/*
 * A sandbox could not be made. If that looks like the machine not letting users make user
 * namespaces, put in front which of its settings it is and what mends it; the message
 * stays one line. Unchanged otherwise.
 */
void sbx_refusal_explain(struct sbx_err *err);

#endif
