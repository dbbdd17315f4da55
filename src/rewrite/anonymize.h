/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What may be said about a program whose recording is given away.
 *
 * partial: no folders, no arguments, no host; names of functions, files and libraries stay.
 * full: no name of anything.  What is not known to be harmless is left out: a key, a counter or a
 * chunk that this version has never heard of. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strings.h"
#include "wire/event.h"

struct buf;

enum anonymity { ANONYMIZE_NONE, ANONYMIZE_PARTIAL, ANONYMIZE_FULL };

struct anonymizer {
	enum anonymity how;
	const char *executable; /* of the recording, or "" */
	struct strings libraries, files,
		functions; /* by number: what is called lib_N, src_N, fn_N */
};

void anonymizer_init(struct anonymizer *a, enum anonymity how, const char *executable);
void anonymizer_release(struct anonymizer *a);

/* Each adds what is to be said to `out`, which is emptied first; false: nothing at all. */
bool anonymize_info(struct anonymizer *a, const char *key, size_t key_size, const void *value,
		    size_t size, struct buf *out);
bool anonymize_counter(const struct anonymizer *a, const char *name, size_t size);
void anonymize_module(struct anonymizer *a, const char *path, size_t size, struct buf *out);
/* A region of memory that is no file's: "[heap]", "[anon:a name that the program gave]". */
void anonymize_region(const struct anonymizer *a, const char *name, size_t size, struct buf *out);
void anonymize_function(struct anonymizer *a, const char *name, struct buf *out);
void anonymize_file(struct anonymizer *a, const char *path, struct buf *out);
/* Takes names out of events that have some. */
void anonymize_events(const struct anonymizer *a, struct event *events, uint32_t count);
