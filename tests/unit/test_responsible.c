/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whose frame it is: names against the rules, wrappers by shape, and what a user hides. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf_type.h"
#include "query/responsible.h"
#include "random_recording.h"
#include "recording_writer.h"

static enum frame_kind kind(const char *name, const char *raw)
{
	enum frame_kind k = frame_kind_of_function(frame_rules(), name, raw);

	return k == FRAME_KINDS ? FRAME_PROGRAM : k;
}

static void names_have_kinds(void **context)
{
	static const struct {
		const char *name, *raw;
		enum frame_kind kind;
	} rows[] = {
		{ "malloc", "", FRAME_ALLOCATOR },
		{ "mallocate", "", FRAME_PROGRAM },
		{ "operator new(unsigned long)", "_Znwm", FRAME_ALLOCATOR },
		{ "Pool::operator new(unsigned long)", "_ZN4PoolnwEm", FRAME_PROGRAM },
		{ "zmalloc_usable", "", FRAME_WRAPPER },
		{ "std::vector<int, std::allocator<int> >::push_back(int&&)", "_ZNSt6vector",
		  FRAME_LIBRARY },
		{ "void std::vector<Row>::_M_realloc_insert<Row const&>(Row const&)", "_ZN",
		  FRAME_LIBRARY },
		/* A template's return type is in front of its name: it is not whose it is. */
		{ "std::vector<int> parse<int>(std::string const&)", "_Z5parse", FRAME_PROGRAM },
		{ "std::enable_if<true, int>::type (anonymous namespace)::f<int>(int)", "_Z",
		  FRAME_PROGRAM },
		{ "decltype (f(1)) std::invoke<int (&)()>(int (&)())", "_Z", FRAME_LIBRARY },
		{ "Table::operator()(std::string const&) const", "_Z", FRAME_PROGRAM },
		{ "std::function<void ()>::operator()() const", "_Z", FRAME_LIBRARY },
		{ "Row::operator std::string() const", "_Z", FRAME_PROGRAM },
		{ "bool std::operator< <int>(A const&, A const&)", "_Z", FRAME_LIBRARY },
		{ "core::Engine::start()", "_ZN4core6Engine5startEv", FRAME_PROGRAM },
		{ "alloc::vec::Vec<T,A>::push", "_ZN5alloc3vec3Vec17h0123456789abcdefE",
		  FRAME_LIBRARY },
		{ "core::ptr::drop_in_place<app::Row>", "_RNvNtCs_4core3ptr", FRAME_LIBRARY },
		{ "<alloc::vec::Vec<u8> as core::clone::Clone>::clone", "", FRAME_LIBRARY },
		{ "<T as core::convert::Into<U>>::into", "", FRAME_LIBRARY },
		{ "<[T] as alloc::slice::hack::ConvertVec>::to_vec", "", FRAME_LIBRARY },
		{ "<str>::to_owned", "", FRAME_LIBRARY },
		{ "<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec::<alloc::alloc::Global>", "_R",
		  FRAME_LIBRARY },
		{ "<&mut I as core::iter::traits::iterator::Iterator>::next", "", FRAME_LIBRARY },
		{ "<app::Row as core::clone::Clone>::clone", "", FRAME_PROGRAM },
		{ "<app::Table>::add", "", FRAME_PROGRAM },
		{ "app::main::{closure#0}", "_RNC", FRAME_PROGRAM },
		{ "hashbrown::raw::RawTable<T,A>::reserve_rehash", "_RNv", FRAME_LIBRARY },
		{ "runtime.mallocgc", "", FRAME_RUNTIME },
		{ "_PyEval_EvalFrameDefault", "", FRAME_RUNTIME },
		{ "v8::internal::Zone::New(unsigned long)", "_ZN2v8", FRAME_RUNTIME },
		{ "_start", "", FRAME_START },
		{ "main", "", FRAME_PROGRAM },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (kind(rows[i].name, rows[i].raw) != rows[i].kind)
			print_error("%s is %s\n", rows[i].name,
				    frame_kind_names[kind(rows[i].name, rows[i].raw)]);
		assert_int_equal(kind(rows[i].name, rows[i].raw), rows[i].kind);
	}
	assert_int_equal(frame_kind_of_module(frame_rules(), "/lib/libc.so.6"), FRAME_LIBRARY);
	assert_int_equal(frame_kind_of_module(frame_rules(), "/opt/libcar.so.6"), FRAME_KINDS);
}

static void wrong_rules_are_named(void **context)
{
	struct err err = { 0 };
	struct frame_rules *r = frame_rules_read("# mine\nhidden function a* b\n", &err);

	assert_int_equal(frame_kind_of_function(r, "abc", ""), FRAME_HIDDEN);
	assert_int_equal(frame_kind_of_function(r, "bc", ""), FRAME_KINDS);
	frame_rules_free(r);
	assert_null(frame_rules_read("\nhiden function a\n", &err));
	assert_non_null(strstr(err.text, "line 2: 'hiden' is no kind"));
	assert_null(frame_rules_read("hidden somewhere a", &err));
	assert_non_null(strstr(err.text, "'somewhere' is no place"));
	assert_null(frame_rules_read("hidden function", &err));
}

/* Stacks by hand: nodes are places in one module without names. */
struct by_hand {
	struct writer w;
	uint32_t nodes;
	uint64_t now;
};

static uint32_t add_node(struct by_hand *h, uint32_t parent, uint64_t place)
{
	struct writer_node node = { .parent = parent, .address = place, .module = 1 };

	writer_nodes(&h->w, ++h->nodes, &node, 1);
	return h->nodes;
}

static void add_block(struct by_hand *h, uint32_t stack, uint64_t size)
{
	struct event e =
		make_event(OP_ALLOC, CALL_malloc, h->now, 0x7f0000000000ull + h->now, size, stack);

	h->now += 1000;
	writer_run(&h->w, 0, &e, 1);
}

static void by_hand_begin(struct by_hand *h)
{
	*h = (struct by_hand){ .now = 1000 };
	writer_init(&h->w, -1);
	writer_header(&h->w, FORMAT_VERSION);
	writer_info(&h->w, "clock", "ns", 2);
	writer_module(&h->w, 1, 0, 0x1000, 0x80000000, NULL, 0, "/bin/imaginary");
}

static struct model *by_hand_end(struct by_hand *h)
{
	struct model_options options = { .workers = 0 };
	struct model *m;
	struct err err;

	writer_events(&h->w, UINT64_MAX);
	writer_end(&h->w, true);
	assert_int_equal(model_open_memory(&m, h->w.out.data, h->w.out.size, &err), 0);
	model_load(m, &options);
	model_finish(m);
	return m;
}

#define MAIN 0x2000
#define WRAPPER 0x3000
#define BETWEEN(i) (0x3100 + (i)*0x100)
#define CALLER(i) (0x4000 + (i)*0x100)

/* How functions get memory through one place. */
struct shape {
	unsigned callers;
	unsigned between; /* functions, one after the other, between them and the place */
	uint64_t size, step;
};

/* Does the place lead, or the one that called for it? */
static bool is_hidden(const struct shape *s)
{
	uint32_t main_node, stack = 0;
	struct responsible_frame f;
	struct locations *p;
	struct responsible *r;
	struct by_hand h;
	struct model *m;
	bool own;

	by_hand_begin(&h);
	main_node = add_node(&h, 0, MAIN);
	for (unsigned i = 0; i < s->callers; i++) {
		stack = add_node(&h, main_node, CALLER(i));
		for (unsigned k = 0; k < s->between; k++)
			stack = add_node(&h, stack, BETWEEN(k));
		stack = add_node(&h, stack, WRAPPER);
		add_block(&h, stack, s->size + i * s->step);
	}
	m = by_hand_end(&h);
	p = locations_new(m, NULL);
	r = responsible_new(m, p, NULL, NULL);
	assert_true(responsible_find(r, stack, &f));
	own = f.location == locations_of_node(p, stack);
	if (own) {
		assert_int_equal(responsible_depth(r, stack), 0);
	} else {
		assert_int_equal(locations_at(p, f.location)->address, CALLER(s->callers - 1) - 1);
		assert_int_equal(responsible_depth(r, stack), 1 + s->between);
	}
	responsible_free(r);
	locations_free(p);
	model_free(m);
	writer_release(&h.w);
	return !own;
}

static void wrappers_are_found_by_shape(void **context)
{
	assert_true(is_hidden(&(struct shape){ .callers = 10, .size = 16, .step = 24 }));
	/* A constructor: what it makes is always as large. */
	assert_false(is_hidden(&(struct shape){ .callers = 10, .size = 64 }));
	/* A pool: always as large, too, but nobody's object. */
	assert_true(is_hidden(&(struct shape){ .callers = 10, .size = 65536 }));
	assert_false(is_hidden(&(struct shape){ .callers = 3, .size = 65536 }));
	/* A function of the program that a few others call. */
	assert_false(is_hidden(&(struct shape){ .callers = 3, .size = 16, .step = 24 }));
}

static void towers_of_wrappers_are_found(void **context)
{
	for (unsigned between = 1; between < 3; between++) {
		struct shape s = { .callers = 10, .between = between, .size = 16, .step = 24 };

		assert_true(is_hidden(&s));
		s.callers = 3;
		assert_false(is_hidden(&s));
		s = (struct shape){ .callers = 10, .between = between, .size = 64 };
		assert_false(is_hidden(&s));
	}
	/* A way so long is the program's. */
	assert_false(
		is_hidden(&(struct shape){ .callers = 10, .between = 6, .size = 16, .step = 24 }));
}

static void rules_on_paths_and_packages(void **context)
{
	const struct frame_rules *r = frame_rules();

	assert_int_equal(frame_kind_of_source(r, "/usr/lib/python3.11/re/__init__.py"),
			 FRAME_STANDARD);
	assert_int_equal(frame_kind_of_source(r, "<frozen importlib._bootstrap>"), FRAME_STANDARD);
	/* The longer pattern: what somebody installed there is not the language's. */
	assert_int_equal(frame_kind_of_source(r, "/opt/lib/python3.11/site-packages/a/b.py"),
			 FRAME_PROGRAM);
	assert_int_equal(frame_kind_of_source(r, "/srv/shop.py"), FRAME_KINDS);
	assert_int_equal(frame_kind_of_source(r, ""), FRAME_KINDS);
	assert_int_equal(
		frame_kind_of_module(r, "/usr/lib/python3.11/lib-dynload/_json.cpython-311.so"),
		FRAME_RUNTIME);
	assert_int_equal(frame_kind_of_module(r, "/srv/_json.cpython-311.so"), FRAME_KINDS);
	assert_int_equal(kind("github.com/a/shop._cgo_cmalloc", ""), FRAME_WRAPPER);
	assert_int_equal(kind("main._Cfunc_shop_make", ""), FRAME_RUNTIME);
	assert_int_equal(kind("main.(*Store).Read", ""), FRAME_PROGRAM);
	assert_int_equal(kind("parse.part.0", ""), FRAME_PROGRAM);
	assert_int_equal(kind("[JIT Java]+0x7f0000001234", ""), FRAME_RUNTIME);
	assert_int_equal(kind("java/nio/Bits::reserveMemory", ""), FRAME_STANDARD);
}

/* The first frame of the best kind, found by going outwards from each stack. */
static void random_stacks_agree(void **context)
{
	for (unsigned round = 0; round < 12; round++) {
		struct model *m = random_recording(&(struct random_options){
			.seed = round + 1, .events = 300, .nodes = 20 + round * 20 });
		struct locations *p = locations_new(m, NULL);
		struct responsible *r = responsible_new(m, p, NULL, NULL);
		const struct nodes *n = &m->tables.nodes;

		for (uint32_t i = 1; i < n->count; i++) {
			struct responsible_frame found;
			enum frame_kind best = FRAME_START;
			unsigned depth = 0, best_depth = 0;
			bool any = false;

			for (uint32_t id = i; id && id < n->count && n->frame[id];
			     id = n->parent[id]) {
				uint32_t at = locations_of_node(p, id);
				unsigned count;

				locations_frames(p, at, &count);
				for (unsigned k = 0; k < count; k++, depth++)
					if (!any || responsible_kind(r, at, k) > best) {
						best = responsible_kind(r, at, k);
						best_depth = depth;
						any = true;
					}
			}
			assert_int_equal(responsible_find(r, i, &found), any);
			if (!any)
				continue;
			assert_int_equal(found.kind, best);
			assert_int_equal(responsible_depth(r, i), best_depth);
		}
		responsible_free(r);
		locations_free(p);
		model_free(m);
	}
}

/* The field of filters, and frames that a user hides. */
static void filters_know_it(void **context)
{
	struct model *m = random_recording(&(struct random_options){ .seed = 5, .events = 400 });
	struct locations *p = locations_new(m, NULL);
	struct filter *f = filter_new(), *hiding = filter_new();
	struct err err = { 0 };
	struct view *v, *h;
	uint32_t chosen = 0, moved = 0;

	assert_int_equal(filter_parse(f, "responsible ~ '[0-7].$'", &err), 0);
	assert_int_equal(filter_add(hiding, "hide", "module ~ imaginary", &err), 0);
	assert_int_equal(filter_add(hiding, "hide", "size > 3", &err), -EINVAL);
	assert_non_null(strstr(err.text, "by function, source and module only"));
	v = view_new(m, p, f, &err);
	h = view_new(m, p, hiding, &err);
	assert_non_null(v);
	assert_non_null(h);
	assert_int_equal(h->count, m->allocations.count);
	for (uint32_t row = 0; row < m->allocations.count; row++) {
		struct responsible_frame at;
		struct buf name = { 0 };
		bool fits = false;

		if (responsible_find(responsible_of_view(v), columns_stack(&m->allocations, row),
				     &at)) {
			responsible_name(responsible_of_view(v), &at, &name);
			fits = strchr("01234567", name.data[name.size - 2]);
			assert_int_equal(at.kind, FRAME_PROGRAM);
		}
		assert_int_equal(view_has(v, row), fits);
		chosen += fits;
		if (responsible_find(responsible_of_view(h), columns_stack(&m->allocations, row),
				     &at))
			moved += at.kind == FRAME_HIDDEN;
		buf_release(&name);
	}
	assert_true(chosen > 10 && chosen < m->allocations.count);
	assert_true(moved > 10);
	view_free(v);
	view_free(h);
	filter_free(f);
	filter_free(hiding);
	locations_free(p);
	model_free(m);
}

/* What a user calls the program's own is so, though it is hidden too. */
static void own_frames_lead(void **context)
{
	struct model *m = random_recording(&(struct random_options){ .seed = 5, .events = 400 });
	struct locations *p = locations_new(m, NULL);
	struct filter *f = filter_new();
	struct err err = { 0 };
	struct responsible_frame at;
	struct view *v;
	uint32_t own = 0;

	assert_int_equal(filter_add(f, "hide", "module ~ .", &err), 0);
	assert_int_equal(filter_add(f, "own", "module ~ imaginary", &err), 0);
	assert_int_equal(filter_add(f, "own", "leaked", &err), -EINVAL);
	v = view_new(m, p, f, &err);
	assert_non_null(v);
	assert_int_equal(v->count, m->allocations.count);
	for (uint32_t i = 0; i < locations_count(p); i++) {
		const struct location *l = locations_at(p, i);
		unsigned count;

		locations_frames(p, i, &count);
		for (unsigned k = 0; k < count && l->module; k++) {
			bool imaginary = strstr(locations_module_path(p, l->module), "imaginary");

			assert_int_equal(responsible_kind(responsible_of_view(v), i, k) ==
						 FRAME_PROGRAM,
					 imaginary);
			own += imaginary;
		}
	}
	assert_true(own > 10);
	for (uint32_t row = 0; row < m->allocations.count; row++)
		if (responsible_find(responsible_of_view(v), columns_stack(&m->allocations, row),
				     &at))
			assert_true(at.kind == FRAME_PROGRAM || at.kind == FRAME_HIDDEN);
	view_free(v);
	filter_free(f);
	locations_free(p);
	model_free(m);
}

UNIT(responsible)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_kinds),
		cmocka_unit_test(wrong_rules_are_named),
		cmocka_unit_test(rules_on_paths_and_packages),
		cmocka_unit_test(wrappers_are_found_by_shape),
		cmocka_unit_test(towers_of_wrappers_are_found),
		cmocka_unit_test(random_stacks_agree),
		cmocka_unit_test(filters_know_it),
		cmocka_unit_test(own_frames_lead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
