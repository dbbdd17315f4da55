/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Answers that are given twice.  See repeat.h. */
#include "agent/repeat.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/agent.h"

#define SHARE 100		 /* one part in so many of the time may be spent */
#define CREDIT_MAX_NS 50000000ll /* what was not spent before, at most; and what may be owed */
#define AGE_MAX_MS 500
#define CHEAP_NS 100000ll /* less is not worth keeping */
#define CACHE_MAX 8u
#define SIZE_MAX_KEPT (1u << 20)

static struct cached {
	char question[512];
	const char *type, *header; /* neither is ever made for one answer */
	struct text answer;	   /* data NULL: this place is free */
	int64_t made_ms;
} cache[CACHE_MAX];

static int64_t credit = CREDIT_MAX_NS, credit_ms, began_ns;

static int64_t spent_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* False: it is too long to be remembered. */
static bool question(const struct exchange *x, char *out, size_t room)
{
	int n = snprintf(out, room, "%s?%s", x->request.path, x->request.query);

	return n > 0 && (size_t)n < room;
}

static struct cached *repeat_find(const char *wanted)
{
	for (struct cached *k = cache; k < cache + CACHE_MAX; k++)
		if (k->answer.data && !strcmp(k->question, wanted))
			return k;
	return NULL;
}

bool repeat_given(struct exchange *x)
{
	static char header[256];
	char wanted[sizeof(cache->question)];
	int64_t now = agent_now_ms();
	struct cached *k;

	credit += (now - credit_ms) * 1000000 / SHARE;
	credit_ms = now;
	if (credit > CREDIT_MAX_NS)
		credit = CREDIT_MAX_NS;
	began_ns = spent_ns();
	if (credit > 0 || !question(x, wanted, sizeof(wanted)))
		return false;
	k = repeat_find(wanted);
	if (!k || now - k->made_ms > AGE_MAX_MS)
		return false;
	text_add(&x->out, k->answer.data, k->answer.size);
	x->type = k->type;
	snprintf(header, sizeof(header), "%sX-Memoir-Age-Ms: %d\r\n", k->header ? k->header : "",
		 (int)(now - k->made_ms));
	x->header = header;
	return true;
}

/* The place of the same question, a free one, or the oldest. */
static struct cached *slot_for(const char *wanted)
{
	struct cached *best = repeat_find(wanted);

	for (struct cached *k = cache; !best && k < cache + CACHE_MAX; k++)
		if (!k->answer.data)
			best = k;
	for (struct cached *k = best ? cache + CACHE_MAX : cache; k < cache + CACHE_MAX; k++)
		if (!best || k->made_ms < best->made_ms)
			best = k;
	return best;
}

void repeat_made(struct exchange *x)
{
	int64_t cost = spent_ns() - began_ns;
	char wanted[sizeof(cache->question)];
	struct cached *k;

	credit -= cost;
	if (credit < -CREDIT_MAX_NS)
		credit = -CREDIT_MAX_NS;
	if (credit > 0 || cost < CHEAP_NS || x->again || x->status != 200 || x->out.failed ||
	    !x->out.size || x->out.size > SIZE_MAX_KEPT || !question(x, wanted, sizeof(wanted)))
		return;
	k = slot_for(wanted);
	k->answer.size = 0;
	text_add(&k->answer, x->out.data, x->out.size);
	if (k->answer.failed) {
		text_release(&k->answer);
		return;
	}
	strcpy(k->question, wanted);
	k->type = x->type;
	k->header = x->header;
	k->made_ms = agent_now_ms();
}

void repeat_forget(void)
{
	for (struct cached *k = cache; k < cache + CACHE_MAX; k++)
		text_release(&k->answer);
}

int64_t repeat_until(void)
{
	int64_t first = INT64_MAX;

	for (struct cached *k = cache; k < cache + CACHE_MAX; k++)
		if (k->answer.data && k->made_ms + AGE_MAX_MS + 1 < first)
			first = k->made_ms + AGE_MAX_MS + 1;
	return first;
}

void repeat_expire(int64_t now)
{
	for (struct cached *k = cache; k < cache + CACHE_MAX; k++)
		if (k->answer.data && now - k->made_ms > AGE_MAX_MS)
			text_release(&k->answer);
}
