/* SPDX-License-Identifier: MIT */
#ifndef SBX_GIT_CREDENTIALS_H
#define SBX_GIT_CREDENTIALS_H

#include "sandbox/environment.h"

/*
 * git and gh, authenticated by a token of the store. Everything goes by variables of
 * the session; nothing is written to the workspace, and no configuration holds the token.
 *
 * Names in the store:
 *   GH_TOKEN, GITHUB_TOKEN  the token; where both are set git uses GH_TOKEN, as gh does
 *   GITHUB_SERVER_URL       default https://github.com
 *   GITHUB_API_URL          default https://api.github.com; where sbxctl asks whose token it is
 *   SBX_GIT_NAME, SBX_GIT_EMAIL
 *                           who commits; sbxctl secret add puts down what the server says
 */

#define SBX_GITHUB_SERVER_URL "https://github.com"
#define SBX_GITHUB_API_URL "https://api.github.com"
#define SBX_GITHUB_SERVER_VARIABLE "GITHUB_SERVER_URL"
#define SBX_GITHUB_API_VARIABLE "GITHUB_API_URL"
#define SBX_GIT_NAME_VARIABLE "SBX_GIT_NAME"
#define SBX_GIT_EMAIL_VARIABLE "SBX_GIT_EMAIL"

/* The name of the variable whose token git uses, or NULL if the store has none. */
const char *sbx_git_token_variable(const struct sbx_environment *store);

/*
 * Add to a session's environment, which has the store's variables already, what makes
 * git use the token: GIT_CONFIG_COUNT, _KEY_n, _VALUE_n (behind those that the store
 * itself brings), and for another server than github.com what gh wants besides.
 * Nothing if there is no token.
 * Returns 0 or -ENOMEM.
 */
int sbx_git_credentials_add(char ***env, const struct sbx_environment *store);

/* The host of an http or https URL, port left out; NULL if it is none. The caller's. */
char *sbx_url_host(const char *url);

#endif
