/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Modules for readers.  See modules.h. */
#include "cli/modules.h"

#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "recording/shared_file.h"
#include "symbols/packages.h"

#define INDENT 12

static const char *const level_texts[] = {
	[SYMBOLS_NONE] = "none",
	[SYMBOLS_EXPORTED] = "exported",
	[SYMBOLS_NAMES] = "functions",
	[SYMBOLS_LINES] = "lines",
};

/* Modules that lack names, and the packages that they are from. */
struct missing {
	const char **paths; /* by module; NULL: nothing is missing */
	char **packages;
	size_t count, lacking;
};

/* The kernel's own has no file. */
static bool has_file(const char *path)
{
	return *path == '/';
}

static void find_missing(struct missing *m, const struct model *model, struct locations *locations)
{
	const struct tables *t = &model->tables;

	m->count = t->module_count;
	m->lacking = 0;
	m->paths = xcalloc(m->count, sizeof(*m->paths));
	m->packages = xcalloc(m->count, sizeof(*m->packages));
	for (size_t i = 1; i < m->count; i++) {
		const char *path = locations_module_path(locations, (uint32_t)i);

		if (!t->modules[i].known || !has_file(path) ||
		    locations_level(locations, (uint32_t)i) >= SYMBOLS_NAMES)
			continue;
		m->paths[i] = path;
		m->lacking++;
	}
	if (m->lacking)
		packages_find(m->paths, m->count, m->packages);
}

static void missing_release(struct missing *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->packages[i]);
	free(m->packages);
	free(m->paths);
}

static char *id_text(const struct module *m)
{
	struct buf text = { 0 };

	buf_hex(&text, m->build_id, m->build_id_size);
	return text.data;
}

/* What would help, for a program; NULL: nothing is missing. */
static char *advice(const struct missing *m, size_t i, const struct symbols_found *found)
{
	char *package, *text;

	if (!m->paths[i])
		return NULL;
	if (m->packages[i]) {
		package = packages_debug(m->packages[i]);
		text = xasprintf("install %s, or use --debuginfod", package);
		free(package);
		return text;
	}
	if (found->binary || found->embedded)
		return xstrdup("it is stripped: give its unstripped file or its debug file with "
			       "--debug-symbols");
	return xstrdup("its file is not there: give it with --debug-symbols");
}

static void json_module(struct json *j, const struct missing *m, const struct module *module,
			size_t i, struct locations *locations)
{
	const struct symbols_found *found = locations_found(locations, (uint32_t)i);
	auto_free char *id = id_text(module);
	auto_free char *text = advice(m, i, found);

	json_object(j, NULL);
	json_text(j, "path", locations_module_path(locations, (uint32_t)i));
	json_text(j, "build_id", id);
	json_bool(j, "has_symbols", found->level >= SYMBOLS_NAMES);
	json_text(j, "symbols", level_texts[found->level]);
	json_text(j, "file", found->embedded ? "(in the recording)" : found->binary);
	json_text(j, "debug_file", found->debug);
	json_text(j, "advice", text);
	JSON_ROWS(j, "refused", k, found->refused_count) {
		json_text(j, "path", found->refused[k].path);
		json_text(j, "reason", found->refused[k].why);
	}
	json_end_object(j);
}

void modules_json(struct json *j, const struct model *m, struct locations *locations)
{
	auto_release(missing_release) struct missing missing = { 0 };

	find_missing(&missing, m, locations);
	JSON_EACH(j, "modules", i, m->tables.module_count)
		if (m->tables.modules[i].known)
			json_module(j, &missing, &m->tables.modules[i], i, locations);
}

static void text_refused(struct buf *out, const struct term *term,
			 const struct symbols_found *found)
{
	for (size_t k = 0; k < found->refused_count; k++) {
		const struct symbols_refused *r = &found->refused[k];

		buf_repeat(out, ' ', INDENT);
		term_printf(term, out, "{warning}not used: ");
		buf_printable(out, r->path, strlen(r->path));
		term_printf(term, out, ": %s{}\n", r->why);
	}
}

/* Each package once. */
static void text_packages(struct buf *out, const struct missing *m)
{
	const char *before = "install ";

	for (size_t i = 0; i < m->count; i++) {
		auto_free char *package = NULL;
		bool again = false;

		for (size_t k = 0; k < i && m->packages[i]; k++)
			again |= m->packages[k] && !strcmp(m->packages[k], m->packages[i]);
		if (!m->packages[i] || again)
			continue;
		package = packages_debug(m->packages[i]);
		buf_printf(out, "%s%s", before, package);
		before = " ";
	}
}

static void text_advice(struct buf *out, const struct term *term, const struct missing *m)
{
	size_t packaged = 0;

	for (size_t i = 0; i < m->count; i++)
		packaged += m->packages[i] != NULL;
	if (!m->lacking)
		return;
	term_printf(term, out, "\n  {strong}Names are missing in %zu module%s.{}\n", m->lacking,
		    m->lacking == 1 ? "" : "s");
	if (packaged) {
		buf_text(out, "  To see them, ");
		text_packages(out, m);
		buf_printf(out, "\n  or set DEBUGINFOD_URLS=%s and use --debuginfod.\n",
			   packages_debuginfod());
	}
	if (packaged < m->lacking)
		buf_text(out, "  Files that were stripped or are elsewhere are given with "
			      "--debug-symbols PATH.\n");
}

static bool is_of(const struct embedded_file *f, const struct module *m)
{
	return f->build_id_size == m->build_id_size &&
	       (f->build_id_size ? !memcmp(f->build_id, m->build_id, f->build_id_size)
				 : m->path && !strcmp(f->path, m->path));
}

/* Was the module's file beside the recording, and is gone? */
static bool is_left_behind(const struct model *m, size_t module)
{
	for (size_t i = 0; i < m->tables.file_count; i++) {
		const struct embedded_file *f = &m->tables.files[i];

		if (f->key && is_of(f, &m->tables.modules[module]))
			return !model_has_file(m, f);
	}
	return false;
}

/* A recording of a family that was moved alone. */
static void text_left_behind(struct buf *out, const struct model *m, const struct missing *missing)
{
	auto_buf struct buf folder = { 0 };
	const char *first = NULL;
	size_t count = 0;

	for (size_t i = 1; i < missing->count; i++)
		if (missing->paths[i] && is_left_behind(m, i) && !count++)
			first = path_base(missing->paths[i]);
	if (!count)
		return;
	buf_text(out, "\n  Names of ");
	buf_printable(out, first, strlen(first));
	if (count > 1)
		buf_printf(out, " and %zu more", count - 1);
	buf_text(out, " were in ");
	if (shared_folder(&m->reader, &folder))
		buf_printable(out, folder.data, folder.size);
	else
		buf_text(out, FORMAT_SHARED_FOLDER);
	buf_text(out,
		 ", which is gone: put it back, or give the files with --debug-symbols PATH.\n");
}

void modules_text(struct buf *out, const struct term *term, const struct model *m,
		  struct locations *locations)
{
	auto_release(missing_release) struct missing missing = { 0 };

	find_missing(&missing, m, locations);
	term_printf(term, out, "\n  {dim}%-13s{}\n", "symbols   module");
	for (size_t i = 0; i < m->tables.module_count; i++) {
		const struct symbols_found *found;
		const char *path = locations_module_path(locations, (uint32_t)i);

		if (!m->tables.modules[i].known)
			continue;
		found = locations_found(locations, (uint32_t)i);
		term_printf(term, out, "  %s%-10s{}",
			    term_style(term, found->level < SYMBOLS_NAMES ? STYLE_WARNING
									  : STYLE_FUNCTION),
			    level_texts[found->level]);
		buf_printable(out, path, strlen(path));
		buf_char(out, '\n');
		text_refused(out, term, found);
	}
	text_left_behind(out, m, &missing);
	text_advice(out, term, &missing);
}
