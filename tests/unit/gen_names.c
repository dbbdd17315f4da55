/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gen_names FILE: a recording of a program whose functions have the names that standard input
 * gives, each ended by a NUL.
 *
 * The first is the path of its one module.  The i-th function after it, counted from 1, allocates
 * 1000 + i bytes that are never freed; it is called by the first function, "main" if there is no
 * other, and its file has its name with ".c" behind it.  Two stacks that read the same and one
 * without a frame come last, of one byte each. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/xalloc.h"
#include "recording_writer.h"
#include "wire/varint.h"

#define START 1000000000000ull
#define ADDRESS 0x401000ull
#define NAMES_MAX 1000

enum { SYMBOLS_TEXT = 1, SYMBOLS_LOCATION = 2, SYMBOLS_MODULE = 3 };

static char *names[NAMES_MAX];
static size_t sizes[NAMES_MAX];
static uint32_t count;

static void read_names(void)
{
	size_t room = 0;
	ssize_t n;

	while (count < NAMES_MAX && (n = getdelim(&names[count], &room, 0, stdin)) > 0) {
		sizes[count++] = (size_t)n - 1;
		room = 0;
	}
}

static void number(struct buf *out, uint64_t value)
{
	uint8_t bytes[VARINT_MAX];

	buf_add(out, bytes, (size_t)(varint_put(bytes, value) - bytes));
}

static void text(struct buf *out, const char *bytes, size_t size, const char *more)
{
	number(out, SYMBOLS_TEXT);
	number(out, size + strlen(more));
	buf_add(out, bytes, size);
	buf_text(out, more);
}

/* Function i is at ADDRESS + 16 i, and texts 2 i - 1 and 2 i are its name and its file. */
static void write_symbols(struct writer *w)
{
	struct buf out = { 0 };

	for (uint32_t i = 1; i < count; i++) {
		text(&out, names[i], sizes[i], "");
		text(&out, names[i], sizes[i], ".c");
	}
	for (uint32_t i = 1; i < count; i++) {
		number(&out, SYMBOLS_LOCATION);
		number(&out, 1);
		number(&out, i == 1 ? 2 * (ADDRESS + 16 - 1) : 2 * 16); /* zigzag */
		number(&out, 1);
		number(&out, 2 * i - 1);
		number(&out, 2 * i - 1);
		number(&out, 2 * i);
		number(&out, 10 + i);
		number(&out, 0);
		number(&out, 0);
	}
	number(&out, SYMBOLS_MODULE);
	number(&out, 1);
	number(&out, 3);
	writer_chunk(w, CHUNK_SYMBOLS, out.data, out.size, 0);
	buf_release(&out);
}

static void write_events(struct writer *w)
{
	struct event events[NAMES_MAX + 4];
	uint32_t n = 0;
	uint64_t now = START + 1;

	events[n++] = make_thread(now++, 4242, "odd; #names");
	for (uint32_t i = 1; i < count; i++)
		events[n++] = make_event(OP_ALLOC, CALL_malloc, now += 1000000, 0x10000 + 4096 * i,
					 1000 + i, i);
	for (uint32_t stack = count; stack <= count + 1; stack++)
		events[n++] = make_event(OP_ALLOC, CALL_malloc, now += 1000000,
					 0x10000000 + 4096 * stack, 1, stack % (count + 1));
	writer_run(w, 0, events, n);
	writer_events(w, now);
	writer_clock(w, now + 1000, 5000000000 + (now - START), 1760000000000000000);
}

int main(int argc, char **argv)
{
	struct writer_node *nodes;
	struct writer w;
	int fd;

	read_names();
	if (argc != 2 || count < 2)
		return 2;
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	writer_init(&w, fd);
	writer_header(&w, FORMAT_VERSION);
	writer_info(&w, "pid", "4242", 4);
	writer_info(&w, "executable", names[0], sizes[0]);
	writer_info(&w, "cmdline", "odd\0a #b\nc\0", 11);
	writer_info(&w, "start_stamp", "1000000000000", 13);
	writer_info(&w, "start_monotonic_ns", "5000000000", 10);
	writer_info(&w, "start_realtime_ns", "1760000000000000000", 19);
	writer_clock(&w, START, 5000000000, 1760000000000000000);
	writer_module(&w, 1, 0, ADDRESS & ~0xfffull, ADDRESS + 0x10000, "\1\2\3\4", 4, names[0]);
	/* Node i is function i; the last reads as the one before, by an interrupted instruction. */
	nodes = xcalloc(count, sizeof(*nodes));
	for (uint32_t i = 1; i <= count; i++) {
		uint32_t function = i < count ? i : count - 1;

		nodes[i - 1] = (struct writer_node){
			.parent = i > 1,
			.address = ADDRESS + 16 * function - (i == count),
			.module = 1,
			.flags = i == count,
		};
	}
	writer_nodes(&w, 1, nodes, count);
	write_symbols(&w);
	write_events(&w);
	writer_thread(&w, 4242, "odd; #names");
	writer_end(&w, true);
	free(nodes);
	for (uint32_t i = 0; i < count; i++)
		free(names[i]);
	writer_release(&w);
	close(fd);
	return 0;
}
