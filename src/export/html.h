/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The data of an HTML page (draw/page.h) about a recording: what its files share while they write
 * it.  One thread: the exporter's. */
#include "base/buf_type.h"
#include "draw/page.h"
#include "export/export.h"
#include "export/flame.h"
#include "query/stacks.h"

struct html {
	const struct export *x;
	const struct model *model;
	struct page page;
	struct json *j; /* the page's */
	struct flame flame;
	struct stack_frames frames;
	struct buf text;
};

/* html_about.c: the program, its totals, what recording it cost; what is missing. */
void html_program(struct html *p);
void html_totals(struct html *p);
void html_warnings(struct html *p);
