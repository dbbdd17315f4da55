/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Code of modules.  See code.h. */
#include "heap/code.h"

#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "base/xalloc.h"
#include "heap/instructions.h"
#include "heap/stubs.h"
#include "symbols/elf_file.h"

#define FUNCTION_MAX (16u << 20) /* bytes of one that is shown */

struct code {
	const struct profile *p;
	struct symbols *symbols;
	struct symbols_module *modules;
	struct elf_file *files; /* of modules; those without a file are not open */
	struct stubs **stubs;	/* of modules; made when needed */
	struct map by_start;	/* functions by a hash of module and start */
	struct code_function *functions;
	size_t count, room;
};

struct code *code_new(const struct profile *p)
{
	const struct heap_locations *locations = &p->locations;
	struct code *c = xcalloc(1, sizeof(*c));

	c->p = p;
	c->modules = xcalloc(locations->module_count + 1, sizeof(*c->modules));
	c->files = xcalloc(locations->module_count + 1, sizeof(*c->files));
	c->stubs = xcalloc(locations->module_count + 1, sizeof(*c->stubs));
	for (size_t i = 0; i < locations->module_count; i++) {
		const struct heap_locations_module *m = &locations->modules[i];

		c->modules[i].path = m->path;
		if (m->file && elf_file_open(&c->files[i], m->file))
			c->modules[i] = (struct symbols_module){ m->file, c->files[i].build_id,
								 c->files[i].build_id_size };
	}
	c->symbols = symbols_new(c->modules, locations->module_count,
				 &(struct symbols_options){
					 .debug_paths = locations->options.debug_paths,
					 .debug_path_count = locations->options.debug_path_count,
					 .debuginfod = locations->options.debuginfod,
				 });
	return c;
}

struct code *code_free(struct code *c)
{
	if (!c)
		return NULL;
	symbols_free(c->symbols);
	for (size_t i = 0; i < c->p->locations.module_count; i++) {
		stubs_free(c->stubs[i]);
		if (elf_file_is_open(&c->files[i]))
			elf_file_release(&c->files[i]);
	}
	for (size_t i = 0; i < c->count; i++)
		free(c->functions[i].name);
	free(c->functions);
	free(c->files);
	free(c->stubs);
	free(c->modules);
	map_release(&c->by_start);
	free(c);
	return NULL;
}

size_t code_function_of(struct code *c, const struct heap_location *location)
{
	struct symbols_function f;
	uint64_t key, at;

	if (location->module == HEAP_NO_MODULE || !elf_file_is_open(&c->files[location->module]) ||
	    !symbols_function(c->symbols, location->module, location->address, &f))
		return SIZE_MAX;
	key = (f.start ^ (uint64_t)location->module << 44) * 0x9e3779b97f4a7c15ull;
	for (; map_get(&c->by_start, key, &at); key++)
		if (c->functions[at].module == location->module &&
		    c->functions[at].start == f.start) {
			free(f.name);
			return at;
		}
	c->functions = xgrow(c->functions, c->count, &c->room, sizeof(*c->functions));
	c->functions[c->count] = (struct code_function){ location->module, f.start, f.end, f.name };
	map_set(&c->by_start, key, c->count);
	return c->count++;
}

size_t code_function_count(const struct code *c)
{
	return c->count;
}

const struct code_function *code_function(const struct code *c, size_t function)
{
	return &c->functions[function];
}

void code_resolve(struct code *c, uint32_t module, uint64_t address, struct symbol *ret)
{
	symbols_resolve(c->symbols, module, address, ret);
}

void code_steps(struct code *c, size_t function, struct symbols_steps *ret)
{
	const struct code_function *f = &c->functions[function];

	*ret = (struct symbols_steps){ 0 };
	symbols_steps(c->symbols, f->module, f->start, f->end, ret);
}

char *code_target(struct code *c, uint32_t module, uint64_t address)
{
	struct symbols_function f;
	const char *stub;
	char *text;

	if (!c->stubs[module])
		c->stubs[module] = stubs_new(&c->files[module]);
	if (stubs_find(c->stubs[module], address, &stub)) {
		text = stub ? demangle(stub) : NULL;
		stub = text ? xasprintf("%s@plt", text) : NULL;
		free(text);
		return (char *)stub;
	}
	if (!symbols_function(c->symbols, module, address, &f))
		return NULL;
	if (address == f.start)
		return f.name;
	text = xasprintf("%s+0x%" PRIx64, f.name, address - f.start);
	free(f.name);
	return text;
}

/* The section that has the code at an address. */
static const Elf64_Shdr *section_of(const struct elf_file *file, uint64_t address)
{
	for (uint32_t i = 0; i < file->count; i++) {
		const Elf64_Shdr *s = &file->sections[i];

		if (s->sh_type == SHT_PROGBITS && s->sh_flags & SHF_EXECINSTR &&
		    address >= s->sh_addr && address - s->sh_addr < s->sh_size)
			return s;
	}
	return NULL;
}

uint8_t *code_bytes(struct code *c, size_t function, size_t *ret_size,
		    const struct instruction_set **ret_set, bool **ret_constant)
{
	const struct code_function *f = &c->functions[function];
	const struct elf_file *file = &c->files[f->module];
	const Elf64_Shdr *s = section_of(file, f->start);
	uint64_t size = f->end - f->start, rest;
	uint8_t *bytes;

	if (!s || !(*ret_set = instruction_set(file->machine)) || f->end <= f->start)
		return NULL;
	rest = s->sh_size - (f->start - s->sh_addr);
	if (size > rest) /* a label has no end of its own */
		size = rest;
	if (size > FUNCTION_MAX)
		return NULL;
	bytes = xmalloc(size);
	if (!elf_file_read(file, s->sh_offset + (f->start - s->sh_addr), bytes, size)) {
		free(bytes);
		return NULL;
	}
	*ret_size = size;
	*ret_constant = NULL;
	if ((*ret_set)->select) {
		*ret_constant = xcalloc(size, sizeof(**ret_constant));
		*ret_set = (*ret_set)->select(file, f->start, size, *ret_constant);
	}
	return bytes;
}
