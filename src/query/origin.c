/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a recording is of.  See origin.h. */
#include "query/origin.h"

#include <string.h>

#include "base/buf_text.h"
#include "base/path.h"
#include "model/words.h"

static void add_build_id(const struct model *m, struct buf *out)
{
	const char *executable = model_info(m, "executable");

	for (size_t i = 1; i < m->tables.module_count; i++) {
		const struct module *t = &m->tables.modules[i];

		if (t->known &&
		    (!t->path || !*t->path || (executable && !strcmp(t->path, executable)))) {
			buf_hex(out, t->build_id, t->build_id_size);
			return;
		}
	}
}

void origin_text(const struct model *m, enum origin which, struct buf *out)
{
	switch (which) {
	case ORIGIN_SERVICE:
		buf_text(out, path_base(model_info(m, "executable") ?: ""));
		return;
	case ORIGIN_HOST:
		buf_text(out, model_info(m, "hostname") ?: "");
		return;
	case ORIGIN_BUILD:
		add_build_id(m, out);
		return;
	case ORIGIN_COMMAND:
		words_command(out, m);
		return;
	case ORIGIN_RECORDING:
		buf_hex(out, m->reader.header.id, sizeof(m->reader.header.id));
		return;
	case ORIGIN_RELEASE:
	case ORIGIN_LABEL:
	case ORIGINS:
		return;
	}
}
