/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The program's jemalloc: where its functions are, and calls of them. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/text.h"
#include "target/attributes.h"

struct jemalloc {
	int (*mallctl)(const char *, void *, size_t *, void *, size_t); /* NULL: there is none */
	/* By numbers instead of names. */
	int (*name_to_mib)(const char *, size_t *, size_t *);
	int (*by_mib)(const size_t *, size_t, void *, size_t *, void *, size_t);
	void (*stats_print)(void (*)(void *, const char *), void *, const char *);
	char prefix[16];     /* "", je_ or _rjem_ */
	char file[256];	     /* that it is in; "" for the program itself */
	uint64_t start, end; /* that file's code */
	char version[64];
	unsigned release; /* 50300 for 5.3.0 */
	/* Of versions before 4.0 only: see jemalloc_be_known(). */
	void *(*malloc)(size_t);
	void (*free)(void *);
	bool known; /* the agent's thread has called them */
	bool prof;  /* profiling was enabled at the start */
};

extern struct jemalloc jemalloc HIDDEN;

/* Looks for it, unless it was found or nothing was loaded since the last look.  True: it is there.
 */
bool jemalloc_find(void);
void jemalloc_reset(void); /* in a forked child */
/* The value of a name, which must be as wide as *ret: 0 or an errno. */
#define jemalloc_get(name, ret) jemalloc_read(name, ret, sizeof(*(ret)))
int jemalloc_read(const char *name, void *ret, size_t size);
/* A number that is asked for often: its name is looked up once. */
struct jemalloc_number {
	char name[64];
	size_t size; /* 1, 4 or 8; 0: this jemalloc has none */
	size_t mib[8], depth;
};
void jemalloc_number_find(struct jemalloc_number *n, const char *name, size_t size);
/* The number in which `index` stands for the part of the name at this place, if that is not 0.  0
 * or an errno. */
int jemalloc_number_read(struct jemalloc_number *n, unsigned place, size_t index, uint64_t *ret);
/* The number that means all arenas in a name: before 5.0 the one behind the last. */
unsigned jemalloc_all_arenas(void);
/* Has this one been made? */
bool jemalloc_has_arena(unsigned arena);
/* Before 4.0 a thread that never allocated cannot dump ("Bad address"): this one does so once. */
void jemalloc_be_known(void);
/* Writing; NULL and 0 for what has no value. */
int jemalloc_set(const char *name, const void *value, size_t size);
/* What malloc_stats_print() says. */
void jemalloc_print(struct text *out, const char *letters);
