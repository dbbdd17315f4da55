/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Prefetches the requests that the page makes first.  See prefetch.h.
 *
 * What these are stands in the questions' rows (answer/question.h); tests/e2e/test_page_views.py
 * compares them with what every view asks when it is opened. */
#include "server/prefetch.h"

#include <string.h>

#include "answer/question.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "server/answer_cache.h"
#include "server/first_answers.h"
#include "server/request.h"
#include "server/server.h"

#define ROWS_MIN 200000 /* allocations */

#define REQUESTS_MAX 64

struct first_request {
	unsigned turn;
	const char *path, *query;
};

/* What are no questions. */
static const struct first_request resources[] = {
	{ 4, "timeline_leaked", "" },
};

ORDER(by_turn, struct first_request, RISING(turn))

/* In the order in which they are likely to be asked. */
static size_t list_requests(struct first_request *ret)
{
	size_t count = sizeof(resources) / sizeof(*resources);

	memcpy(ret, resources, sizeof(resources));
	for (const struct question *const *q = questions; *q; q++)
		for (const struct prefetch *p = (*q)->prefetch; p && p->turn; p++)
			if (count < REQUESTS_MAX)
				ret[count++] = (struct first_request){
					p->turn, (*q)->path ? (*q)->path : (*q)->name, p->query
				};
	SORT(ret, count, by_turn);
	return count;
}

/* Answers that the file beside the recording lacks, and what has them by now. */
struct lacking {
	struct first_answers *first;
	struct answer_cache *cache;
};

static void store_answers(void *context, bool idle)
{
	auto_free struct lacking *l = context;

	if (idle)
		first_answers_store(l->first, l->cache);
	first_answers_free(l->first);
}

static void prefetch(struct server *s, struct request *r, const char *address,
		     struct first_answers *first)
{
	auto_free char *key = request_key(r, true);

	/* What takes no filters may depend on what is on the disk. */
	if (first && (r->route->filters || !r->route->question) &&
	    first_answers_take(first, s->answer_cache, address, key, r->route->type)) {
		request_release(r);
		return;
	}
	answer_cache_prefetch(s->answer_cache, key, r, true);
}

void prefetch_first_views(struct server *s, struct snapshot *recording)
{
	struct first_request requests[REQUESTS_MAX];
	struct first_answers *first;
	size_t count;

	if (!s->answer_cache || !recording->model || recording->model->allocations.count < ROWS_MIN)
		return;
	first = first_answers_open(recording);
	count = list_requests(requests);
	for (size_t i = 0; i < count; i++) {
		auto_free char *address = xasprintf("/data/%s/%s?%s", recording->id,
						    requests[i].path, requests[i].query);
		struct request r;

		if (request_init(&r, s, METHOD_GET, address))
			prefetch(s, &r, address + strlen("/data/") + strlen(recording->id), first);
		else
			request_release(&r);
	}
	if (first && first_answers_lack(first)) {
		struct lacking *l = xmalloc(sizeof(*l));

		*l = (struct lacking){ first, s->answer_cache };
		answer_cache_when_idle(s->answer_cache, store_answers, l);
	} else {
		first_answers_free(first);
	}
}
