/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of formats, made by meson.build from its list of words.  See export.h. */
#include "export/export.h"

#include <string.h>

#include "base/sink.h"
#include "base/utf8.h"
#include "query/stacks.h"

#define EXPORTER(name) extern const struct exporter exporter_##name;
#include "export/exporters.inc"
#undef EXPORTER

const struct exporter *const exporters[] = {
#define EXPORTER(name) &exporter_##name,
#include "export/exporters.inc"
#undef EXPORTER
	NULL,
};

const struct exporter *exporter_find(const char *name)
{
	for (const struct exporter *const *e = exporters; *e; e++)
		if (!strcmp((*e)->name, name))
			return *e;
	return NULL;
}

enum sink_codec exporter_codec(const struct exporter *e, const char *path)
{
	if (e->gzip)
		return SINK_GZIP;
	return path ? sink_codec_of(path) : SINK_PLAIN;
}

void export_command(const struct export *x, struct buf *out)
{
	const char *cmdline = model_info(x->view->model, "cmdline");
	size_t size = model_info_size(x->view->model, "cmdline"), start = out->size;

	/* Arguments end with a NUL each. */
	while (size && !cmdline[size - 1])
		size--;
	if (size)
		utf8_add(out, cmdline, size);
	else
		utf8_add(out, x->title, strlen(x->title));
	text_in_line(out, start);
}
