/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The progress bar.  See progress.h. */
#include "base/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/now.h"

#define QUIET_NS 300000000ull /* whatever is done sooner shows no bar */
#define REFRESH_NS 66000000ull
#define BAR_CELLS 30

void progress_start(struct progress *p, const char *what)
{
	memset(p, 0, sizeof(*p));
	p->what = what;
	p->possible = isatty(2);
	p->started_ns = now_ns();
}

void progress_update(struct progress *p, uint64_t done, uint64_t total)
{
	auto_buf struct buf line = { 0 };
	uint64_t now;
	unsigned percent, cells;

	if (!p->possible || !total)
		return;
	now = now_ns();
	if (now - p->started_ns < QUIET_NS || now - p->shown_ns < REFRESH_NS)
		return;
	p->shown_ns = now;
	p->shown = true;
	percent = done >= total ? 100 : (unsigned)(100.0 * (double)done / (double)total);
	cells = percent * BAR_CELLS / 100;
	buf_printf(&line, "\r%s ", p->what);
	for (unsigned i = 0; i < BAR_CELLS; i++)
		buf_text(&line, i < cells ? "\xe2\x94\x81" : "\xe2\x94\x80");
	buf_printf(&line, " %3u %%", percent);
	buf_flush(&line, 2);
}

void progress_end(struct progress *p)
{
	static const char clear[] = "\r\033[K";

	if (p->shown)
		(void)!write(2, clear, sizeof(clear) - 1);
	p->shown = false;
}
