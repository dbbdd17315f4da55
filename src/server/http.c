/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The callbacks of libmicrohttpd.  See http.h.
 *
 * A request is looked at in the callback, but never computed there: its connection is suspended
 * until a worker or a stream has something to send, and the callback comes again. */
#include "server/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/buf.h"
#include "base/order.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "peer/peer.h"
#include "server/agent_session.h"
#include "server/answer_cache.h"
#include "server/guard.h"
#include "server/http_send.h"
#include "server/links.h"
#include "server/runs.h"
#include "server/scripts.h"
#include "server/stream.h"
#include "server/upload.h"

/* Bytes of a request's head, and of what is being sent: far more than what is taken, so that it is
 * us who say that it is too much (the library has a page of its own for what does not fit). */
#define HEAD_MAX (128u << 10)
#define ADDRESS_MAX (32u << 10)
#define HEADERS_MAX (32u << 10)
#define SILENCE_S 30 /* that a connection may have */

/* One request with its answer. */
struct exchange {
	struct waiter waiter;
	struct server *server;
	struct MHD_Connection *connection;
	struct link *link;
	_Atomic bool asleep;
	char *address;
	bool begun, refused, slept;
	struct fault fault;
	struct request request;
	const struct asset *asset;
	struct upload *upload;
	struct cached_answer *cached;
	struct stream *stream;
	struct asked *asked;
	struct run *run;
	bool choosing; /* the run is for a filter of what is asked */
	char etag[40];
};

static void exchange_sleep(struct waiter *w)
{
	struct exchange *x = (struct exchange *)w;

	x->slept = true;
	x->asleep = true;
	link_sleeps(x->server->links, x->link, w);
	MHD_suspend_connection(x->connection);
}

static void exchange_wake(struct waiter *w)
{
	struct exchange *x = (struct exchange *)w;

	if (atomic_exchange(&x->asleep, false))
		MHD_resume_connection(x->connection);
}

/* The address as it came, before anything else of the request. */
static void *begin(void *server, const char *address, struct MHD_Connection *c)
{
	struct exchange *x = xcalloc(1, sizeof(*x));

	x->waiter = (struct waiter){ .sleep = exchange_sleep, .wake = exchange_wake };
	x->server = server;
	x->connection = c;
	x->address = xstrdup(address);
	return x;
}

static void completed(void *server, struct MHD_Connection *c, void **context,
		      enum MHD_RequestTerminationCode code)
{
	struct exchange *x = *context;

	if (!x)
		return;
	*context = NULL;
	if (x->link) {
		link_sleeps(x->server->links, x->link, NULL);
		link_busy(x->server->links, x->link, false);
	}
	if (x->cached)
		answer_cache_release(x->server->answer_cache, x->cached, &x->waiter);
	if (x->stream)
		stream_drop(x->stream);
	if (x->asked)
		asked_drop(x->asked);
	if (x->run)
		run_drop(x->run);
	upload_free(x->upload);
	request_release(&x->request);
	free(x->address);
	free(x);
}

static void connected(void *server, struct MHD_Connection *c, void **context,
		      enum MHD_ConnectionNotificationCode code)
{
	struct server *s = server;
	const union MHD_ConnectionInfo *info;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*context)
			link_free(s->links, *context);
		*context = NULL;
		return;
	}
	info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	*context = info ? link_new(s->links, info->connect_fd) : NULL;
}

static unsigned method_of(const char *text)
{
	static const struct {
		const char *name;
		unsigned method;
	} rows[] = { { "GET", METHOD_GET },
		     { "HEAD", METHOD_GET },
		     { "POST", METHOD_POST },
		     { "DELETE", METHOD_DELETE } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(rows[i].name, text))
			return rows[i].method;
	return 0;
}

static const struct asset *find_asset(const char *path)
{
	if (!strcmp(path, "/"))
		path = "/index.html";
	return FIND(it, assets, assets_count, !strcmp(it->path, path));
}

/* How much will be sent: 0 none, UINT64_MAX not said. */
static uint64_t body_size(struct MHD_Connection *c)
{
	const char *length = header_of(c, "Content-Length");

	if (header_of(c, "Transfer-Encoding"))
		return UINT64_MAX;
	return length ? strtoull(length, NULL, 10) : 0;
}

static void refuse(struct exchange *x, int status, const char *text)
{
	x->refused = true;
	x->fault = (struct fault){ .status = status, .position = -1, .progress = -1 };
	snprintf(x->fault.text, sizeof(x->fault.text), "%s", text);
}

/* Asked once for each connection, and only where it decides. */
static bool is_ours(void *exchange)
{
	struct link *k = ((struct exchange *)exchange)->link;

	if (!k->peer_known)
		k->peer_ours = peer_is_ours(k->fd);
	k->peer_known = true;
	return k->peer_ours;
}

static struct credentials credentials_of(struct exchange *x)
{
	struct MHD_Connection *c = x->connection;

	return (struct credentials){
		.host = header_of(c, "Host"),
		.origin = header_of(c, "Origin"),
		.site = header_of(c, "Sec-Fetch-Site"),
		.mode = header_of(c, "Sec-Fetch-Mode"),
		.authorization = header_of(c, "Authorization"),
		.cookie = header_of(c, "Cookie"),
		.is_ours = is_ours,
		.connection = x,
	};
}

static bool is_allowed(struct exchange *x)
{
	struct credentials who = credentials_of(x);

	x->refused = !guard_allows(x->server, &who, &x->fault);
	return !x->refused;
}

static bool may_change(struct exchange *x)
{
	struct credentials who = credentials_of(x);

	return guard_may_change(x->server, &who);
}

/* Who asks, for what is uploaded: the user, where it is one of this machine. */
static void name_visitor(struct exchange *x)
{
	struct visitor *v = &x->request.visitor;
	struct sockaddr_storage a;
	socklen_t size = sizeof(a);
	char host[NI_MAXHOST] = "nowhere";
	uid_t user;

	v->ours = is_ours(x);
	if (!peer_user(x->link->fd, &user)) {
		snprintf(v->name, sizeof(v->name), "user %u", (unsigned)user);
		return;
	}
	if (!getpeername(x->link->fd, (struct sockaddr *)&a, &size))
		getnameinfo((struct sockaddr *)&a, size, host, sizeof(host), NULL, 0,
			    NI_NUMERICHOST);
	snprintf(v->name, sizeof(v->name), "%.60s", host);
}

static bool is_short_enough(struct exchange *x)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	size_t address = strlen(x->address);

	if (address > ADDRESS_MAX)
		refuse(x, 414, "the address is too long: 32 KiB is the most");
	else if (info && info->header_size > address + HEADERS_MAX)
		refuse(x, 431, "the head of the request is too long: 32 KiB is the most");
	return !x->refused;
}

/* The head of a request is there: all of it that can be wrong is found here. */
static void look(struct exchange *x, const char *method)
{
	unsigned which = method_of(method);
	uint64_t body = body_size(x->connection);

	if (!is_short_enough(x) || !is_allowed(x))
		return;
	if (!request_init(&x->request, x->server, which, x->address)) {
		if (x->request.ask.fault.status != 400 && which == METHOD_GET &&
		    x->request.ask.params.path)
			x->asset = find_asset(x->request.ask.params.path);
		x->refused = !x->asset;
		x->fault = x->request.ask.fault;
	} else if (which == METHOD_GET) {
		x->asset = find_asset(x->request.ask.params.path);
	}
	if (x->refused)
		return;
	if (which != METHOD_GET)
		name_visitor(x);
	if (!x->asset && x->request.route->way == ROUTE_RUN) {
		if (!header_of(x->connection, "Content-Length") || body == UINT64_MAX)
			refuse(x, 411, "how long is it? Content-Length is missing");
		else if (body > RUN_BODY_MAX)
			refuse(x, 413, "a script has at most 256 KiB");
		return;
	}
	if (x->asset || x->request.route->way != ROUTE_UPLOAD) {
		if (body)
			refuse(x, 413, "no body is expected here");
		else if (which == METHOD_POST && !may_change(x))
			refuse(x, 403,
			       "another user may not change this one's programs: --open-to-all "
			       "lets "
			       "everyone read, and those who have the token change");
		return;
	}
	if (body == UINT64_MAX || !header_of(x->connection, "Content-Length")) {
		refuse(x, 411, "how long is it? Content-Length is missing");
		return;
	}
	x->upload = upload_new(&x->request, body);
	x->refused = !x->upload;
	x->fault = x->request.ask.fault;
}

/* ?token=… for the page: kept in a cookie, and out of the address. */
static const char *given_token(const struct exchange *x, struct params *params)
{
	if (!x->server->options.token || strncmp(x->address, "/?", 2) != 0 ||
	    params_decode(params, x->address, NULL))
		return NULL;
	for (size_t i = 0; i < params->count; i++)
		if (!strcmp(params->rows[i].name, "token"))
			return params->rows[i].value;
	return NULL;
}

static enum MHD_Result answer_upload(struct exchange *x)
{
	struct sent how = { .status = 201 };
	auto_buf struct buf body = { 0 };
	struct json j = { .out = &body, .compact = true };
	char id[ID_SIZE];

	if (upload_open(x->upload, &x->request, id))
		return send_fault(x->connection, x->server, &x->request.ask.fault);
	json_object(&j, NULL);
	json_text(&j, "id", id);
	json_text(&j, "name", ask_text(&x->request.ask, "name"));
	json_end_object(&j);
	return send_bytes(x->connection, &how, body.data, body.size, true);
}

static void make_etag(struct exchange *x, const void *bytes, size_t size)
{
	snprintf(x->etag, sizeof(x->etag), "\"%016llx\"",
		 (unsigned long long)XXH3_64bits_withSeed(bytes, size, x->server->nonce));
}

static enum MHD_Result answer_quick(struct exchange *x)
{
	struct request *r = &x->request;
	struct sent how = { .status = r->route->methods & METHOD_DELETE ? 204 : 200,
			    .type = r->route->type };
	auto_buf struct buf body = { 0 };
	struct sink sink;

	how.gzip = accepts_gzip(x->connection) && how.status == 200;
	sink_to_buf(&sink, &body, how.gzip ? SINK_GZIP : SINK_PLAIN);
	if (r->route->answer(r, &sink)) {
		sink_cancel(&sink);
		return send_fault(x->connection, x->server, &r->ask.fault);
	}
	sink_finish(&sink, NULL);
	if (how.status == 200) {
		make_etag(x, body.data, body.size);
		how.etag = x->etag;
		if (has_etag(x->connection, x->etag)) {
			how.status = 304;
			how.gzip = false;
			buf_clear(&body);
		}
	}
	return send_bytes(x->connection, &how, body.data, body.size, true);
}

static ssize_t read_stream(void *context, uint64_t position, char *to, size_t room)
{
	struct exchange *x = context;
	ssize_t n;

	link_sleeps(x->server->links, x->link, NULL);
	if (link_is_gone(x->server->links, x->link))
		return MHD_CONTENT_READER_END_WITH_ERROR;
	n = stream_read(x->stream, to, room, &x->waiter);
	if (n == STREAM_END)
		return MHD_CONTENT_READER_END_OF_STREAM;
	return n == STREAM_BROKEN ? MHD_CONTENT_READER_END_WITH_ERROR : n;
}

static ssize_t read_run(void *context, uint64_t position, char *to, size_t room)
{
	struct exchange *x = context;
	ssize_t n;

	link_sleeps(x->server->links, x->link, NULL);
	if (link_is_gone(x->server->links, x->link))
		return MHD_CONTENT_READER_END_WITH_ERROR;
	n = run_read(x->run, position, to, room, &x->waiter);
	if (n == RUN_END)
		return MHD_CONTENT_READER_END_OF_STREAM;
	return n == RUN_BROKEN ? MHD_CONTENT_READER_END_WITH_ERROR : n;
}

static enum MHD_Result send_run(struct exchange *x)
{
	struct sent how = { .status = 200, .gzip = run_is_gzip(x->run) };

	if (run_streams(x->run)) {
		how.type = "application/x-ndjson";
		return send_stream(x->connection, &how, read_run, x);
	}
	if (run_fault(x->run)->status)
		return send_fault(x->connection, x->server, run_fault(x->run));
	return send_bytes(x->connection, &how, run_body(x->run)->data, run_body(x->run)->size,
			  false);
}

static enum MHD_Result send_done(struct exchange *x)
{
	struct sent how = { .status = 200, .etag = x->etag };
	char timing[40];

	if (x->asked) {
		const struct buf *body = asked_body(x->asked);

		if (asked_fault(x->asked)->status)
			return send_fault(x->connection, x->server, asked_fault(x->asked));
		how.etag = NULL;
		return send_bytes(x->connection, &how, body->data, body->size, false);
	}
	if (x->run)
		return send_run(x);
	if (x->cached) {
		const struct cached_answer *a = x->cached;

		if (a->fault.status)
			return send_fault(x->connection, x->server, &a->fault);
		how.type = a->type;
		how.gzip = a->gzip;
		how.foreign = a->foreign;
		how.file_name = a->file_name;
		snprintf(timing, sizeof(timing), x->slept ? "made;dur=%.1f" : "kept", a->took_ms);
		how.timing = timing;
		return send_bytes(x->connection, &how, a->body.data, a->body.size, false);
	}
	if (stream_fault(x->stream))
		return send_fault(x->connection, x->server, stream_fault(x->stream));
	how.type = stream_request(x->stream)->type;
	if (!how.type)
		how.type = stream_request(x->stream)->route->type;
	how.gzip = stream_is_gzip(x->stream);
	how.foreign = stream_request(x->stream)->foreign;
	how.file_name = stream_request(x->stream)->file_name;
	return send_stream(x->connection, &how, read_stream, x);
}

/* RFC 9218: an urgency from 0 to 7; 3 is the usual one, and what is above can wait. */
static bool is_patient(struct MHD_Connection *c)
{
	const char *p = header_of(c, "Priority");

	return p && !strncmp(p, "u=", 2) && p[2] >= '4' && p[2] <= '7';
}

static enum MHD_Result answer_computed(struct exchange *x)
{
	struct request *r = &x->request;
	bool gzip = accepts_gzip(x->connection);
	auto_free char *key = request_key(r, gzip);

	make_etag(x, key, strlen(key));
	if (has_etag(x->connection, x->etag))
		return send_bytes(x->connection, &(struct sent){ .status = 304, .etag = x->etag },
				  "", 0, false);
	if (r->route->way == ROUTE_STREAM || (r->route->streams && r->route->streams(r))) {
		x->stream = stream_new(x->server->streams, r, gzip && !r->packed, &x->waiter);
		return MHD_YES;
	}
	x->cached = answer_cache_ask(x->server->answer_cache, key, r, gzip,
				     is_patient(x->connection), &x->waiter);
	if (!x->cached) {
		refuse(x, 503, "there is too much to do: try again");
		return send_fault(x->connection, x->server, &x->fault);
	}
	return x->slept ? MHD_YES : send_done(x);
}

static enum MHD_Result answer_asked(struct exchange *x)
{
	x->asked = agent_session_ask(&x->request, &x->waiter);
	if (x->asked)
		return MHD_YES;
	refuse(x, 503, "there is too much to ask this agent: try again");
	return send_fault(x->connection, x->server, &x->fault);
}

static enum MHD_Result answer_run(struct exchange *x)
{
	x->run = run_new(x->server->runs, RUN_SCRIPT, &x->request, accepts_gzip(x->connection),
			 &x->waiter);
	if (x->run)
		return MHD_YES;
	refuse(x, 503, "as many scripts run already as may at a time: try again");
	return send_fault(x->connection, x->server, &x->fault);
}

/* A filter is a script: what it chooses is known first. */
static enum MHD_Result answer_chosen(struct exchange *x)
{
	struct request r;

	name_visitor(x);
	scripts_choosing(&x->request, ask_script(&x->request.ask), &r);
	x->run = run_new(x->server->runs, RUN_CHOOSING, &r, false, &x->waiter);
	x->choosing = x->run != NULL;
	if (x->run)
		return MHD_YES;
	request_release(&r);
	refuse(x, 503, "as many filters' scripts run already as may at a time: try again");
	return send_fault(x->connection, x->server, &x->fault);
}

static enum MHD_Result answer_http(struct exchange *x)
{
	struct params params = { 0 };
	const char *token = given_token(x, &params);
	enum MHD_Result done;

	if (token && guard_is_token(x->server, token) &&
	    guard_is_our_host(x->server, header_of(x->connection, "Host"))) {
		done = send_token(x->connection, x->server, token);
		params_release(&params);
		return done;
	}
	params_release(&params);
	if (x->refused)
		return send_fault(x->connection, x->server, &x->fault);
	if (x->asset)
		return send_asset(x->connection, x->asset);
	if (x->upload)
		return answer_upload(x);
	if (!x->request.route->shows_scripts && ask_script(&x->request.ask))
		return answer_chosen(x);
	if (x->request.route->way == ROUTE_QUICK)
		return answer_quick(x);
	if (x->request.route->way == ROUTE_ASKED)
		return answer_asked(x);
	if (x->request.route->way == ROUTE_RUN)
		return answer_run(x);
	return answer_computed(x);
}

/* The script is at its end: as if its expression had been asked for. */
static enum MHD_Result chosen(struct exchange *x)
{
	const struct fault *f = run_fault(x->run);
	struct ask *a = &x->request.ask;
	auto_free char *expression = NULL;

	if (f->status)
		return send_fault(x->connection, x->server, f);
	expression = xmemdup0(run_body(x->run)->data, run_body(x->run)->size);
	run_drop(x->run);
	x->run = NULL;
	x->choosing = x->slept = false;
	if (ask_script_is(a, ask_script(a), expression))
		return send_fault(x->connection, x->server, &a->fault);
	return answer_http(x);
}

/* It slept, and was woken. */
static enum MHD_Result go_on(struct exchange *x)
{
	bool ready;

	link_sleeps(x->server->links, x->link, NULL);
	if (link_is_gone(x->server->links, x->link))
		return MHD_NO;
	if (x->asked)
		ready = asked_is_done(x->asked);
	else if (x->run)
		ready = run_is_ready(x->run);
	else
		ready = x->cached ? answer_cache_is_done(x->server->answer_cache, x->cached)
				  : stream_is_ready(x->stream);
	if (ready && x->choosing)
		return chosen(x);
	return ready ? send_done(x) : MHD_NO;
}

static enum MHD_Result handle(void *server, struct MHD_Connection *c, const char *path,
			      const char *method, const char *version, const char *data,
			      size_t *data_size, void **context)
{
	struct exchange *x = *context;
	const union MHD_ConnectionInfo *info;

	if (!x)
		return MHD_NO;
	if (!x->begun) {
		x->begun = true;
		info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
		x->link = info ? info->socket_context : NULL;
		if (!x->link)
			return MHD_NO;
		link_busy(x->server->links, x->link, true);
		look(x, method);
		/* With a body that nobody wants there is no second time. */
		return x->refused && body_size(c) ? answer_http(x) : MHD_YES;
	}
	if (*data_size) {
		if (x->upload && !x->request.ask.fault.status)
			upload_write(x->upload, &x->request, data, *data_size);
		else if (!x->upload && !x->refused)
			buf_add(&x->request.body, data, *data_size);
		*data_size = 0;
		return MHD_YES;
	}
	if (x->upload && x->request.ask.fault.status)
		return send_fault(c, x->server, &x->request.ask.fault);
	return x->cached || x->stream || x->asked || x->run ? go_on(x) : answer_http(x);
}

int http_start(struct server *s, int socket, struct err *err)
{
	s->daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, s->port, NULL, NULL,
		handle, s, MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)LINKS_MAX, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
		(unsigned)LINKS_MAX_ADDRESS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_MAX, MHD_OPTION_NOTIFY_COMPLETED,
		completed, s, MHD_OPTION_NOTIFY_CONNECTION, connected, s,
		MHD_OPTION_URI_LOG_CALLBACK, begin, s, MHD_OPTION_END);
	return s->daemon ? 0 : err_set(err, -EIO, "the HTTP server does not start");
}

void http_quiesce(struct server *s)
{
	MHD_socket fd = s->daemon ? MHD_quiesce_daemon(s->daemon) : MHD_INVALID_SOCKET;

	if (fd != MHD_INVALID_SOCKET)
		close(fd);
}

void http_stop(struct server *s)
{
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	s->daemon = NULL;
}
