/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A heap profile dump that is asked about again and again.
 *
 * Names are looked up once, when it is loaded; every profile of it takes them from there.  Nothing
 * changes afterwards, so any number of threads may ask. */
#include "base/json.h"
#include "heap/dump.h"
#include "heap/heap_locations.h"
#include "heap/profile.h"

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

/* Of a file's bytes, unpacked.  What a damaged one has is kept; NULL with err if that is nothing.
 */
struct loaded_dump *loaded_dump_new(const char *path, const void *bytes, size_t size,
				    struct err *err);
void loaded_dump_free(struct loaded_dump *d);
/* Names all addresses, with what lies beside the file too: 0, or -errno with err. */
int loaded_dump_resolve(struct loaded_dump *d, const struct heap_locations_options *where,
			struct err *err);
/* The program's path as the dump has it; "" if it does not say. */
const char *loaded_dump_program(const struct loaded_dump *d);
/* A finished profile of the dump, less that of `base` if it is not NULL: 0, or -errno with err.
 * To be released in either case. */
int loaded_dump_profile(const struct loaded_dump *d, const struct loaded_dump *base,
			const struct profile_options *options, struct profile *ret_profile,
			struct err *err);

/* Bytes or objects as they are told: cut, not rounded, as jeprof does. */
void loaded_dump_write_amount(struct json *j, const char *key, double value);
/* "program", "rate" and the like, all four amounts; and "threads", "modules". */
void loaded_dump_write_summary(struct json *j, const struct loaded_dump *d);
void loaded_dump_write_parts(struct json *j, const struct loaded_dump *d);
