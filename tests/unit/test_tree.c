/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Trees against paths that are put together row by row.
 *
 * Half of the recordings have made-up addresses, the others addresses of this very program, which
 * has lines and inlined functions. */
#include "base/buf_type.h"
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/callers.h"
#include "query/tree.h"
#include "query/weight_cache.h"
#include "random_recording.h"

#define ROUNDS 24
#define ADDRESSES 60
#define PATH_MAX_NAMES 4096

static struct self self;
static uint64_t addresses[ADDRESSES];

static int set_up(void **context)
{
	for (unsigned i = 0; i < ADDRESSES; i++)
		addresses[i] = (uint64_t)(uintptr_t)tree_init + 23 + i * 41;
	return self_find(&self);
}

static struct model *round_model(unsigned i)
{
	struct random_options o = { .seed = i + 1, .events = 10 + i * 60, .nodes = 30 + i * 5 };

	if (i % 2) {
		o.self = &self;
		o.addresses = addresses;
		o.address_count = ADDRESSES;
	}
	return random_recording(&o);
}

static struct view random_view(const struct model *m, struct locations *p, uint64_t *state,
			       bool all)
{
	struct view v = { .model = m, .locations = p };

	if (all)
		return v;
	v.bits = calloc(m->allocations.count / 64 + 1, sizeof(*v.bits));
	for (uint32_t i = 0; i < m->allocations.count; i++)
		v.bits[i / 64] |= (uint64_t)random_below(state, 2) << i % 64;
	return v;
}

static uint64_t mix(uint64_t h, uint64_t value)
{
	h = (h ^ value) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

static uint64_t mix_text(uint64_t h, const char *text)
{
	for (; *text; text++)
		h = mix(h, (unsigned char)*text);
	return mix(h, 0x100);
}

/* What tells one name from another, from the texts themselves. */
static uint64_t name_hash(const struct locations *p, enum tree_key key, const char *function,
			  uint32_t module, uint64_t address, const char *file, uint32_t line)
{
	uint64_t h = mix(1, module);

	if (key == TREE_BY_MODULE)
		return h;
	if (!*function)
		return mix(h, address);
	h = mix_text(h, function);
	return key == TREE_BY_LINE ? mix(mix_text(h, file), line) : h;
}

#define NO_STACK_HASH 77

/* A row's names, outermost first. */
static unsigned path_of(const struct view *v, enum tree_key key, uint32_t row, uint64_t *path)
{
	const struct nodes *nodes = &v->model->tables.nodes;
	uint32_t id = columns_stack(&v->model->allocations, row);
	unsigned n = 0, remaining = 0;

	if (!node_is_known(nodes, id)) {
		path[0] = NO_STACK_HASH;
		return 1;
	}
	for (; node_is_known(nodes, id); id = nodes->parent[id]) {
		unsigned count;
		uint32_t location = locations_of_node(v->locations, id);
		const struct location *p = locations_at(v->locations, location);
		const struct location_frame *f = locations_frames(v->locations, location, &count);

		for (unsigned i = 0; i < count; i++)
			path[n++] = name_hash(v->locations, key,
					      locations_string(v->locations, f[i].function),
					      p->module, p->address,
					      locations_string(v->locations, f[i].file), f[i].line);
	}
	for (unsigned i = 0; i < n / 2; i++) {
		uint64_t swap = path[i];

		path[i] = path[n - 1 - i];
		path[n - 1 - i] = swap;
	}
	for (unsigned i = 0; i < n; i++)
		if (key != TREE_BY_MODULE || !remaining || path[remaining - 1] != path[i])
			path[remaining++] = path[i];
	return remaining;
}

struct brute_node {
	struct weight total, self;
	uint64_t first, last;
};

struct brute {
	struct map locations;
	struct brute_node *rows;
	size_t count, room;
};

static struct brute_node *brute_at(struct brute *b, uint64_t hash)
{
	uint64_t index;

	if (map_get(&b->locations, hash, &index))
		return &b->rows[index];
	b->rows = xgrow(b->rows, b->count, &b->room, sizeof(*b->rows));
	b->rows[b->count] = (struct brute_node){ 0 };
	map_set(&b->locations, hash, b->count);
	return &b->rows[b->count++];
}

static void brute_release(struct brute *b)
{
	map_release(&b->locations);
	free(b->rows);
}

static void weigh(struct weight *w, uint64_t size)
{
	w->bytes += size;
	w->count++;
}

static void brute_add(struct brute_node *n, uint64_t size, uint64_t at)
{
	if (!n->total.count || at < n->first)
		n->first = at;
	if (at > n->last)
		n->last = at;
	weigh(&n->total, size);
}

static void brute_tree(struct brute *b, const struct view *v, const struct tree_options *o)
{
	const struct columns *c = &v->model->allocations;
	uint64_t *path = xcalloc(PATH_MAX_NAMES, sizeof(*path));

	brute_at(b, 5);
	for (uint32_t row = 0; row < c->count; row++) {
		uint64_t h = 5, size = columns_size(c, row);
		unsigned n;

		if (!view_has(v, row) || !measuring_takes(&o->measuring, c, row))
			continue;
		n = path_of(v, o->key, row, path);
		brute_add(brute_at(b, h), size, columns_allocated_at(c, row));
		if (o->by_thread) {
			h = mix(h, 1000000 + tags_thread(columns_tags(c, row)));
			brute_add(brute_at(b, h), size, columns_allocated_at(c, row));
		}
		for (unsigned i = 0; i < n; i++) {
			h = mix(h, path[o->bottom_up ? n - 1 - i : i]);
			brute_add(brute_at(b, h), size, columns_allocated_at(c, row));
		}
		weigh(&brute_at(b, h)->self, size);
	}
	free(path);
}

static uint64_t hash_of_name(const struct tree *t, uint32_t name)
{
	const struct tree_name *n = &t->names[name];

	if (n->kind == TREE_THREAD)
		return 1000000 + n->thread;
	if (n->kind == TREE_NO_STACK)
		return NO_STACK_HASH;
	return name_hash(t->locations, t->options.key, locations_string(t->locations, n->function),
			 n->module, n->address, locations_string(t->locations, n->file), n->line);
}

static struct weight children_of(const struct tree *t, uint32_t node, uint32_t *ret_count)
{
	struct weight sum = { 0 };

	*ret_count = 0;
	for (uint32_t i = t->nodes[node].first_child; i != TREE_NONE; i = t->nodes[i].next) {
		assert_int_equal(t->nodes[i].parent, node);
		assert_int_equal(t->nodes[i].depth, t->nodes[node].depth + 1);
		sum.bytes += t->nodes[i].total.bytes;
		sum.count += t->nodes[i].total.count;
		++*ret_count;
	}
	return sum;
}

static void check_node(const struct tree *t, uint32_t i, const struct brute_node *due)
{
	const struct tree_node *n = &t->nodes[i];
	struct weight sum;
	uint32_t children;

	assert_int_equal(n->total.bytes, due->total.bytes);
	assert_int_equal(n->total.count, due->total.count);
	assert_int_equal(n->self.bytes, due->self.bytes);
	assert_int_equal(n->self.count, due->self.count);
	assert_int_equal(n->first, due->first);
	assert_int_equal(n->last, due->last);
	sum = children_of(t, i, &children);
	if (n->hidden) {
		assert_int_equal(n->depth, t->options.max_depth);
		assert_int_equal(children, 0);
		return;
	}
	assert_int_equal(sum.bytes + n->self.bytes, n->total.bytes);
	assert_int_equal(sum.count + n->self.count, n->total.count);
	if (t->options.max_children && !(t->options.by_thread && !i))
		assert_true(children <= t->options.max_children + 1);
}

static void compare_trees(const struct tree *t, struct brute *b, bool pruned)
{
	uint64_t *hashes = xcalloc(t->count, sizeof(*hashes));
	double least = t->options.min_share * (double)tree_weight(&t->options, &t->nodes[0].total);
	size_t before = b->count;

	for (uint32_t i = 0; i < t->count; i++) {
		const struct tree_node *n = &t->nodes[i];
		uint64_t weight = tree_weight(&t->options, &n->total);

		if (t->names[n->name].kind == TREE_OTHERS) {
			assert_true(pruned && n->hidden);
			assert_int_equal(n->first_child, TREE_NONE);
			continue;
		}
		hashes[i] = i ? mix(hashes[n->parent], hash_of_name(t, n->name)) : 5;
		check_node(t, i, brute_at(b, hashes[i]));
		assert_true((double)weight + 1 >= least);
		if (n->next != TREE_NONE && t->names[t->nodes[n->next].name].kind != TREE_OTHERS)
			assert_true(weight >= tree_weight(&t->options, &t->nodes[n->next].total));
		if (i)
			assert_true(n->parent < i);
	}
	assert_int_equal(b->count, before);
	if (!pruned)
		assert_int_equal(t->count, b->count);
	free(hashes);
}

static int heavier(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x > y ? -1 : x < y;
}

/* Of a tree and the same one with max_nodes: all nodes are there that weigh as much as the lightest
 * of so many of the heaviest, and no others. */
static void compare_limited(const struct tree *whole, const struct tree *t)
{
	const struct tree_options *o = &t->options;
	uint64_t *weights = xcalloc(whole->count, sizeof(*weights)), cut = 0;
	uint32_t due = 0, found = 0;

	for (uint32_t i = 0; i < whole->count; i++)
		weights[i] = tree_weight(o, &whole->nodes[i].total);
	qsort(weights, whole->count, sizeof(*weights), heavier);
	if (o->max_nodes < whole->count)
		cut = weights[o->max_nodes - 1];
	for (uint32_t i = 0; i < whole->count; i++)
		due += weights[i] >= cut;
	for (uint32_t i = 0; i < t->count; i++) {
		if (t->names[t->nodes[i].name].kind == TREE_OTHERS)
			continue;
		assert_true(tree_weight(o, &t->nodes[i].total) >= cut);
		found++;
	}
	assert_int_equal(found, due);
	free(weights);
}

static struct tree_options random_tree(const struct model *m, uint64_t *state)
{
	struct tree_options o = {
		.key = random_below(state, TREE_KEYS),
		.bottom_up = random_below(state, 2),
		.by_thread = !random_below(state, 3),
		.by_count = random_below(state, 2),
	};

	o.measuring = measuring_of(m, random_below(state, MEASURE_PINNED), 300);
	return o;
}

static void trees_are_exact(void **context)
{
	uint64_t state = 4242;
	unsigned frames = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct model *m = round_model(i);
		struct locations *p = locations_new(m, NULL);

		for (unsigned k = 0; k < 12; k++) {
			struct tree_options o = random_tree(m, &state);
			struct view v = random_view(m, p, &state, k % 2);
			struct brute b = { 0 };
			struct tree t;

			brute_tree(&b, &v, &o);
			tree_init(&t, &v, &o);
			compare_trees(&t, &b, false);
			frames += t.count;
			if (!o.by_thread) { /* of which all stay, however light they are */
				struct tree limited;

				o.max_nodes = 1 + random_below(&state, t.count + 2);
				tree_init(&limited, &v, &o);
				compare_trees(&limited, &b, true);
				compare_limited(&t, &limited);
				tree_release(&limited);
				o.max_nodes = 0;
			}
			tree_release(&t);
			o.min_share = random_below(&state, 3) * 0.02;
			o.max_depth = random_below(&state, 5);
			o.max_children = random_below(&state, 4);
			tree_init(&t, &v, &o);
			compare_trees(&t, &b, true);
			tree_release(&t);
			brute_release(&b);
			free(v.bits);
		}
		locations_free(p);
		model_free(m);
	}
	assert_true(frames > 1000);
}

static void brute_functions(struct brute *b, const struct view *v, const struct tree_options *o)
{
	const struct columns *c = &v->model->allocations;
	uint64_t *path = xcalloc(PATH_MAX_NAMES, sizeof(*path));

	for (uint32_t row = 0; row < c->count; row++) {
		uint64_t size = columns_size(c, row);
		unsigned n;

		if (!view_has(v, row) || !measuring_takes(&o->measuring, c, row))
			continue;
		n = path_of(v, o->key, row, path);
		weigh(&brute_at(b, path[n - 1])->self, size);
		for (unsigned i = 0; i < n; i++) {
			bool again = false;

			for (unsigned k = 0; k < i; k++)
				again |= path[k] == path[i];
			if (!again)
				weigh(&brute_at(b, path[i])->total, size);
		}
	}
	free(path);
}

/* What passes between two: stacks in which one calls the other, each once. */
static void brute_calls(struct brute *b, struct weight *function, const struct view *v,
			const struct tree_options *o, uint64_t wanted, bool callers)
{
	const struct columns *c = &v->model->allocations;
	uint64_t *path = xcalloc(PATH_MAX_NAMES, sizeof(*path));

	for (uint32_t row = 0; row < c->count; row++) {
		uint64_t size = columns_size(c, row);
		bool within = false;
		unsigned n;

		if (!view_has(v, row) || !measuring_takes(&o->measuring, c, row))
			continue;
		n = path_of(v, o->key, row, path);
		for (unsigned i = 0; i < n; i++)
			within |= path[i] == wanted;
		if (within)
			weigh(function, size);
		for (unsigned i = 1; i < n; i++) {
			uint64_t other = path[callers ? i - 1 : i];
			bool again = false;

			if (path[callers ? i : i - 1] != wanted)
				continue;
			for (unsigned k = 1; k < i; k++)
				again |= path[callers ? k : k - 1] == wanted &&
					 path[callers ? k - 1 : k] == other;
			if (!again)
				weigh(&brute_at(b, other)->total, size);
			if (i == n - 1)
				weigh(&brute_at(b, other)->self, size);
		}
	}
	free(path);
}

static void compare_calls(const struct tree *t, struct brute *b, const struct function_total *rows,
			  uint32_t count)
{
	assert_int_equal(b->count, count);
	for (uint32_t i = 0; i < count; i++) {
		struct brute_node *due = brute_at(b, hash_of_name(t, rows[i].name));

		assert_int_equal(rows[i].total.bytes, due->total.bytes);
		assert_int_equal(rows[i].total.count, due->total.count);
		assert_int_equal(rows[i].self.bytes, due->self.bytes);
		assert_int_equal(rows[i].self.count, due->self.count);
		assert_true(!i || tree_weight(&t->options, &rows[i - 1].total) >=
					  tree_weight(&t->options, &rows[i].total));
	}
}

static void calls_count_once(void **context)
{
	uint64_t state = 23;
	unsigned rows = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct model *m = round_model(i);
		struct locations *p = locations_new(m, NULL);
		struct tree_options o = random_tree(m, &state);
		struct view v = random_view(m, p, &state, i % 3);
		struct function_total *all;
		struct tree t;
		uint32_t count;

		o.bottom_up = false;
		o.key = TREE_BY_FUNCTION;
		tree_init(&t, &v, &o);
		all = tree_functions(&t, &count);
		for (uint32_t k = 0; k < count && k < 5; k++) {
			uint64_t wanted = hash_of_name(&t, all[k].name);
			struct brute above = { 0 }, below = { 0 };
			struct weight whole = { 0 }, again = { 0 };
			struct callers found;
			struct buf text = { 0 };

			tree_name_text(&t, all[k].name, &text);
			callers_init(&found, &t, text.data);
			brute_calls(&above, &whole, &v, &o, wanted, true);
			brute_calls(&below, &again, &v, &o, wanted, false);
			assert_int_equal(found.function.total.bytes, whole.bytes);
			assert_int_equal(found.function.total.count, whole.count);
			assert_int_equal(found.function.self.bytes, all[k].self.bytes);
			compare_calls(&t, &above, found.callers, found.caller_count);
			compare_calls(&t, &below, found.callees, found.callee_count);
			rows += found.caller_count + found.callee_count;
			callers_release(&found);
			brute_release(&above);
			brute_release(&below);
			buf_release(&text);
		}
		free(all);
		tree_release(&t);
		free(v.bits);
		locations_free(p);
		model_free(m);
	}
	assert_true(rows > 100);
}

/* Made-up stacks call themselves all the time. */
static void functions_count_once(void **context)
{
	uint64_t state = 17;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct model *m = round_model(i);
		struct locations *p = locations_new(m, NULL);
		struct tree_options o = random_tree(m, &state);
		struct view v = random_view(m, p, &state, i % 3);
		struct function_total *all;
		struct brute b = { 0 };
		struct tree t;
		uint32_t count;

		o.bottom_up = false;
		brute_functions(&b, &v, &o);
		tree_init(&t, &v, &o);
		all = tree_functions(&t, &count);
		for (uint32_t k = 0; k < count; k++) {
			struct brute_node *due = brute_at(&b, hash_of_name(&t, all[k].name));

			assert_int_equal(all[k].total.bytes, due->total.bytes);
			assert_int_equal(all[k].total.count, due->total.count);
			assert_int_equal(all[k].self.bytes, due->self.bytes);
			assert_int_equal(all[k].self.count, due->self.count);
			if (k)
				assert_true(tree_weight(&o, &all[k - 1].total) >=
					    tree_weight(&o, &all[k].total));
		}
		/* What has no stack is no function. */
		assert_in_range(b.count, count, count + 1);
		free(all);
		tree_release(&t);
		brute_release(&b);
		free(v.bits);
		locations_free(p);
		model_free(m);
	}
}

#define ASKERS 4
#define MOMENTS 12 /* more than are kept */

struct asking {
	const struct view *v;
	const struct stack_weights *due;
	const struct measuring *how;
	unsigned wrong;
};

static void *ask_for_weights(void *context)
{
	struct asking *a = context;

	for (unsigned i = 0; i < 6 * MOMENTS; i++) {
		unsigned k = i * 7 % MOMENTS;
		struct stack_weights w;

		weigh_stacks(&w, a->v, &a->how[k], k % 2);
		if (w.count != a->due[k].count || w.total.bytes != a->due[k].total.bytes ||
		    w.total.count != a->due[k].total.count ||
		    (w.count && memcmp(w.rows, a->due[k].rows, w.count * sizeof(*w.rows)) != 0))
			a->wrong++;
		stack_weights_release(&w);
	}
	return NULL;
}

/* Several threads that ask a view that keeps its weights get what another one gives. */
static void cached_weights_are_the_same(void **context)
{
	uint64_t state = 99;

	for (unsigned i = 0; i < ROUNDS; i += 5) {
		struct model *m = round_model(i);
		struct locations *p = locations_new(m, NULL);
		struct view v = random_view(m, p, &state, i % 2);
		struct measuring how[MOMENTS];
		struct stack_weights due[MOMENTS];
		struct asking askers[ASKERS];
		pthread_t threads[ASKERS];

		for (unsigned k = 0; k < MOMENTS; k++) {
			how[k] = measuring_of(m, k % MEASURE_PINNED, 100 + 50 * k);
			weigh_stacks(&due[k], &v, &how[k], k % 2);
		}
		view_cache_weights(&v);
		for (unsigned k = 0; k < ASKERS; k++) {
			askers[k] = (struct asking){ &v, due, how, 0 };
			assert_int_equal(
				pthread_create(&threads[k], NULL, ask_for_weights, &askers[k]), 0);
		}
		for (unsigned k = 0; k < ASKERS; k++) {
			pthread_join(threads[k], NULL);
			assert_int_equal(askers[k].wrong, 0);
		}
		for (unsigned k = 0; k < MOMENTS; k++)
			stack_weights_release(&due[k]);
		weight_cache_free(v.weight_cache);
		free(v.bits);
		locations_free(p);
		model_free(m);
	}
}

static void names_are_written(void **context)
{
	struct model *m = round_model(1);
	struct locations *p = locations_new(m, NULL);
	struct view v = { .model = m, .locations = p };
	struct tree_options o = { .measuring = measuring_of(m, MEASURE_ALLOCATED, 0),
				  .key = TREE_BY_LINE,
				  .by_thread = true };
	struct buf text = { 0 };
	struct tree t;
	unsigned lines = 0, threads = 0;

	tree_init(&t, &v, &o);
	for (uint32_t i = 0; i < t.name_count; i++) {
		buf_clear(&text);
		tree_name_text(&t, i, &text);
		assert_true(text.size > 0);
		lines += strstr(text.data, " at tree") != NULL;
		threads += strstr(text.data, "thread worker (10") != NULL;
	}
	assert_true(lines > 3);
	assert_int_equal(threads, 3);
	buf_release(&text);
	tree_release(&t);
	locations_free(p);
	model_free(m);
}

UNIT(tree)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_are_exact),   cmocka_unit_test(functions_count_once),
		cmocka_unit_test(calls_count_once),  cmocka_unit_test(cached_weights_are_the_same),
		cmocka_unit_test(names_are_written),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
