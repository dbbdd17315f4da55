/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Heap profile dumps: a kind of file (kind.c), and what is known of a loaded one.
 *
 * Names are looked up once, when the file is loaded; every question takes them from there
 * (dump_question.h).  Nothing changes afterwards, so any number of threads may ask. */
#include "base/buf.h"
#include "base/json.h"
#include "heap/dump.h"
#include "heap/heap_locations.h"
#include "server/kind.h"

struct loaded_thread {
	uint64_t uid;
	const char *name; /* NULL: it has none */
	struct dump_amounts amounts;
};

struct loaded_dump {
	struct dump dump;
	struct heap_locations locations; /* resolved */
	struct dump_amounts total;
	struct loaded_thread *threads; /* as the dump has them */
	size_t thread_count;
	char *path; /* of the file */
	bool damaged;
	struct err damage; /* where reading ended */
};

bool dumps_is(const struct kind_file *f, char ret_id[ID_SIZE]);
int dumps_load(struct snapshot *s, const struct loading *l, struct err *err);
/* "heap": {…} of /list. */
void dumps_list(struct json *j, const struct snapshot *s);

/* The program's path as the dump has it; "" if it does not say. */
const char *dumps_program(const struct loaded_dump *d);
struct request;
/* The bytes of a request's dump, unpacked: 0, or -EINVAL after request_fail().  Released in either
 * case. */
int dumps_bytes(struct request *r, struct buf *b);
/* Bytes or objects as they are told: cut, not rounded, as jeprof does. */
void dumps_amount(struct json *j, const char *key, double value);
