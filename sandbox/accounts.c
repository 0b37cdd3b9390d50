/* SPDX-License-Identifier: MIT */
/* The synthetic /etc/passwd and /etc/group of a sandbox. */
#include "sandbox/plan.h"

int sbx_passwd_text(const struct sbx_identity *identity, const char *home, const char *shell,
		    char **ret_text)
{
	sbx_autostr struct sbx_str text = {0};

	sbx_str_add(&text, "root:x:0:0:root:/root:/usr/sbin/nologin\n");
	sbx_str_addf(&text, "%s:x:%u:%u:%s:%s:%s\n", identity->name, identity->uid, identity->gid,
		     identity->gecos, home, shell);
	sbx_str_add(&text, "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
	return sbx_str_take(&text, ret_text);
}

int sbx_group_text(const struct sbx_identity *identity, char **ret_text)
{
	sbx_autostr struct sbx_str text = {0};

	sbx_str_add(&text, "root:x:0:\n");
	/* sshd and login look this one up to give a terminal to its group. */
	sbx_str_add(&text, "tty:x:5:\n");
	for (size_t i = 0; i < identity->n_groups; i++) {
		const struct sbx_group *group = &identity->groups[i];

		/* Member lists matter: initgroups(3) inside must find the same groups as outside.
		 */
		if (group->gid != 0 && group->gid != 5)
			sbx_str_addf(&text, "%s:x:%u:%s\n", group->name, group->gid,
				     identity->name);
	}
	sbx_str_add(&text, "nogroup:x:65534:\n");
	return sbx_str_take(&text, ret_text);
}
