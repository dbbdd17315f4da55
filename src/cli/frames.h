/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A recording's stacks as a reader wants to see them: model and symbols brought together.
 *
 * The first frame is the call that was intercepted (malloc), then come the frames outwards, inlined
 * ones as frames of their own. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"
#include "symbols/symbols.h"

struct frame {
	const char *function; /* NULL: not known */
	const char *file;     /* NULL: not known */
	uint32_t line;
	const char *module; /* path; NULL: in none */
	uint64_t address;   /* as the ELF file counts; of the call itself 0 */
	bool inlined;
	const char *note; /* "cut here", or NULL */
};

struct frames {
	const struct model *model;
	struct symbols *symbols;
	struct symbols_module *modules;
	char **calls;	    /* names by enum event_call */
	struct frame *rows; /* of the stack that was asked for last */
	size_t count, room;
};

void frames_init(struct frames *f, const struct model *m);
void frames_release(struct frames *f);
/* Fills rows and count. */
void frames_of_stack(struct frames *f, uint32_t stack, unsigned call);
/* The name of an intercepted call. */
const char *frames_call(const struct frames *f, unsigned call);
enum symbols_level frames_level(const struct frames *f, size_t module);
