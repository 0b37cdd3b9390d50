/* SPDX-License-Identifier: MIT */
#include "pam_module/preload.h"

#include "base/fd.h"
#include "base/str.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define NSSWITCH "/etc/nsswitch.conf"
#define NSSWITCH_MAX_BYTES ((size_t)64 << 10)

static int preload_service(const char *service, struct sbx_err *err)
{
	sbx_autostr struct sbx_str name = {0};

	if (!isalpha((unsigned char)service[0])) /* "[NOTFOUND=return]" and its parts */
		return 0;
	sbx_str_addf(&name, "libnss_%s.so.2", service);
	if (name.rc < 0)
		return sbx_fail(err, -name.rc, "preload NSS: %s", strerror(-name.rc));
	/* The handle is kept on purpose: the module must stay loaded as long as the process. */
	(void)dlopen(name.text, RTLD_NOW);
	return 0;
}

static int preload_line(char *line, struct sbx_err *err)
{
	char *services = strchr(line, ':');
	char *save = NULL;
	int rc = 0;

	line[strcspn(line, "#")] = '\0';
	if (services == NULL)
		return 0;
	for (char *word = strtok_r(services + 1, " \t\r", &save); rc == 0 && word != NULL;
	     word = strtok_r(NULL, " \t\r", &save))
		rc = preload_service(word, err);
	return rc;
}

int sbx_preload_nss(struct sbx_err *err)
{
	sbx_autofree char *text = NULL;
	char *save = NULL;
	int rc = sbx_file_read(AT_FDCWD, NSSWITCH, 0, NSSWITCH_MAX_BYTES, &text, NULL, NULL, err);

	if (rc == -ENOENT)
		return 0; /* the built-in defaults need no module */
	for (char *line = rc < 0 ? NULL : strtok_r(text, "\n", &save); rc == 0 && line != NULL;
	     line = strtok_r(NULL, "\n", &save))
		rc = preload_line(line, err);
	return rc;
}
