/* SPDX-License-Identifier: MIT */
#include "control/github.h"

#include "base/str.h"
#include "config/git_credentials.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#define ANSWER_MAX_BYTES ((size_t)256 << 10)
#define CONNECT_TIMEOUT_S 5L
#define TIMEOUT_S 10L
#define API_SUFFIX "/api/v3"
#define API_PREFIX "https://api."

/* ------------------------------------------------------------------ libcurl */

/*
 * Loaded when it is needed: linked in the usual way, it and its thirty libraries made each
 * start of sbxctl 25 ms longer, for one verb that is used once in a while.
 */
struct curl_functions {
	void *library;
	CURLcode (*global_init)(long);
	CURL *(*init)(void);
	CURLcode (*setopt)(CURL *, CURLoption, ...);
	CURLcode (*perform)(CURL *);
	CURLcode (*getinfo)(CURL *, CURLINFO, ...);
	const char *(*strerror)(CURLcode);
	void (*cleanup)(CURL *);
};

static int load(struct curl_functions *curl, struct sbx_err *err)
{
	static const char *const libraries[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
	const struct {
		const char *name;
		void *place;
	} functions[] = {
	    {"curl_global_init", &curl->global_init}, {"curl_easy_init", &curl->init},
	    {"curl_easy_setopt", &curl->setopt},      {"curl_easy_perform", &curl->perform},
	    {"curl_easy_getinfo", &curl->getinfo},    {"curl_easy_strerror", &curl->strerror},
	    {"curl_easy_cleanup", &curl->cleanup},
	};

	for (size_t i = 0; curl->library == NULL && i < sizeof(libraries) / sizeof(libraries[0]);
	     i++)
		curl->library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
	if (curl->library == NULL)
		return sbx_fail(err, ENOSYS, "libcurl is not installed");
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *function = dlsym(curl->library, functions[i].name);

		if (function == NULL)
			return sbx_fail(err, ENOSYS, "libcurl has no %s()", functions[i].name);
		memcpy(functions[i].place, &function, sizeof(function));
	}
	return 0;
}

struct request {
	struct curl_functions curl;
	CURL *handle;
	char curl_err[CURL_ERROR_SIZE];
	struct sbx_str answer;
};

/* The library stays loaded: unloading one with exit handlers and threads of its own ends badly. */
static void request_done(struct request *request)
{
	if (request->handle != NULL)
		request->curl.cleanup(request->handle);
	sbx_str_done(&request->answer);
}

static size_t on_data(char *bytes, size_t size, size_t n, void *data)
{
	struct sbx_str *answer = data;

	if (answer->length + size * n > ANSWER_MAX_BYTES)
		return 0;
	sbx_str_addn(answer, bytes, size * n);
	return answer->rc < 0 ? 0 : size * n;
}

static bool is_this_machine(const char *host)
{
	return strcmp(host, "localhost") == 0 || strcmp(host, "127.0.0.1") == 0 ||
	       strcmp(host, "[::1]") == 0;
}

static int check_url(const char *url, struct sbx_err *err)
{
	sbx_autofree char *host = sbx_url_host(url);

	if (host == NULL)
		return sbx_fail(err, EINVAL, "'%s' is not the URL of a server", url);
	if (strncmp(url, "https:", 6) != 0 && !is_this_machine(host))
		return sbx_fail(err, EINVAL, "'%s' is not https, and would show the token", url);
	return 0;
}

static int prepare(struct request *request, const char *url, const char *token, struct sbx_err *err)
{
	struct curl_functions *curl = &request->curl;
	int rc = load(curl, err);
	CURLcode code;

	if (rc < 0)
		return rc;
	if (curl->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
	    (request->handle = curl->init()) == NULL)
		return sbx_fail(err, EIO, "libcurl could not be started");
	code = curl->setopt(request->handle, CURLOPT_URL, url);
#define SET(option, value)                                                                         \
	if (code == CURLE_OK)                                                                      \
	code = curl->setopt(request->handle, option, value)
	/* By the library, so that it goes nowhere else, whatever the answer says. */
	SET(CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
	SET(CURLOPT_XOAUTH2_BEARER, token);
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT_S);
	SET(CURLOPT_TIMEOUT, TIMEOUT_S);
	SET(CURLOPT_USERAGENT, "sbxctl");
	SET(CURLOPT_ERRORBUFFER, request->curl_err);
	SET(CURLOPT_WRITEFUNCTION, on_data);
	SET(CURLOPT_WRITEDATA, &request->answer);
#undef SET
	return code == CURLE_OK ? 0 : sbx_fail(err, EIO, "libcurl: %s", curl->strerror(code));
}

static int get(struct request *request, const char *url, struct sbx_err *err)
{
	CURLcode code = request->curl.perform(request->handle);
	long status = 0;

	if (code != CURLE_OK)
		return sbx_fail(err, EIO, "%s: %s", url,
				request->curl_err[0] != '\0' ? request->curl_err
							     : request->curl.strerror(code));
	if (request->curl.getinfo(request->handle, CURLINFO_RESPONSE_CODE, &status) != CURLE_OK)
		return sbx_fail(err, EIO, "%s: no status", url);
	if (status == 401 || status == 403)
		return sbx_fail(err, EACCES, "%s does not accept the token (status %ld)", url,
				status);
	if (status != 200)
		return sbx_fail(err, EIO, "%s answers with status %ld", url, status);
	return 0;
}

/* ------------------------------------------------------------------ the answer */

/* Fit for a commit's author and for a line of the store? */
static bool is_name(const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
		if (*p < 0x20 || *p == 0x7f || *p == '<' || *p == '>')
			return false;
	}
	return text[0] != '\0' && strlen(text) <= 256;
}

/* Letters, digits and hyphens; "name[bot]" and "name_company" exist, too. */
static bool is_login(const char *text)
{
	static const char allowed[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_[]";

	return text[0] != '\0' && strlen(text) <= 128 && text[strspn(text, allowed)] == '\0';
}

int sbx_github_account_parse(const char *json, size_t length, const char *host,
			     struct sbx_github_account *ret, struct sbx_err *err)
{
	json_auto_t *root = json_loadb(json, length, JSON_REJECT_DUPLICATES, NULL);
	const char *login = json_string_value(json_object_get(root, "login"));
	const char *name = json_string_value(json_object_get(root, "name"));
	json_int_t id = json_integer_value(json_object_get(root, "id"));
	struct sbx_github_account account = {0};
	sbx_autostr struct sbx_str email = {0};

	if (login == NULL || id <= 0 || !is_login(login))
		return sbx_fail(err, EBADMSG, "the answer names no account");
	if (name == NULL || !is_name(name))
		name = login;
	sbx_str_addf(&email, "%lld+%s@users.noreply.%s", (long long)id, login, host);
	account.login = strdup(login);
	account.name = strdup(name);
	if (account.login == NULL || account.name == NULL ||
	    sbx_str_take(&email, &account.email) < 0) {
		sbx_github_account_done(&account);
		return sbx_fail(err, ENOMEM, "%s", strerror(ENOMEM));
	}
	*ret = account;
	return 0;
}

void sbx_github_account_done(struct sbx_github_account *account)
{
	free(account->login);
	free(account->name);
	free(account->email);
	*account = (struct sbx_github_account){0};
}

int sbx_github_account_lookup(const char *api_url, const char *host, const char *token,
			      struct sbx_github_account *ret, struct sbx_err *err)
{
	__attribute__((cleanup(request_done))) struct request request = {0};
	sbx_autostr struct sbx_str url = {0};
	int rc = check_url(api_url, err);

	if (rc < 0)
		return rc;
	for (const char *p = token; *p != '\0'; p++) {
		if (*p <= ' ' || *p > '~')
			return sbx_fail(err, EINVAL, "this is no token: it has other characters");
	}
	sbx_str_addf(&url, "%s/user", api_url);
	if (url.rc < 0)
		return sbx_fail(err, -url.rc, "%s", strerror(-url.rc));
	rc = prepare(&request, url.text, token, err);
	if (rc == 0)
		rc = get(&request, url.text, err);
	if (rc == 0)
		rc =
		    sbx_github_account_parse(request.answer.text == NULL ? "" : request.answer.text,
					     request.answer.length, host, ret, err);
	return rc;
}

char *sbx_github_server_url(const char *api_url)
{
	size_t length = strlen(api_url);
	size_t suffix = strlen(API_SUFFIX);
	sbx_autostr struct sbx_str url = {0};
	char *text = NULL;

	if (strncmp(api_url, API_PREFIX, strlen(API_PREFIX)) == 0)
		sbx_str_addf(&url, "https://%s", api_url + strlen(API_PREFIX));
	else if (length > suffix && strcmp(api_url + length - suffix, API_SUFFIX) == 0)
		sbx_str_addn(&url, api_url, length - suffix);
	if (url.length == 0 || sbx_str_take(&url, &text) < 0)
		return NULL;
	return text;
}
