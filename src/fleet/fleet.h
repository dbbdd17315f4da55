/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A fleet: what many recordings of many hosts became in a ClickHouse server, which adds it up.
 *
 * This is the connection: an address, who asks, and single requests over HTTP.  Any thread may use
 * one; nothing in it changes after fleet_open(). */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf_type.h"
#include "base/err.h"
#include "base/secret.h"
#include "client/http.h"

#define FLEET_NAME_MAX 192

struct fleet {
	struct http_address address; /* of the server, without a path */
	char name[400];		     /* for messages: the address and the database */
	char database[FLEET_NAME_MAX];
	char user[FLEET_NAME_MAX];
	char password[SECRET_SIZE];
	unsigned timeout_ms;
};

/* Does a text begin like a fleet's address?  clickhouse://HOST[:PORT]/DATABASE; clickhouses:// with
 * TLS. */
bool fleet_is_address(const char *text);
/* 0, or -EINVAL with err: it is none, or it has a password in it.  Who asks is what the
 * configuration says (fleet/settings.h). */
int fleet_parse(struct fleet *f, const char *text, struct err *err);

/* One statement: 0, or -errno with err (-EPROTO: the server refuses, with its reason).  What it
 * answers is added to `out`, which may be NULL. */
int fleet_ask(const struct fleet *f, const char *sql, struct buf *out, struct err *err);
/* The same outside of the database, which need not exist. */
int fleet_ask_server(const struct fleet *f, const char *sql, struct buf *out, struct err *err);
/* Sends rows as RowBinary, packed where they leave this computer: all of them are there afterwards,
 * or none.  Two of the same id are never taken at the same time: -EBUSY. */
int fleet_send(const struct fleet *f, const char *insert, const struct buf *rows,
	       const char *query_id, struct err *err);
/* An answer that is one number. */
int fleet_ask_number(const struct fleet *f, const char *sql, uint64_t *ret, struct err *err);
