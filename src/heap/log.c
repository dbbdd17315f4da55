/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The two notations of single blocks.  See log.h.
 *
 *	{"info":{…},"threads":[{"thr_uid","thr_name"}…],"stack_traces":[["0x…"…]…],
 *	 "allocations":[{"alloc_thread","free_thread","alloc_trace","free_trace",
 *	                 "alloc_timestamp","free_timestamp","usize"}…]}
 *	{"sample_interval","recent_alloc_max","recent_alloc":[{"size","usize","released",
 *	 "alloc_thread_uid","alloc_thread_name","alloc_time","alloc_trace":["0x…"…],
 *	 "dalloc_thread_uid","dalloc_thread_name","dalloc_time","dalloc_trace":[…]}…]}
 *
 * In the first, threads and traces are named by their position, and come before the blocks.  Either
 * may have "mapped_libraries", an array of lines.  Any thread. */
#include "heap/log.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/json_read.h"
#include "base/xalloc.h"

struct parser {
	struct log *l;
	struct json_reader json;
	struct buf key, text; /* of what was read last */
};

static bool key_is(const struct parser *p, const char *name)
{
	return !strcmp(p->key.data, name);
}

/* A key, which is in p->key until the next; keys of inner values use it too. */
static bool next_key(struct parser *p)
{
	return json_read_key(&p->json, &p->key);
}

static bool read_text(struct parser *p, uint32_t *ret)
{
	if (!json_read_text(&p->json, &p->text))
		return false;
	*ret = strings_add(&p->l->texts, p->text.size ? p->text.data : NULL);
	return true;
}

static uint32_t add_thread(struct log *l, uint64_t uid, uint32_t name)
{
	*xpush(l->threads, l->thread_count, l->thread_room) = (struct log_thread){ uid, name };
	return (uint32_t)l->thread_count - 1;
}

/* "0x7f…" as a text. */
static bool read_address(struct parser *p, uint64_t *ret)
{
	const char *digits;
	char *end;

	if (!json_read_text(&p->json, &p->text))
		return false;
	digits = p->text.size > 2 && !strncmp(p->text.data, "0x", 2) ? p->text.data + 2 : "";
	if (!*digits || strspn(digits, "0123456789abcdefABCDEF") != strlen(digits) ||
	    strlen(digits) > 16)
		return json_wrong(&p->json, "an address is a text like \"0x7f12\"");
	*ret = strtoull(digits, &end, 16);
	return true;
}

static bool read_addresses(struct parser *p, struct log_trace *ret)
{
	struct log *l = p->l;
	uint64_t pc = 0;

	ret->pc = l->pc_count;
	if (!json_read_array(&p->json))
		return false;
	while (json_read_element(&p->json)) {
		if (!read_address(p, &pc))
			return false;
		*xpush(l->pcs, l->pc_count, l->pc_room) = pc;
	}
	ret->pc_count = l->pc_count - ret->pc;
	return !p->json.failed;
}

static uint32_t add_trace(struct log *l, struct log_trace t)
{
	*xpush(l->traces, l->trace_count, l->trace_room) = t;
	return (uint32_t)l->trace_count - 1;
}

static void read_info(struct parser *p)
{
	struct log *l = p->l;
	uint64_t lg;

	if (!json_read_object(&p->json))
		return;
	while (next_key(p)) {
		if (key_is(p, "duration"))
			json_read_number(&p->json, &l->duration_ns);
		else if (key_is(p, "version"))
			read_text(p, &l->version);
		else if (key_is(p, "prof_time_resolution"))
			read_text(p, &l->resolution);
		else if (key_is(p, "pid"))
			json_read_number(&p->json, &l->pid);
		else if (!key_is(p, "lg_sample_rate"))
			json_skip(&p->json);
		else if (json_read_number(&p->json, &lg) && lg > 63)
			json_wrong(&p->json, "the sampling rate is too large");
		else if (!p->json.failed)
			l->rate = 1ull << lg;
	}
}

static void read_threads(struct parser *p)
{
	json_read_array(&p->json);
	while (json_read_element(&p->json) && json_read_object(&p->json)) {
		uint64_t uid = 0;
		uint32_t name = 0;

		while (next_key(p)) {
			if (key_is(p, "thr_uid"))
				json_read_number(&p->json, &uid);
			else if (key_is(p, "thr_name"))
				read_text(p, &name);
			else
				json_skip(&p->json);
		}
		add_thread(p->l, uid, name);
	}
}

static void read_traces(struct parser *p)
{
	struct log_trace t;

	json_read_array(&p->json);
	while (json_read_element(&p->json) && read_addresses(p, &t))
		add_trace(p->l, t);
}

/* A number of one of the tables. */
static bool read_index(struct parser *p, size_t count, const char *what, uint32_t *ret)
{
	uint64_t value;

	if (!json_read_number(&p->json, &value))
		return false;
	if (value >= count)
		return json_wrong(&p->json, "there is no such %s before this", what);
	*ret = (uint32_t)value;
	return true;
}

static void add_block(struct parser *p, const struct log_block *b, bool whole)
{
	struct log *l = p->l;

	if (p->json.failed)
		return;
	if (!whole) {
		json_wrong(&p->json, "a block has no thread, trace or size");
		return;
	}
	*xpush(l->blocks, l->block_count, l->block_room) = *b;
}

static const struct log_block nothing = {
	.thread = LOG_NONE, .trace = LOG_NONE, .free_thread = LOG_NONE, .free_trace = LOG_NONE
};

static void read_blocks(struct parser *p)
{
	const struct log *l = p->l;

	json_read_array(&p->json);
	while (json_read_element(&p->json) && json_read_object(&p->json)) {
		struct log_block b = nothing;
		bool sized = false;

		b.freed = true;
		while (next_key(p)) {
			if (key_is(p, "alloc_thread"))
				read_index(p, l->thread_count, "thread", &b.thread);
			else if (key_is(p, "free_thread"))
				read_index(p, l->thread_count, "thread", &b.free_thread);
			else if (key_is(p, "alloc_trace"))
				read_index(p, l->trace_count, "trace", &b.trace);
			else if (key_is(p, "free_trace"))
				read_index(p, l->trace_count, "trace", &b.free_trace);
			else if (key_is(p, "alloc_timestamp"))
				json_read_number(&p->json, &b.born_ns);
			else if (key_is(p, "free_timestamp"))
				json_read_number(&p->json, &b.freed_ns);
			else if (key_is(p, "usize"))
				sized = json_read_number(&p->json, &b.bytes);
			else
				json_skip(&p->json);
		}
		add_block(p, &b, sized && b.thread != LOG_NONE && b.trace != LOG_NONE);
	}
}

/* The thread of a number, and its name where one is said. */
static uint32_t thread_of(struct log *l, uint64_t uid, uint32_t name)
{
	/* Keys of threads and traces differ in the highest bit. */
	uint64_t key = uid & ~(1ull << 63), at;

	if (!map_get(&l->index, key, &at)) {
		at = add_thread(l, uid, name);
		map_set(&l->index, key, at);
	}
	if (name)
		l->threads[at].name = name;
	return (uint32_t)at;
}

/* Traces are written out with each block: the same one is kept once. */
static bool read_trace(struct parser *p, uint32_t *ret)
{
	struct log *l = p->l;
	struct log_trace t;
	uint64_t key = 0, at;

	if (!read_addresses(p, &t))
		return false;
	for (size_t i = t.pc; i < t.pc + t.pc_count; i++)
		key = (key << 5 ^ key >> 59 ^ l->pcs[i]) * 0x9e3779b97f4a7c15ull;
	for (key |= 1ull << 63; map_get(&l->index, key, &at); key = (key + 1) | 1ull << 63) {
		const struct log_trace *o = &l->traces[at];

		if (o->pc_count == t.pc_count &&
		    (!t.pc_count ||
		     !memcmp(l->pcs + o->pc, l->pcs + t.pc, t.pc_count * sizeof(*l->pcs)))) {
			l->pc_count = t.pc;
			*ret = (uint32_t)at;
			return true;
		}
	}
	*ret = add_trace(l, t);
	map_set(&l->index, key, *ret);
	return true;
}

static void read_recent_block(struct parser *p)
{
	struct log_block b = nothing;
	uint64_t uid = 0, free_uid = 0;
	uint32_t name = 0, free_name = 0;
	bool sized = false, threaded = false, free_threaded = false;

	while (next_key(p)) {
		if (key_is(p, "usize"))
			sized = json_read_number(&p->json, &b.bytes);
		else if (key_is(p, "released"))
			json_read_bool(&p->json, &b.freed);
		else if (key_is(p, "alloc_thread_uid"))
			threaded = json_read_number(&p->json, &uid);
		else if (key_is(p, "alloc_thread_name"))
			read_text(p, &name);
		else if (key_is(p, "alloc_time"))
			json_read_number(&p->json, &b.born_ns);
		else if (key_is(p, "alloc_trace"))
			read_trace(p, &b.trace);
		else if (key_is(p, "dalloc_thread_uid"))
			free_threaded = json_read_number(&p->json, &free_uid);
		else if (key_is(p, "dalloc_thread_name"))
			read_text(p, &free_name);
		else if (key_is(p, "dalloc_time"))
			json_read_number(&p->json, &b.freed_ns);
		else if (key_is(p, "dalloc_trace"))
			read_trace(p, &b.free_trace);
		else
			json_skip(&p->json);
	}
	if (threaded)
		b.thread = thread_of(p->l, uid, name);
	if (free_threaded)
		b.free_thread = thread_of(p->l, free_uid, free_name);
	add_block(p, &b, sized && threaded && b.trace != LOG_NONE);
}

static void read_recent(struct parser *p)
{
	p->l->recent = true;
	json_read_array(&p->json);
	while (json_read_element(&p->json) && json_read_object(&p->json))
		read_recent_block(p);
}

static void read_maps(struct parser *p)
{
	struct buf maps = { 0 };

	json_read_array(&p->json);
	while (json_read_element(&p->json) && json_read_text(&p->json, &p->text)) {
		buf_add(&maps, p->text.data, p->text.size);
		buf_char(&maps, '\n');
	}
	free(p->l->maps);
	p->l->maps = maps.data;
}

int log_read(struct log *l, const void *bytes, size_t size, struct err *err)
{
	static const struct {
		const char *key;
		void (*read)(struct parser *p);
		bool needed; /* a file has one of these */
	} parts[] = {
		{ "info", read_info },
		{ "threads", read_threads },
		{ "stack_traces", read_traces },
		{ "allocations", read_blocks, true },
		{ "recent_alloc", read_recent, true },
		{ "mapped_libraries", read_maps },
	};
	struct parser p = { .l = l };
	bool found = false;

	*l = (struct log){ 0 };
	strings_init(&l->texts);
	json_reader_init(&p.json, bytes, size, err);
	json_read_object(&p.json);
	while (next_key(&p)) {
		size_t i = 0;

		while (i < sizeof(parts) / sizeof(*parts) && !key_is(&p, parts[i].key))
			i++;
		if (i < sizeof(parts) / sizeof(*parts)) {
			found |= parts[i].needed;
			parts[i].read(&p);
		} else if (key_is(&p, "sample_interval")) {
			json_read_number(&p.json, &l->rate);
		} else if (key_is(&p, "recent_alloc_max")) {
			json_read_number(&p.json, &l->recent_max);
		} else {
			json_skip(&p.json);
		}
	}
	json_read_end(&p.json);
	if (!p.json.failed && !found) {
		p.json.at = p.json.begin;
		json_wrong(&p.json,
			   "it has neither allocations nor recent_alloc: this is not a log of "
			   "jemalloc's profiler");
	}
	buf_release(&p.key);
	buf_release(&p.text);
	return p.json.failed ? -EBADMSG : 0;
}

void log_release(struct log *l)
{
	strings_release(&l->texts);
	map_release(&l->index);
	free(l->threads);
	free(l->traces);
	free(l->pcs);
	free(l->blocks);
	free(l->maps);
	memset(l, 0, sizeof(*l));
}

uint64_t log_life_ns(const struct log_block *b)
{
	return b->freed && b->freed_ns > b->born_ns ? b->freed_ns - b->born_ns : 0;
}
