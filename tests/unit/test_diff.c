/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Differences of two random recordings against paths of names, put together row by row. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/diff.h"
#include "random_recording.h"

#define ROUNDS 12
#define ADDRESSES 50

static struct self self;
static uint64_t addresses[ADDRESSES];

static int set_up(void **context)
{
	for (unsigned i = 0; i < ADDRESSES; i++)
		addresses[i] = (uint64_t)(uintptr_t)diff_init + 19 + i * 29;
	return self_find(&self);
}

static uint64_t mix_text(uint64_t h, const char *text)
{
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3ull;
	return (h ^ 0x1ff) * 0x9e3779b97f4a7c15ull;
}

struct table {
	struct map locations;
	struct diff_pair *rows;
	size_t count, room;
};

static struct diff_pair *at(struct table *t, uint64_t hash)
{
	uint64_t index;

	if (map_get(&t->locations, hash, &index))
		return &t->rows[index];
	t->rows = xgrow(t->rows, t->count, &t->room, sizeof(*t->rows));
	t->rows[t->count] = (struct diff_pair){ 0 };
	map_set(&t->locations, hash, t->count);
	return &t->rows[t->count++];
}

/* A row's names, innermost first. */
static unsigned names_of(const struct view *v, uint32_t row, char names[][64])
{
	const struct nodes *nodes = &v->model->tables.nodes;
	uint32_t id = columns_stack(&v->model->allocations, row);
	unsigned n = 0;

	if (!node_is_known(nodes, id)) {
		strcpy(names[0], "(no stack)");
		return 1;
	}
	for (; node_is_known(nodes, id); id = nodes->parent[id]) {
		uint32_t location = locations_of_node(v->locations, id);
		const struct location *p = locations_at(v->locations, location);
		unsigned count;
		const struct location_frame *f = locations_frames(v->locations, location, &count);

		for (unsigned i = 0; i < count; i++, n++) {
			const char *name = locations_string(v->locations, f[i].function);

			if (*name)
				snprintf(names[n], 64, "%s", name);
			else
				snprintf(names[n], 64, "%s+0x%llx", program_invocation_short_name,
					 (unsigned long long)p->address);
		}
	}
	return n;
}

static void fill(struct table *stacks, struct table *functions, const struct view *v,
		 const struct measuring *how, bool after)
{
	const struct columns *c = &v->model->allocations;
	static char names[4096][64];

	for (uint32_t row = 0; row < c->count; row++) {
		uint64_t h = 5;
		unsigned n;
		struct diff_pair *p;

		if (!measuring_takes(how, c, row))
			continue;
		n = names_of(v, row, names);
		for (unsigned i = n; i-- > 0;)
			h = mix_text(h, names[i]);
		p = at(stacks, h);
		*(after ? &p->after.bytes : &p->before.bytes) += columns_size(c, row);
		*(after ? &p->after.count : &p->before.count) += 1;
		for (unsigned i = 0; i < n; i++) {
			bool again = false;

			for (unsigned k = 0; k < i; k++)
				again |= !strcmp(names[k], names[i]);
			if (again)
				continue;
			p = at(functions, mix_text(1, names[i]));
			*(after ? &p->after.bytes : &p->before.bytes) += columns_size(c, row);
			*(after ? &p->after.count : &p->before.count) += 1;
		}
	}
}

static uint64_t path_hash(const struct diff *d, uint32_t node)
{
	if (!node)
		return 5;
	return mix_text(path_hash(d, d->nodes[node].parent),
			strings_at(&d->names, d->nodes[node].name));
}

static void check(const struct diff *d, struct table *stacks, struct table *functions)
{
	assert_int_equal(d->stack_count, stacks->count);
	for (uint32_t i = 0; i < d->stack_count; i++) {
		const struct diff_stack *s = &d->stacks[i];

		assert_memory_equal(&s->weight, at(stacks, path_hash(d, s->node)),
				    sizeof(s->weight));
		if (i)
			assert_true(llabs(diff_change(d, &d->stacks[i - 1].weight)) >=
				    llabs(diff_change(d, &s->weight)));
	}
	assert_int_equal(d->function_count, functions->count);
	for (uint32_t i = 0; i < d->function_count; i++) {
		const struct diff_function *f = &d->functions[i];
		const char *name = strings_at(&d->names, f->name);

		assert_memory_equal(&f->total, at(functions, mix_text(1, name)), sizeof(f->total));
	}
	assert_int_equal(stacks->count, d->stack_count);
	assert_int_equal(functions->count, d->function_count);
}

static void table_release(struct table *t)
{
	map_release(&t->locations);
	free(t->rows);
}

static void differences_are_exact(void **context)
{
	unsigned seen[DIFF_STATUSES] = { 0 };
	uint64_t state = 3;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct random_options o = { .events = 100 + i * 30,
					    .nodes = 20,
					    .self = &self,
					    .addresses = addresses,
					    .address_count = ADDRESSES };
		struct model *a, *b;
		struct view va, vb;
		struct measuring how_a, how_b;
		enum measure measure = random_below(&state, MEASURE_PINNED);
		struct table stacks = { 0 }, functions = { 0 };
		struct diff d;

		/* The same stacks, perhaps, and other traffic. */
		o.seed = 1 + i;
		a = random_recording(&o);
		o.seed += i % 3;
		o.events += i * 10;
		b = random_recording(&o);
		va = (struct view){ .model = a, .locations = locations_new(a, NULL) };
		vb = (struct view){ .model = b, .locations = locations_new(b, NULL) };
		how_a = measuring_of(a, measure, 400);
		how_b = measuring_of(b, measure, 400);
		diff_init(&d, &va, &how_a, &vb, &how_b, i % 2);
		fill(&stacks, &functions, &va, &how_a, false);
		fill(&stacks, &functions, &vb, &how_b, true);
		check(&d, &stacks, &functions);
		for (uint32_t k = 0; k < d.stack_count; k++)
			seen[diff_status(&d, &d.stacks[k].weight)]++;
		diff_release(&d);
		table_release(&stacks);
		table_release(&functions);
		locations_free(va.locations);
		locations_free(vb.locations);
		model_free(a);
		model_free(b);
	}
	for (unsigned i = 0; i < DIFF_STATUSES; i++)
		assert_true(seen[i] > 0);
}

static void nothing_changed(void **context)
{
	struct random_options o = { .seed = 9, .events = 400 };
	struct model *a = random_recording(&o), *b = random_recording(&o);
	struct view va = { .model = a, .locations = locations_new(a, NULL) };
	struct view vb = { .model = b, .locations = locations_new(b, NULL) };
	struct measuring how = measuring_of(a, MEASURE_PEAK, 0);
	struct diff d;

	diff_init(&d, &va, &how, &vb, &how, false);
	assert_true(d.stack_count > 3);
	for (uint32_t k = 0; k < d.stack_count; k++)
		assert_int_equal(diff_status(&d, &d.stacks[k].weight), DIFF_SAME);
	assert_int_equal(d.nodes[0].total.after.bytes, a->totals.peak_bytes);
	assert_int_equal(d.nodes[0].total.before.bytes, a->totals.peak_bytes);
	diff_release(&d);
	locations_free(va.locations);
	locations_free(vb.locations);
	model_free(a);
	model_free(b);
}

UNIT(diff)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(differences_are_exact),
		cmocka_unit_test(nothing_changed),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
