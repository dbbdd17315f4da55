/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Where CPython keeps what a stack is made of, by version: offsets in its structs, on machines with
 * pointers of 64 bits and in builds with a global lock.
 *
 * 3.11 has a struct on the C stack for each run of the interpreter's loop (_PyCFrame), and marks
 * the outermost Python frame of each.  From 3.12 on a Python frame on the C stack ends each run.
 * A row is added after tests/e2e/test_python.py has passed with an interpreter of that version. */
#include <stdint.h>

#define PYTHON_NONE 0xffffu

struct python_layout {
	uint32_t version; /* major << 8 | minor */
	/* PyThreadState */
	uint16_t native_thread_id, interp;
	uint16_t cframe, root_cframe, current_frame; /* the first two, or the last */
	/* _PyCFrame */
	uint16_t cframe_current, cframe_previous;
	/* _PyInterpreterFrame */
	uint16_t code, previous, instruction, is_entry, owner;
	/* PyCodeObject */
	uint16_t first_line, file, name, line_table, instructions;
	/* strings: where the characters are */
	uint16_t ascii, compact;
};

#define PYTHON_OWNED_BY_C 3 /* a frame's owner, from 3.12 on */

static const struct python_layout python_layouts[] = {
	{ .version = 0x30b,
	  .native_thread_id = 160,
	  .interp = 16,
	  .cframe = 56,
	  .root_cframe = 336,
	  .current_frame = PYTHON_NONE,
	  .cframe_current = 8,
	  .cframe_previous = 16,
	  .code = 32,
	  .previous = 48,
	  .instruction = 56,
	  .is_entry = 68,
	  .owner = 69,
	  .first_line = 72,
	  .file = 112,
	  .name = 128,
	  .line_table = 136,
	  .instructions = 184,
	  .ascii = 48,
	  .compact = 72 },
	{ .version = 0x30c,
	  .native_thread_id = 144,
	  .interp = 16,
	  .cframe = 56,
	  .root_cframe = 272,
	  .current_frame = PYTHON_NONE,
	  .cframe_current = 0,
	  .cframe_previous = 8,
	  .code = 0,
	  .previous = 8,
	  .instruction = 56,
	  .is_entry = PYTHON_NONE,
	  .owner = 70,
	  .first_line = 68,
	  .file = 112,
	  .name = 128,
	  .line_table = 136,
	  .instructions = 192,
	  .ascii = 40,
	  .compact = 56 },
	{ .version = 0x30d,
	  .native_thread_id = 160,
	  .interp = 16,
	  .cframe = PYTHON_NONE,
	  .root_cframe = PYTHON_NONE,
	  .current_frame = 72,
	  .code = 0,
	  .previous = 8,
	  .instruction = 56,
	  .is_entry = PYTHON_NONE,
	  .owner = 70,
	  .first_line = 68,
	  .file = 112,
	  .name = 128,
	  .line_table = 136,
	  .instructions = 200,
	  .ascii = 40,
	  .compact = 56 },
};
