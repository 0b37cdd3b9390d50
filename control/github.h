/* SPDX-License-Identifier: MIT */
#ifndef SBX_GITHUB_H
#define SBX_GITHUB_H

#include "base/err.h"

#include <stddef.h>

/* Whose token it is, as commits name him. */
struct sbx_github_account {
	char *login;
	char *name;  /* the login where the account has no name */
	char *email; /* ID+LOGIN@users.noreply.HOST */
};

/*
 * Ask the server: GET API_URL/user. Takes at most some ten seconds.
 * api_url     https; plain http only to this machine itself, as the token goes along
 * host        of the noreply address, such as github.com
 * token       one line
 * ret         caller empties with sbx_github_account_done()
 * Returns 0 or -errno; the message never has the token:
 *   -EINVAL the URL or the token cannot be used, -EACCES the server does not accept the
 *   token, -ENOSYS libcurl is not installed, another for no or no proper answer.
 */
int sbx_github_account_lookup(const char *api_url, const char *host, const char *token,
			      struct sbx_github_account *ret, struct sbx_err *err);
void sbx_github_account_done(struct sbx_github_account *account);

/* Pure: read the answer of GET /user. */
int sbx_github_account_parse(const char *json, size_t length, const char *host,
			     struct sbx_github_account *ret, struct sbx_err *err);

/*
 * The URL of the web server, for git, from that of its API:
 *   https://HOST/api/v3 (GitHub Enterprise) -> https://HOST, https://api.HOST -> https://HOST
 * NULL for any other. The caller's.
 */
char *sbx_github_server_url(const char *api_url);

#endif
