/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The HTTP server: recordings answered as docs/http-api.md says, and the page.
 *
 * Threads: one speaks HTTP (libmicrohttpd's) and never computes; workers answer what is cached
 * (answer_cache.h; two of them quietly, what can wait), each stream has a thread (stream.h), each
 * script (runs.h), each running agent that is asked about one (agent_session.h), one watches the
 * connections (links.h), several belong to the library.  Ends in the other order: nothing is
 * accepted any more, questions are dropped, their threads are waited for (server_stop(): not for
 * ever), then connections end, then what they used is freed. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/locations.h"
#include "server/gate.h"

struct server_options {
	const char *address;  /* "127.0.0.1" */
	uint16_t port;	      /* 0: any that is free */
	bool next_port;	      /* if it is taken, one of the next */
	const char *token;    /* NULL: none */
	const char *password; /* NULL: none */
	bool same_user;	      /* this user's own processes on this machine need neither */
	bool open_to_all;     /* nobody needs anything to read */
	const char *const *source_roots; /* absolute: files below them are shown as sources */
	size_t source_root_count;
	const char *const *allowed_hosts; /* other names that this machine has; NULL at the end */
	uint64_t upload_limit;		  /* bytes of one file; 0: uploads are refused */
	struct locations_options names;
};

struct server {
	struct server_options options;
	uint16_t port; /* that it listens at */
	char host_name[256];
	uint64_t nonce; /* of this run: answers of another one are not the same */
	struct library *library;
	struct agent_sessions *agent_sessions;
	struct gate gate;
	struct answer_cache *answer_cache;
	struct streams *streams;
	struct links *links;
	struct uploads *uploads;
	struct runs *runs;
	struct script_files *script_files;
	struct MHD_Daemon *daemon;
	bool loopback; /* it listens to this computer only */
};

#define SERVER_PORT 8080
#define SERVER_UPLOAD_LIMIT (4ull << 30)

/* Nobody is listened to yet; files are added to its library.  NULL with err. */
struct server *server_new(const struct server_options *o, struct err *err);
/* 0, or -errno with err. */
int server_start(struct server *s, struct err *err);
/* Nothing is answered any more, and its threads have ended: true.  False: after so long some still
 * worked on an answer or a file.  Then what was sent to it is removed from the disk, nothing may be
 * freed, and the process should end. */
bool server_stop(struct server *s, unsigned patience_ms);
/* Waits for whatever was not stopped. */
struct server *server_free(struct server *s);
/* Is it this computer's own address? */
bool server_is_loopback(const char *address);
