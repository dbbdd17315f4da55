/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Heap profile dumps: a kind of file (kind.c), and what is known of a loaded one.
 *
 * Names are looked up once, when the file is loaded; every question takes them from there
 * (answer/dump_question.h).  Nothing changes afterwards, so any number of threads may ask. */
#include "base/json.h"
#include "heap/loaded_dump.h"
#include "server/kind.h"

struct buf;

bool dumps_is(const struct kind_file *f, char ret_id[ID_SIZE]);
int dumps_load(struct snapshot *s, const struct loading *l, struct err *err);
/* "heap": {…} of /list. */
void dumps_list(struct json *j, const struct snapshot *s);

struct request;
/* The bytes of a request's dump, unpacked: 0, or -EINVAL after ask_fail().  Released in either
 * case. */
int dumps_bytes(struct request *r, struct buf *b);
