/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Prefetches the requests that the page makes first.  See prefetch.h.
 *
 * A row is what the page asks, in whatever order; tests/e2e/test_page_views.py compares the table
 * with what every view asks when it is opened. */
#include "server/prefetch.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "server/answer_cache.h"
#include "server/request.h"
#include "server/server.h"

#define ROWS_MIN 200000 /* allocations */

/* In the order in which they are likely to be asked. */
static const char *const questions[] = {
	"timeline",
	"overview?verdicts=false",
	"timeline_maps",
	"timeline_leaked",
	"flame?measure=peak",
	"check",
	"groups?sort_by=only_matched.size&order=dsc&skip=0&count=30",
	"functions?measure=peak&count=100",
	"flame?measure=leaked",
	"flame?measure=allocated",
	"flame?measure=temporary",
	"flame?measure=peak&direction=up",
	"allocations?sort_by=timestamp&order=asc&skip=0&count=50",
	"threads?sort_by=allocated_bytes&order=dsc&skip=0&count=100",
	"histogram?measure=allocated&of=size&weight=bytes&top=1000",
	"histogram?measure=allocated&of=lifetime",
	"address_space?columns=300&rows=320",
	"holders?skip=0&count=50",
	("groups?sort_by=only_matched.size&order=dsc&spark=60&stacks=false&skip=0&count="
	 "60"),
	"overview",
};

void prefetch_first_views(struct server *s, const struct snapshot *recording)
{
	if (!s->answer_cache || !recording->model || recording->model->allocations.count < ROWS_MIN)
		return;
	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++) {
		auto_free char *address = xasprintf("/data/%s/%s", recording->id, questions[i]);
		struct request r;

		if (request_init(&r, s, METHOD_GET, address)) {
			auto_free char *key = request_key(&r, true);

			answer_cache_prefetch(s->answer_cache, key, &r, true);
		} else {
			request_release(&r);
		}
	}
}
