/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Logs added up.  See churn.h.
 *
 * Traces go through a profile as stacks of a dump would, so names, the allocator's own frames and
 * patterns are its business; sample N of the profile is the Nth trace of all logs. */
#include "heap/churn.h"

#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"

void churn_init(struct churn *c, const struct profile_options *options,
		const struct heap_locations_options *where)
{
	*c = (struct churn){ 0 };
	profile_init(&c->profile, options, where);
	strings_init(&c->texts);
}

void churn_release(struct churn *c)
{
	profile_release(&c->profile);
	strings_release(&c->texts);
	free(c->blocks);
	free(c->threads);
	free(c->logs);
	free(c->stacks);
	*c = (struct churn){ 0 };
}

static void add_traces(struct churn *c, const struct log *l, const struct dump *maps)
{
	auto_free struct dump_stack *stacks = xcalloc(l->trace_count + 1, sizeof(*stacks));
	struct dump d = { .stacks = stacks, .stack_count = l->trace_count, .pcs = l->pcs };

	for (size_t i = 0; i < l->trace_count; i++) {
		stacks[i].pc = l->traces[i].pc;
		stacks[i].pc_count = l->traces[i].pc_count;
	}
	if (maps) {
		d.maps = maps->maps;
		d.map_count = maps->map_count;
	}
	profile_add(&c->profile, &d, 1);
}

static const char *keep_text(struct churn *c, const struct log *l, uint32_t text)
{
	return strings_at(&c->texts, strings_add(&c->texts, strings_at(&l->texts, text)));
}

static void add_threads(struct churn *c, const struct log *l)
{
	for (size_t i = 0; i < l->thread_count; i++) {
		*xpush(c->threads, c->thread_count, c->thread_room) = (struct churn_thread){
			.log = c->log_count,
			.uid = l->threads[i].uid,
			.name = keep_text(c, l, l->threads[i].name),
		};
	}
}

void churn_add(struct churn *c, const char *path, const struct log *l, const struct dump *maps)
{
	size_t first_thread = c->thread_count;

	c->logs = xgrow(c->logs, c->log_count, &c->log_room, sizeof(*c->logs));
	c->logs[c->log_count] = (struct churn_log){
		.path = path,
		.recent = l->recent,
		.named = maps,
		.rate = l->rate,
		.recent_max = l->recent_max,
		.pid = l->pid,
		.duration_ns = l->duration_ns,
		.threads = l->thread_count,
		.traces = l->trace_count,
		.objects = l->block_count,
		.version = keep_text(c, l, l->version),
		.resolution = keep_text(c, l, l->resolution),
	};

	add_traces(c, l, maps);
	add_threads(c, l);
	for (size_t i = 0; i < l->block_count; i++) {
		const struct log_block *b = &l->blocks[i];
		struct churn_thread *thread = &c->threads[first_thread + b->thread];
		bool elsewhere =
			b->freed && b->free_thread != LOG_NONE && b->free_thread != b->thread;

		*xpush(c->blocks, c->block_count, c->block_room) = (struct churn_block){
			.sample = c->trace_count + b->trace,
			.rate = l->rate,
			.bytes = b->bytes,
			.life_ns = log_life_ns(b),
			.freed = b->freed,
			.elsewhere = elsewhere,
		};
		thread->objects++;
		thread->bytes += b->bytes;
		if (b->freed && b->free_thread != LOG_NONE) {
			thread = &c->threads[first_thread + b->free_thread];
			thread->freed++;
			thread->freed_others += elsewhere;
		}
	}
	c->trace_count += l->trace_count;
	c->log_count++;
}

/* One for each stack of the profile; those that look the same are one there. */
static void make_stacks(struct churn *c)
{
	c->stack_count = c->profile.stack_count;
	c->stacks = xcalloc(c->stack_count + 1, sizeof(*c->stacks));
	for (size_t i = c->trace_count; i-- > 0;) {
		size_t stack = profile_stack_of(&c->profile, i);

		if (stack != PROFILE_NO_STACK)
			c->stacks[stack] = (struct churn_stack){ .stack = stack, .sample = i };
	}
}

static void add_block(struct churn_stack *s, const struct churn_block *b)
{
	struct dump_amounts a =
		dump_scale(&(struct dump_counts){ .objects = 1, .bytes = b->bytes }, b->rate);

	s->objects++;
	s->bytes += b->bytes;
	s->freed += b->freed;
	s->elsewhere += b->elsewhere;
	s->all_objects += a.objects;
	s->all_bytes += a.bytes;
	s->mean_ns += b->freed ? (double)b->life_ns : 0;
}

static void add_life(struct churn *c, const struct churn_block *b)
{
	unsigned i = 0;

	while (i + 1 < CHURN_LIVES && b->life_ns >= c->lives[i].to_ns)
		i++;
	c->lives[i].objects++;
	c->lives[i].bytes += b->bytes;
}

static void init_lives(struct churn *c)
{
	uint64_t edge = 1000;

	for (unsigned i = 0; i < CHURN_LIVES; i++, edge *= 10) {
		c->lives[i].from_ns = i ? edge / 10 : 0;
		c->lives[i].to_ns = i + 1 < CHURN_LIVES ? edge : UINT64_MAX;
	}
}

/* A freed block of a stack. */
struct life {
	size_t stack;
	uint64_t ns;
};

ORDER(by_stack_and_life, struct life, RISING(stack) ?: RISING(ns))

ORDER(by_life, struct life, RISING(ns))

/* The least value that a share of all does not exceed: nearest rank. */
static uint64_t quantile(const struct life *sorted, size_t count, unsigned percent)
{
	size_t rank = (count * percent + 99) / 100;

	return sorted[rank ? rank - 1 : 0].ns;
}

static void put_lives(struct churn_stack *s, const struct life *sorted, size_t count)
{
	s->mean_ns /= (double)count;
	s->least_ns = sorted[0].ns;
	s->half_ns = quantile(sorted, count, 50);
	s->p90_ns = quantile(sorted, count, 90);
	s->p99_ns = quantile(sorted, count, 99);
	s->most_ns = sorted[count - 1].ns;
}

ORDER(by_all_bytes, struct churn_stack, FALLING(all_bytes) ?: RISING(sample))

static void add_up(struct churn *c)
{
	auto_free struct life *lives = xcalloc(c->block_count + 1, sizeof(*lives));
	size_t count = 0;

	for (size_t i = 0; i < c->block_count; i++) {
		const struct churn_block *b = &c->blocks[i];
		size_t stack = profile_stack_of(&c->profile, b->sample);

		if (stack == PROFILE_NO_STACK)
			continue;
		add_block(&c->stacks[stack], b);
		add_block(&c->total, b);
		if (!b->freed)
			continue;
		add_life(c, b);
		lives[count++] = (struct life){ stack, b->life_ns };
	}
	if (!count)
		return;
	SORT(lives, count, by_stack_and_life);
	for (size_t i = 0, n; i < count; i += n) {
		for (n = 1; i + n < count && lives[i + n].stack == lives[i].stack; n++)
			;
		put_lives(&c->stacks[lives[i].stack], lives + i, n);
	}
	SORT(lives, count, by_life);
	put_lives(&c->total, lives, count);
}

int churn_finish(struct churn *c, struct err *err)
{
	size_t remaining = 0;
	int error = profile_finish(&c->profile, err);

	if (error)
		return error;
	init_lives(c);
	make_stacks(c);
	add_up(c);
	/* Stacks that only free have no blocks of their own. */
	for (size_t i = 0; i < c->stack_count; i++)
		if (c->stacks[i].objects)
			c->stacks[remaining++] = c->stacks[i];
	c->stack_count = remaining;
	SORT(c->stacks, remaining, by_all_bytes);
	return 0;
}
