/* SPDX-License-Identifier: MIT */
#ifndef SBX_ENROLMENT_H
#define SBX_ENROLMENT_H

#include "base/err.h"

enum sbx_enrolment {
	SBX_NOT_ENROLLED,
	SBX_ENROLLED_BY_GROUP,
	SBX_ENROLLED_BY_SHELL,
};

/*
 * Is this user to be sandboxed? True for members of the group and for those whose
 * passwd shell is sbxsh, wherever it is installed; never for uid 0. It depends on no
 * file of ours, so that no typo there can open the door.
 *
 * A look-up that fails (no memory, no descriptors, a name service out of reach) is an
 * error, not a "no": a user who is enrolled must not slip out through it. A user, or
 * a group, that does not exist is a "no".
 * group  name of the group of enrolled users
 */
int sbx_enrolment_lookup(const char *user, const char *group, enum sbx_enrolment *ret,
			 struct sbx_err *err);

#endif
