/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* heaptrack's data file: every event in order of time, in hexadecimal text.
 *
 * Strings, addresses, stacks and kinds of allocation are each written when they are first needed,
 * and are known by their number from then on: strings, addresses and stacks from 1, kinds from 0.
 * A realloc is a deallocation and an allocation.  Times are in milliseconds and never go back.
 * What frees its block in the very next line is what that tool calls temporary, so the order of
 * events is kept. */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/map.h"
#include "base/sink.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "export/export.h"
#include "model/stats.h"
#include "query/clock.h"
#include "query/event_iterator.h"
#include "query/stacks.h"

#define RECENT 16384	     /* kinds */
#define FORMAT "v 10400 2\n" /* version of the tool, version of the format */

struct heaptrack {
	const struct export *x;
	struct buf *out;
	uint32_t *string_ids; /* by string of locations */
	uint32_t *module_ids; /* strings of modules' paths */
	uint32_t *ip_ids;     /* by location */
	uint32_t *trace_ids;  /* by node */
	uint32_t string_count, ip_count, trace_count;
	struct map kinds, large_kinds, large_sizes;
	uint64_t kind_count;
	/* In front of `kinds`, which may be far larger than a processor's cache: most blocks die
	 * young, and few stacks make most of them. */
	struct recent {
		uint64_t key, id; /* key 0: none */
	} recent[RECENT];
};

/* A string ends with its line. */
static uint32_t put_string(struct heaptrack *h, const char *text)
{
	size_t start;

	buf_text(h->out, "s ");
	start = h->out->size;
	utf8_add(h->out, text, strlen(text));
	text_in_line(h->out, start);
	buf_char(h->out, '\n');
	return ++h->string_count;
}

static uint32_t string_id(struct heaptrack *h, uint32_t id)
{
	if (!id)
		return 0;
	if (!h->string_ids[id])
		h->string_ids[id] = put_string(h, locations_string(h->x->view->locations, id));
	return h->string_ids[id];
}

static uint32_t module_id(struct heaptrack *h, uint32_t module)
{
	const char *path = locations_module_path(h->x->view->locations, module);

	if (!*path)
		return 0;
	if (!h->module_ids[module])
		h->module_ids[module] = put_string(h, path);
	return h->module_ids[module];
}

/* Address, module, then function, file and line of the innermost inlined function and outwards.
 * A frame without a file has no line, and nothing may follow. */
static uint32_t ip_id(struct heaptrack *h, uint32_t id)
{
	struct locations *locations = h->x->view->locations;
	const struct location *location = locations_at(locations, id);
	unsigned count;
	const struct location_frame *frames = locations_frames(locations, id, &count);
	uint32_t module;

	if (h->ip_ids[id])
		return h->ip_ids[id];
	module = module_id(h, location->module);
	for (unsigned i = 0; i < count; i++) {
		string_id(h, frames[i].function);
		string_id(h, frames[i].file);
	}
	buf_printf(h->out, "i %" PRIx64 " %x", location->address, module);
	for (unsigned i = 0; i < count && frames[i].function; i++) {
		buf_printf(h->out, " %x", string_id(h, frames[i].function));
		if (!frames[i].file && i + 1 == count)
			break;
		buf_printf(h->out, " %x %x", string_id(h, frames[i].file), frames[i].line);
	}
	buf_char(h->out, '\n');
	return h->ip_ids[id] = ++h->ip_count;
}

/* Outer frames first, since each refers to the one outside it. */
static uint32_t trace_id(struct heaptrack *h, uint32_t stack)
{
	const struct nodes *n = &h->x->view->model->tables.nodes;
	uint32_t path[4096], depth = 0, parent = 0;

	for (uint32_t id = stack; node_is_known(n, id) && depth < 4096; id = n->parent[id]) {
		if (h->trace_ids[id]) {
			parent = h->trace_ids[id];
			break;
		}
		path[depth++] = id;
	}
	while (depth) {
		uint32_t node = path[--depth];
		uint32_t ip = ip_id(h, locations_of_node(h->x->view->locations, node));

		buf_printf(h->out, "t %x %x\n", ip, parent);
		parent = h->trace_ids[node] = ++h->trace_count;
	}
	return parent;
}

/* Kinds of blocks of 4 GiB and more: their sizes have numbers of their own. */
static bool find_large_kind(struct heaptrack *h, uint64_t size, uint32_t stack, uint64_t *ret_id)
{
	uint64_t key = size;

	map_number(&h->large_sizes, size, &key);
	key |= (uint64_t)stack << 32;
	if (map_get(&h->large_kinds, key, ret_id))
		return true;
	map_set(&h->large_kinds, key, *ret_id = h->kind_count++);
	return false;
}

static bool find_kind(struct heaptrack *h, uint64_t size, uint32_t stack, uint64_t *ret_id)
{
	uint64_t key = (uint64_t)stack << 32 | size;
	struct recent *r = &h->recent[(key ^ key >> 32) * 0x9e3779b97f4a7c15ull >> 50];
	bool found = true;

	if (size >> 32)
		return find_large_kind(h, size, stack, ret_id);
	if (key && r->key == key) {
		*ret_id = r->id;
		return true;
	}
	if (!map_get(&h->kinds, key, ret_id)) {
		map_set(&h->kinds, key, *ret_id = h->kind_count++);
		found = false;
	}
	*r = (struct recent){ key, *ret_id };
	return found;
}

static uint64_t kind_id(struct heaptrack *h, uint64_t size, uint32_t stack)
{
	uint64_t id;

	if (!find_kind(h, size, stack, &id)) {
		uint32_t trace = trace_id(h, stack);

		buf_text(h->out, "a ");
		buf_hexadecimal(h->out, size);
		buf_char(h->out, ' ');
		buf_hexadecimal(h->out, trace);
		buf_char(h->out, '\n');
	}
	return id;
}

static void put_head(struct heaptrack *h)
{
	buf_text(h->out, FORMAT "X ");
	export_command(h->x, h->out);
	buf_char(h->out, '\n');
}

/* A line of a letter and a number. */
static void put_number(struct buf *out, char letter, uint64_t number)
{
	char text[20];
	size_t at = sizeof(text);

	text[--at] = '\n';
	do
		text[--at] = "0123456789abcdef"[number & 15];
	while (number >>= 4);
	text[--at] = ' ';
	text[--at] = letter;
	buf_add(out, text + at, sizeof(text) - at);
}

static void put_events(struct heaptrack *h, struct sink *sink)
{
	const struct view *v = h->x->view;
	const struct columns *c = &v->model->allocations;
	struct event_iterator t = event_iterator_between(v->model, 0, NEVER);
	struct model_clock clock = model_clock(v->model);
	uint64_t now_ms = 0, done = 0;

	while (event_iterator_next(&t) && !sink_turn(sink)) {
		uint64_t ms = clock_ns(&clock, t.at) / 1000000, kind;

		if (!(++done & 0xffff))
			export_progress(h->x, done, 2ull * c->count);
		if (!view_has(v, t.row))
			continue;
		kind = kind_id(h, columns_size(c, t.row), columns_stack(c, t.row));
		if (ms > now_ms)
			put_number(h->out, 'c', now_ms = ms);
		put_number(h->out, t.is_free ? '-' : '+', kind);
	}
	if (model_runtime_ns(v->model) / 1000000 > now_ms)
		put_number(h->out, 'c', model_runtime_ns(v->model) / 1000000);
}

static int write_heaptrack(const struct export *x, struct sink *out, struct err *err)
{
	const struct view *v = x->view;
	auto_free struct heaptrack *h = xcalloc(1, sizeof(*h));

	h->x = x;
	h->kinds.spill = h->large_kinds.spill = h->large_sizes.spill = true;
	h->out = &out->buf;
	h->string_ids = xcalloc(locations_string_count(v->locations) + 1, sizeof(*h->string_ids));
	h->module_ids = xcalloc(v->model->tables.module_count + 1, sizeof(*h->module_ids));
	h->ip_ids = xcalloc(locations_count(v->locations) + 1, sizeof(*h->ip_ids));
	h->trace_ids = xcalloc(v->model->tables.nodes.count + 1, sizeof(*h->trace_ids));
	put_head(h);
	put_events(h, out);
	free(h->string_ids);
	free(h->module_ids);
	free(h->ip_ids);
	free(h->trace_ids);
	map_release(&h->kinds);
	map_release(&h->large_kinds);
	map_release(&h->large_sizes);
	return out->error;
}

const struct exporter exporter_heaptrack = {
	.name = "heaptrack",
	.extension = "zst",
	.mime = "application/octet-stream",
	.viewer = "heaptrack_gui, heaptrack_print (a file that ends in .zst or .gz)",
	.help = "every event, for Heaptrack",
	.events_only = true,
	.write = write_heaptrack,
};
