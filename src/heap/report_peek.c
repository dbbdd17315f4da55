/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The same as the tree, of functions that the user names. */
#include "heap/report.h"

extern const struct heap_report heap_report_tree;

static int write_peek(const struct profile *p, const struct heap_report_options *o,
		      struct sink *out, struct err *err)
{
	return heap_report_tree.write(p, o, out, err);
}

const struct heap_report heap_report_peek = {
	.name = "peek",
	.argument = "REGEX",
	.help = "callers and callees of the functions that match",
	.mime = "text/plain; charset=utf-8",
	.extension = "txt",
	.has_forms = true,
	.write = write_peek,
};
