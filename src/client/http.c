/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Requests over HTTP.  See http.h. */
#include "client/http.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/xalloc.h"
#include "client/libcurl.h"

#define ANSWER_MAX (256u << 20)
#define HEAD_MAX 65536
#define CONNECT_MS 10000 /* a host that is not there does not say so */

/* Parts: 1 is the origin, 2 the host or the socket, 5 the target. */
#define PLAIN "[^#[:cntrl:][:space:]]"
#define HOST "(\\[[0-9a-f:.]+]|[^]:/?#@[[:cntrl:][:space:]]+)"
#define URL "^(https?://" HOST "(:[0-9]{1,5})?)(([/?]" PLAIN "*)?)$"
#define UNIX "^(unix:(/([^:#[:cntrl:][:space:]]|:[^/#[:cntrl:][:space:]])*))(:(/" PLAIN "*))?$"
#define LOCAL "^https?://((.*\\.)?localhost|127(\\.[0-9]+){3}|0\\.0\\.0\\.0|\\[::1?])(:[0-9]*)?$"
#define PARTS 6

static const char *ca_file;

void http_use_ca_file(const char *path)
{
	ca_file = path;
}

static bool match(const char *pattern, const char *text, regmatch_t parts[PARTS])
{
	regex_t compiled;
	bool matches = !regcomp(&compiled, pattern, REG_EXTENDED | REG_ICASE) &&
		       !regexec(&compiled, text, PARTS, parts, 0);

	regfree(&compiled);
	return matches;
}

/* A part that is not there is "". */
static bool copy_part(char *to, size_t room, const char *text, regmatch_t part)
{
	size_t size = part.rm_so < 0 ? 0 : (size_t)(part.rm_eo - part.rm_so);

	return (size_t)snprintf(to, room, "%.*s", (int)size, text + (size ? part.rm_so : 0)) < room;
}

bool http_is_address(const char *text)
{
	return !strncmp(text, "http://", 7) || !strncmp(text, "https://", 8) ||
	       !strncmp(text, "unix:", 5);
}

int http_parse_address(struct http_address *a, const char *text, struct err *err)
{
	bool is_unix = !strncmp(text, "unix:", 5);
	regmatch_t parts[PARTS];

	memset(a, 0, sizeof(*a));
	if (strlen(text) >= sizeof(a->target) || !http_is_address(text) ||
	    !match(is_unix ? UNIX : URL, text, parts) ||
	    !copy_part(a->origin, sizeof(a->origin), text, parts[1]) ||
	    (is_unix && !copy_part(a->socket, sizeof(a->socket), text, parts[2])) ||
	    !copy_part(a->target, sizeof(a->target), text, parts[5]))
		return err_set(err, -EINVAL,
			       "'%.100s' is not an address: http://HOST:PORT, https://HOST:PORT or "
			       "unix:/SOCKET",
			       text);
	if (*a->target == '?') {
		memmove(a->target + 1, a->target, strlen(a->target) + 1);
		a->target[0] = '/';
	}
	a->local = is_unix || match(LOCAL, a->origin, parts);
	return 0;
}

void http_escape(struct buf *out, const char *value)
{
	for (; *value; value++) {
		if ((*value >= '0' && *value <= '9') ||
		    ((*value | 32) >= 'a' && (*value | 32) <= 'z') || strchr("-._/", *value))
			buf_char(out, *value);
		else
			buf_printf(out, "%%%02X", (unsigned char)*value);
	}
}

void http_add_param(struct buf *target, const char *name, const char *value)
{
	bool first = !target->size || !memchr(target->data, '?', target->size);

	buf_printf(target, "%c%s=", first ? '?' : '&', name);
	http_escape(target, value);
}

static size_t take_body(char *bytes, size_t one, size_t size, void *context)
{
	struct buf *body = context;

	if (body->size + size > ANSWER_MAX)
		return 0;
	buf_add(body, bytes, size);
	return size;
}

static size_t count_head(char *bytes, size_t one, size_t size, void *context)
{
	size_t *sum = context;

	*sum += size;
	return *sum > HEAD_MAX ? 0 : size;
}

static struct curl_slist *make_headers(const struct libcurl *curl, const struct http_call *c)
{
	/* A name without a value: curl leaves its own out. */
	auto_free char *type = xasprintf("Content-Type:%s%s", c->type ? " " : "", c->type ?: "");
	struct curl_slist *list = curl->curl_slist_append(NULL, "Connection: close");

	curl->curl_slist_append(list, "Expect:");
	curl->curl_slist_append(list, type);
	for (const char *const *more = c->headers; more && *more; more++)
		curl->curl_slist_append(list, *more);
	if (c->token && *c->token) {
		auto_free char *token = xasprintf("Authorization: Bearer %s", c->token);

		curl->curl_slist_append(list, token);
	}
	return list;
}

/* As the program curl chooses them. */
static void choose_certificates(const struct libcurl *curl, CURL *request)
{
	const char *bundle = ca_file ?: getenv("CURL_CA_BUNDLE");
	const char *folder = bundle ? NULL : getenv("SSL_CERT_DIR");

	if (!bundle)
		bundle = getenv("SSL_CERT_FILE");
	if (bundle && *bundle)
		curl->curl_easy_setopt(request, CURLOPT_CAINFO, bundle);
	if (folder && *folder)
		curl->curl_easy_setopt(request, CURLOPT_CAPATH, folder);
}

/* CURLE_ABORTED_BY_CALLBACK: `stop_fd` can be read. */
static CURLcode perform(const struct libcurl *curl, CURL *request, int stop_fd)
{
	struct curl_waitfd stop = { .fd = stop_fd, .events = CURL_WAIT_POLLIN };
	CURLM *multi = curl->curl_multi_init();
	CURLcode code = CURLE_ABORTED_BY_CALLBACK;
	const CURLMsg *message;
	int running = 1, left;

	curl->curl_multi_add_handle(multi, request);
	while (running && !stop.revents && !curl->curl_multi_perform(multi, &running))
		if (running)
			curl->curl_multi_poll(multi, &stop, stop_fd > 0, 1000, NULL);
	message = curl->curl_multi_info_read(multi, &left);
	if (message)
		code = message->data.result;
	curl->curl_multi_remove_handle(multi, request);
	curl->curl_multi_cleanup(multi);
	return code;
}

/* `text` is what curl says, which is "" at times. */
static int explain(const struct libcurl *curl, CURL *request, CURLcode code, const char *text,
		   const struct http_address *a, struct err *err)
{
	static const struct {
		CURLcode code;
		int error;
		const char *text;
	} known[] = {
		{ CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT, "no answer in time" },
		{ CURLE_ABORTED_BY_CALLBACK, -ECANCELED, "the request was cancelled" },
		{ CURLE_FILESIZE_EXCEEDED, -EFBIG, "the answer is too large" },
		{ CURLE_WRITE_ERROR, -EFBIG, "the answer is too large" },
		{ CURLE_PARTIAL_FILE, -EBADMSG, "the answer is cut off" },
		{ CURLE_GOT_NOTHING, -EBADMSG, "the connection was closed without an answer" },
		{ CURLE_UNSUPPORTED_PROTOCOL, -EBADMSG, "the answer is not HTTP" },
		{ CURLE_WEIRD_SERVER_REPLY, -EBADMSG, "the answer is not HTTP" },
	};
	long error = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].code == code)
			return err_set(err, known[i].error, "%s", known[i].text);
	curl->curl_easy_getinfo(request, CURLINFO_OS_ERRNO, &error);
	/* Callers say where; but it may be a proxy that is not there. */
	if (code == CURLE_COULDNT_CONNECT && error)
		return err_set(err, (int)-error, a->local ? "%s" : "%s (%.150s)",
			       strerror((int)error), text);
	return err_set(err, -EIO, "%.200s", *text ? text : curl->curl_easy_strerror(code));
}

int http_call(struct http_call *c, struct err *err)
{
	const struct http_address *a = c->address;
	const struct libcurl *curl = libcurl_load(err);
	auto_free char *url = xasprintf("%s%s", *a->socket ? "http://localhost" : a->origin,
					*a->target ? a->target : "/");
	char text[CURL_ERROR_SIZE] = "";
	struct curl_slist *headers;
	size_t head = 0;
	long status = 0;
	CURLcode code;
	CURL *request;
	int e;

	if (!curl)
		return -ENOENT;
	buf_clear(c->body);
	headers = make_headers(curl, c);
	request = curl->curl_easy_init();
#define SET(option, value) curl->curl_easy_setopt(request, CURLOPT_##option, value)
	SET(URL, url);
	SET(PROTOCOLS_STR, "http,https");
	SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(PATH_AS_IS, 1L);
	SET(USERAGENT, "memoir/" MEMOIR_VERSION);
	SET(HTTPHEADER, headers);
	if (*a->socket)
		SET(UNIX_SOCKET_PATH, a->socket);
	if (a->local || c->direct)
		SET(PROXY, "");
	choose_certificates(curl, request);
	if (!strcmp(c->method, "POST")) {
		SET(POSTFIELDSIZE_LARGE, (curl_off_t)(c->content ? c->content->size : 0));
		SET(POSTFIELDS, c->content && c->content->size ? c->content->data : "");
	}
	SET(MAXFILESIZE_LARGE, (curl_off_t)ANSWER_MAX);
	SET(TIMEOUT_MS, (long)c->timeout_ms);
	SET(CONNECTTIMEOUT_MS, c->timeout_ms < CONNECT_MS ? (long)c->timeout_ms : CONNECT_MS);
	SET(NOSIGNAL, 1L);
	SET(ERRORBUFFER, text);
	SET(HEADERFUNCTION, count_head);
	SET(HEADERDATA, &head);
	SET(WRITEFUNCTION, take_body);
	SET(WRITEDATA, c->body);
#undef SET
	code = perform(curl, request, c->stop_fd);
	curl->curl_easy_getinfo(request, CURLINFO_RESPONSE_CODE, &status);
	c->status = (unsigned)status;
	/* Who does not want all that is sent answers early and closes: that answer says why. */
	if (code == CURLE_SEND_ERROR && status >= 300)
		code = CURLE_OK;
	e = code ? explain(curl, request, code, text, a, err) : 0;
	curl->curl_easy_cleanup(request);
	curl->curl_slist_free_all(headers);
	return e;
}

int http_ask(struct http_call *c, struct err *err)
{
	const struct buf *body = c->body;
	int n = 0, e = http_call(c, err);

	if (e || c->status / 100 == 2)
		return e;
	while ((size_t)n < body->size && n < 159 && body->data[n] >= ' ' && body->data[n] < 127)
		n++;
	return err_set(err, -EPROTO, "the answer is %u%s%.*s", c->status, n ? ": " : "", n,
		       n ? body->data : "");
}
