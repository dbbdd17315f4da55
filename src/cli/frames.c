/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stacks for readers.  See frames.h. */
#include "cli/frames.h"

#include <string.h>

#include "base/xalloc.h"
#include "model/stats.h"
#include "wire/shm.h"

static const char *const call_names[] = {
#define HOOK(name, class) [CALL_##name] = #name,
#include "wire/hooks.def"
#undef HOOK
};

static bool embedded(void *context, const struct symbols_module *module, struct buf *out)
{
	return model_file(context, module->build_id, module->build_id_size, module->path, out,
			  NULL) == 0;
}

void frames_init(struct frames *f, const struct model *m)
{
	const struct tables *t = &m->tables;
	const char *executable = model_info(m, "executable");

	memset(f, 0, sizeof(*f));
	f->model = m;
	f->modules = xcalloc(t->module_count, sizeof(*f->modules));
	for (size_t i = 0; i < t->module_count; i++) {
		const char *path = t->modules[i].path;

		f->modules[i] = (struct symbols_module){
			.path = path && *path ? path
				: executable  ? executable
					      : "",
			.build_id = t->modules[i].build_id,
			.build_id_size = t->modules[i].build_id_size,
		};
	}
	f->symbols = symbols_new(f->modules, t->module_count, embedded, (void *)m);
	f->calls = xcalloc(CALL_COUNT, sizeof(*f->calls));
	for (unsigned i = 0; i < CALL_COUNT; i++)
		f->calls[i] = demangle(call_names[i]);
}

void frames_release(struct frames *f)
{
	symbols_free(f->symbols);
	for (unsigned i = 0; f->calls && i < CALL_COUNT; i++)
		free(f->calls[i]);
	free(f->calls);
	free(f->modules);
	free(f->rows);
	memset(f, 0, sizeof(*f));
}

const char *frames_call(const struct frames *f, unsigned call)
{
	return call < CALL_COUNT ? f->calls[call] : "(unknown call)";
}

enum symbols_level frames_level(const struct frames *f, size_t module)
{
	return symbols_level(f->symbols, module);
}

static void add(struct frames *f, struct frame frame)
{
	f->rows = xgrow(f->rows, f->count, &f->room, sizeof(*f->rows));
	f->rows[f->count++] = frame;
}

static void add_node(struct frames *f, uint64_t frame, unsigned flags)
{
	size_t module = (size_t)(frame >> NODE_ADDRESS_BITS);
	const struct tables *t = &f->model->tables;
	uint64_t address = frame & NODE_ADDRESS_MASK;
	const struct symbol *symbol;

	/* A return address is behind the call: the byte before it belongs to the caller's line. */
	if (!(flags & NODE_EXACT) && address)
		address--;
	if (!module || module >= t->module_count || !t->modules[module].known) {
		add(f, (struct frame){ .address = address });
		return;
	}
	address -= t->modules[module].bias;
	symbol = symbols_resolve(f->symbols, module, address);
	for (unsigned i = 0; i < symbol->count; i++) {
		const struct symbol_frame *s = &symbol->frames[i];

		add(f, (struct frame){ .function = s->function,
				       .file = s->file,
				       .line = s->line,
				       .module = f->modules[module].path,
				       .address = address,
				       .inlined = s->inlined });
	}
}

void frames_of_stack(struct frames *f, uint32_t stack, unsigned call)
{
	const struct nodes *n = &f->model->tables.nodes;
	unsigned flags = 0;

	f->count = 0;
	add(f, (struct frame){ .function = frames_call(f, call) });
	if (!node_is_known(n, stack)) {
		f->rows[0].note = "no stack was recorded";
		return;
	}
	for (uint32_t id = stack; node_is_known(n, id); id = n->parent[id]) {
		flags = n->flags[id];
		add_node(f, n->frame[id], flags);
	}
	if (flags & NODE_TRUNCATED)
		f->rows[f->count - 1].note = "deeper than the limit: cut here";
	else if (flags & NODE_BROKEN)
		f->rows[f->count - 1].note = "no usable unwind information from here on";
}
