/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tables of a Firefox profile.  See firefox_tables.h. */
#include "export/firefox_tables.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/path.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "export/numbers.h"
#include "model/stats.h"

#define NO_STACK "(no stack)"
#define RESOURCE_LIBRARY 1 /* the viewer's number */
#define BREAKPAD_BYTES 16  /* of a build id */

/* Nodes that the view's rows were allocated and freed at, and what is outside them. */
static void mark_nodes(struct firefox_tables *t)
{
	const struct columns *c = &t->view->model->allocations;
	const struct nodes *n = &t->view->model->tables.nodes;

	VIEW_EACH(t->view, 0, c->count, row)
	{
		if (node_is_known(n, columns_stack(c, row)))
			t->stacks[columns_stack(c, row)] = 1;
		if (columns_freed_at(c, row) != NEVER &&
		    node_is_known(n, columns_free_stack(c, row)))
			t->stacks[columns_free_stack(c, row)] = 1;
	}
	for (uint32_t id = n->count; id-- > 1;)
		if (t->stacks[id] && node_is_known(n, n->parent[id]))
			t->stacks[n->parent[id]] = 1;
}

/* A parent's id is smaller, so it comes first. */
static void number_stacks(struct firefox_tables *t)
{
	struct locations *locations = t->view->locations;

	t->stack_count = 1;
	for (uint32_t id = 1; id < t->view->model->tables.nodes.count; id++) {
		uint32_t location;
		unsigned count;

		if (!t->stacks[id])
			continue;
		location = locations_of_node(locations, id);
		locations_frames(locations, location, &count);
		t->frames[location] = 1;
		t->stacks[id] = t->stack_count + count - 1;
		t->stack_count += count;
	}
}

/* Functions of one name in two libraries are two. */
static uint32_t add_function(struct firefox_tables *t, const struct stack_frame *frame)
{
	uint32_t id = functions_id(&t->functions, frame);
	uint64_t key = (uint64_t)id << 32 | frame->module, row;

	if (map_number(&t->by_module, key, &row))
		*xpush(t->rows, t->row_count, t->row_room) =
			(struct firefox_function){ id, frame->module };
	return (uint32_t)row;
}

static void number_string(struct firefox_tables *t, uint32_t string)
{
	if (!string || t->strings[string])
		return;
	*xpush(t->string_of, t->string_count, t->string_room) = string;
	t->strings[string] = t->string_count;
}

static void number_source(struct firefox_tables *t, uint32_t file)
{
	if (!file || t->sources[file])
		return;
	*xpush(t->source_of, t->source_count, t->source_room) = file;
	t->sources[file] = t->source_count;
}

/* The outermost function of a location first: inlined ones follow what they are inlined into. */
static void number_frames(struct firefox_tables *t)
{
	struct locations *locations = t->view->locations;
	size_t room = 0;

	t->of_frame = xgrow(NULL, 0, &room, sizeof(*t->of_frame));
	t->of_frame[0] = add_function(t, &(struct stack_frame){ .address = UINT64_MAX });
	t->frame_count = 1;
	for (uint32_t id = 0; id < locations_count(locations); id++) {
		const struct location *location = locations_at(locations, id);
		unsigned count;
		const struct location_frame *frames = locations_frames(locations, id, &count);

		if (!t->frames[id])
			continue;
		t->frames[id] = t->frame_count;
		t->libraries[location->module] = 1;
		for (unsigned i = count; i-- > 0;) {
			struct stack_frame f = { .function = frames[i].function,
						 .file = frames[i].file,
						 .module = location->module,
						 .address = location->address };

			*xpush(t->of_frame, t->frame_count, room) = add_function(t, &f);
			number_string(t, f.function);
			number_string(t, f.file);
			number_source(t, f.file);
		}
	}
}

static void number_libraries(struct firefox_tables *t)
{
	const struct tables *model = &t->view->model->tables;
	const char *program = model_info(t->view->model, "executable");

	t->libraries[0] = 0;
	for (uint32_t i = 1; i < model->module_count; i++) {
		if (!t->libraries[i])
			continue;
		t->libraries[i] = ++t->library_count;
		if (program && !strcmp(locations_module_path(t->view->locations, i), program))
			t->program = i;
	}
}

void firefox_tables_init(struct firefox_tables *t, const struct view *v, struct sink *out)
{
	*t = (struct firefox_tables){ .view = v, .out = out };
	t->stacks = xcalloc((size_t)v->model->tables.nodes.count + 1, sizeof(*t->stacks));
	t->frames = xcalloc((size_t)locations_count(v->locations) + 1, sizeof(*t->frames));
	t->strings = xcalloc((size_t)locations_string_count(v->locations) + 1, sizeof(*t->strings));
	t->sources = xcalloc((size_t)locations_string_count(v->locations) + 1, sizeof(*t->sources));
	t->libraries = xcalloc(v->model->tables.module_count + 1, sizeof(*t->libraries));
	mark_nodes(t);
	number_stacks(t);
	number_frames(t);
	number_libraries(t);
}

void firefox_tables_release(struct firefox_tables *t)
{
	free(t->stacks);
	free(t->frames);
	free(t->of_frame);
	free(t->strings);
	free(t->sources);
	free(t->string_of);
	free(t->source_of);
	free(t->libraries);
	free(t->rows);
	functions_release(&t->functions);
	map_release(&t->by_module);
	memset(t, 0, sizeof(*t));
}

enum stack_column { STACK_FRAME, STACK_PREFIX };

static void put_stack_column(struct firefox_tables *t, struct json *j, const char *key,
			     enum stack_column column)
{
	const struct nodes *nodes = &t->view->model->tables.nodes;
	struct numbers n = numbers_start(j, key);

	if (column == STACK_FRAME)
		numbers_add(&n, 0);
	else
		numbers_null(&n);
	for (uint32_t id = 1; id < nodes->count && !sink_turn(t->out); id++) {
		uint32_t location, parent = nodes->parent[id];
		unsigned count;

		if (!t->stacks[id])
			continue;
		location = locations_of_node(t->view->locations, id);
		locations_frames(t->view->locations, location, &count);
		for (unsigned depth = 0; depth < count; depth++)
			if (column == STACK_FRAME)
				numbers_add(&n, t->frames[location] + depth);
			else if (depth)
				numbers_add(&n, t->stacks[id] - count + depth);
			else if (t->stacks[parent])
				numbers_add(&n, t->stacks[parent]);
			else
				numbers_null(&n);
	}
	numbers_end(&n);
}

static void put_stacks(struct firefox_tables *t, struct json *j)
{
	json_object(j, "stackTable");
	put_stack_column(t, j, "frame", STACK_FRAME);
	put_stack_column(t, j, "prefix", STACK_PREFIX);
	json_number(j, "length", t->stack_count);
	json_end_object(j);
}

/* From the start of its library; the viewer has 32 bits for it. */
static int64_t relative_address(const struct firefox_tables *t, const struct location *location)
{
	const struct module *modules = t->view->model->tables.modules; /* there may be none */
	uint64_t relative;

	if (!location->module)
		return -1;
	relative = location->address + modules[location->module].bias -
		   modules[location->module].start;
	return relative <= UINT32_MAX ? (int64_t)relative : -1;
}

enum frame_column { FRAME_ADDRESS, FRAME_DEPTH, FRAME_CATEGORY, FRAME_LINE, FRAME_COLUMN };

static void put_frame_value(const struct firefox_tables *t, struct numbers *n,
			    enum frame_column column, const struct location *location,
			    const struct location_frame *frame, unsigned depth)
{
	switch (column) {
	case FRAME_ADDRESS:
		numbers_add(n, relative_address(t, location));
		return;
	case FRAME_DEPTH:
		numbers_add(n, depth);
		return;
	case FRAME_CATEGORY:
		numbers_add(n, location->module && location->module == t->program ? FIREFOX_PROGRAM
										  : FIREFOX_OTHER);
		return;
	case FRAME_LINE:
	case FRAME_COLUMN:
		break;
	}
	if (column == FRAME_LINE && frame->line)
		numbers_add(n, frame->line);
	else if (column == FRAME_COLUMN && frame->column)
		numbers_add(n, frame->column);
	else
		numbers_null(n);
}

static void put_frame_column(struct firefox_tables *t, struct json *j, const char *key,
			     enum frame_column column)
{
	static const struct location_frame none;
	struct locations *locations = t->view->locations;
	struct numbers n = numbers_start(j, key);

	put_frame_value(t, &n, column, &(struct location){ 0 }, &none, 0);
	for (uint32_t id = 0; id < locations_count(locations) && !sink_turn(t->out); id++) {
		const struct location *location = locations_at(locations, id);
		unsigned count;
		const struct location_frame *frames = locations_frames(locations, id, &count);

		for (unsigned depth = 0; t->frames[id] && depth < count; depth++)
			put_frame_value(t, &n, column, location, &frames[count - 1 - depth], depth);
	}
	numbers_end(&n);
}

/* As many times the same. */
static void put_same(struct firefox_tables *t, struct json *j, const char *key, const char *value,
		     uint64_t count)
{
	NUMBERS_EACH(n, j, key, i, i < count && !sink_turn(t->out)) {
		numbers_next(&n);
		buf_text(n.out, value);
	}
}

static void put_frames(struct firefox_tables *t, struct json *j)
{
	json_object(j, "frameTable");
	put_frame_column(t, j, "address", FRAME_ADDRESS);
	put_frame_column(t, j, "inlineDepth", FRAME_DEPTH);
	put_frame_column(t, j, "category", FRAME_CATEGORY);
	put_same(t, j, "subcategory", "0", t->frame_count);
	NUMBERS_EACH(n, j, "func", i, i < t->frame_count && !sink_turn(t->out))
		numbers_add(&n, t->of_frame[i]);
	put_same(t, j, "nativeSymbol", "null", t->frame_count);
	put_same(t, j, "innerWindowID", "null", t->frame_count);
	put_frame_column(t, j, "line", FRAME_LINE);
	put_frame_column(t, j, "column", FRAME_COLUMN);
	json_number(j, "length", t->frame_count);
	json_end_object(j);
}

static const struct functions_row *function_row(const struct firefox_tables *t, size_t row)
{
	return &t->functions.rows[t->rows[row].id];
}

static void put_functions(struct firefox_tables *t, struct json *j)
{
	uint32_t unnamed = t->string_count + t->library_count;

	json_object(j, "funcTable");
	NUMBERS_EACH(n, j, "name", i, i < t->row_count && !sink_turn(t->out)) {
		uint32_t name = function_row(t, i)->function;

		numbers_add(&n, name ? t->strings[name] - 1 : unnamed++);
	}
	put_same(t, j, "isJS", "false", t->row_count);
	put_same(t, j, "relevantForJS", "false", t->row_count);
	NUMBERS_EACH(n, j, "resource", i, i < t->row_count && !sink_turn(t->out))
		numbers_add(&n, (int64_t)t->libraries[t->rows[i].module] - 1);
	NUMBERS_EACH(n, j, "source", i, i < t->row_count && !sink_turn(t->out))
		if (t->sources[function_row(t, i)->file])
			numbers_add(&n, t->sources[function_row(t, i)->file] - 1);
		else
			numbers_null(&n);
	put_same(t, j, "lineNumber", "null", t->row_count);
	put_same(t, j, "columnNumber", "null", t->row_count);
	json_number(j, "length", t->row_count);
	json_end_object(j);
}

static void put_resources(struct firefox_tables *t, struct json *j)
{
	json_object(j, "resourceTable");
	NUMBERS_EACH(n, j, "lib", i, i < t->library_count)
		numbers_add(&n, i);
	NUMBERS_EACH(n, j, "name", i, i < t->library_count)
		numbers_add(&n, t->string_count + i);
	put_same(t, j, "host", "null", t->library_count);
	NUMBERS_EACH(n, j, "type", i, i < t->library_count)
		numbers_add(&n, RESOURCE_LIBRARY);
	json_number(j, "length", t->library_count);
	json_end_object(j);
}

static void put_sources(struct firefox_tables *t, struct json *j)
{
	json_object(j, "sources");
	put_same(t, j, "uuid", "null", t->source_count);
	NUMBERS_EACH(n, j, "filename", i, i < t->source_count && !sink_turn(t->out))
		numbers_add(&n, t->strings[t->source_of[i]] - 1);
	json_number(j, "length", t->source_count);
	json_end_object(j);
}

/* Functions could be told from symbols, but all that are here have names already. */
static void put_symbols(struct json *j)
{
	static const char *const columns[] = { "libIndex", "address", "name", "functionSize" };

	json_object(j, "nativeSymbols");
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		json_array(j, columns[i]);
		json_end_array(j);
	}
	json_number(j, "length", 0);
	json_end_object(j);
}

/* Strings of locations, then names of libraries, then names of functions that have none. */
static void put_strings(struct firefox_tables *t, struct json *j)
{
	const struct locations *locations = t->view->locations;
	auto_buf struct buf name = { 0 };

	json_array(j, "stringArray");
	for (uint32_t i = 0; i < t->string_count && !sink_turn(t->out); i++)
		json_text(j, NULL, locations_string(locations, t->string_of[i]));
	for (uint32_t i = 1; i < t->view->model->tables.module_count && !sink_turn(t->out); i++)
		if (t->libraries[i])
			json_text(j, NULL, path_base(locations_module_path(locations, i)));
	for (size_t i = 0; i < t->row_count && !sink_turn(t->out); i++) {
		const struct functions_row *f = function_row(t, i);

		if (f->function)
			continue;
		buf_clear(&name);
		if (f->address == UINT64_MAX)
			buf_text(&name, NO_STACK);
		else
			locations_unnamed(locations, f->module, f->address, &name);
		json_text(j, NULL, name.data);
	}
	json_end_array(j);
}

void firefox_put_shared(struct firefox_tables *t, struct json *j)
{
	json_object(j, "shared");
	put_stacks(t, j);
	put_frames(t, j);
	put_functions(t, j);
	put_resources(t, j);
	put_symbols(j);
	put_sources(t, j);
	put_strings(t, j);
	json_end_object(j);
}

/* A build id as symbol servers know it: the first numbers in it are little-endian, and an age
 * follows. */
static void put_breakpad_id(struct json *j, const struct module *m)
{
	static const uint8_t order[BREAKPAD_BYTES] = { 3, 2, 1,	 0,  5,	 4,  7,	 6,
						       8, 9, 10, 11, 12, 13, 14, 15 };
	auto_buf struct buf id = { 0 };

	for (unsigned i = 0; i < BREAKPAD_BYTES; i++)
		buf_printf(&id, "%02X", order[i] < m->build_id_size ? m->build_id[order[i]] : 0);
	buf_char(&id, '0');
	json_text(j, "breakpadId", id.data);
}

void firefox_put_libraries(struct firefox_tables *t, struct json *j)
{
	const char *arch = model_info(t->view->model, "arch");

	json_array(j, "libs");
	for (uint32_t i = 1; i < t->view->model->tables.module_count && !sink_turn(t->out); i++) {
		const struct module *m = &t->view->model->tables.modules[i];
		const char *path = locations_module_path(t->view->locations, i);
		struct buf id = { 0 };

		if (!t->libraries[i])
			continue;
		buf_hex(&id, m->build_id, m->build_id_size);
		json_object(j, NULL);
		json_text(j, "arch", arch ? arch : "");
		json_text(j, "name", path_base(path));
		json_text(j, "path", path);
		json_text(j, "debugName", path_base(path));
		json_text(j, "debugPath", path);
		put_breakpad_id(j, m);
		json_text(j, "codeId", id.size ? id.data : NULL);
		json_end_object(j);
		buf_release(&id);
	}
	json_end_array(j);
}
