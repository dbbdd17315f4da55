/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Listing commands.  See paging.h. */
#include "cli/paging.h"

#include <stdio.h>

#include "base/human.h"
#include "query/sort.h"

#define FLUSH_SIZE (1u << 20)
#define COUNT_TABLE 20

void paging_complain(const char *command, const struct nearest *near)
{
	const char *best = nearest_found(near);

	fprintf(stderr, "memoir %s: cannot sort by '%s'", command, near->word);
	if (best)
		fprintf(stderr, "; did you mean '%s'?\n", best);
	else
		fprintf(stderr, " (memoir help %s says more)\n", command);
}

bool paging_check(struct paging *p, const char *command, bool descending)
{
	p->descending = descending;
	term_init(&p->term, 1, p->color);
	if (p->order)
		sort_order(p->order, &p->descending);
	if (p->json && p->csv) {
		fprintf(stderr, "memoir %s: --json or --csv, not both\n", command);
		return false;
	}
	return true;
}

struct open_options paging_open(const struct paging *p)
{
	return (struct open_options){ .follow = p->follow, .quiet = p->json || p->csv };
}

uint32_t paging_count(const struct paging *p)
{
	if (p->count == PAGING_ALL && !p->json && !p->csv)
		return COUNT_TABLE;
	return p->count > UINT32_MAX ? UINT32_MAX : (uint32_t)p->count;
}

uint32_t paging_skip(const struct paging *p)
{
	return p->skip > UINT32_MAX ? UINT32_MAX : (uint32_t)p->skip;
}

bool paging_flush(struct buf *out, bool end)
{
	return (!end && out->size < FLUSH_SIZE) || !buf_flush(out, 1);
}

void paging_title(const struct paging *p, const char *one, const char *many, uint32_t shown,
		  uint32_t total, struct buf *out)
{
	struct human a, b, c;
	uint64_t first = p->skip + 1;

	if (!total)
		buf_printf(out, "no %s", one);
	else if (shown == total || (!shown && p->skip < total)) /* all of them, or --count 0 */
		buf_printf(out, "%s %s", human_count(&a, total), total == 1 ? one : many);
	else if (!shown)
		buf_printf(out, "nothing after the last of %s %s", human_count(&a, total),
			   total == 1 ? one : many);
	else
		buf_printf(out, "%s to %s of %s %s", human_count(&a, first),
			   human_count(&b, first + shown - 1), human_count(&c, total), many);
}
