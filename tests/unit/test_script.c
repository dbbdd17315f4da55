/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Scripts as a server runs them: what they put out, what they are kept from, and how soon another
 * thread ends one.  What the vocabulary means is tests/e2e/test_script.py. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "answer/snapshot.h"
#include "base/buf.h"
#include "base/buf_text.h"
#include "base/now.h"
#include "base/xalloc.h"
#include "random_recording.h"
#include "script/script.h"

#define MEMORY (64u << 20)

/* What a script put out: each kind's bytes. */
struct output {
	struct buf texts[SCRIPT_PICTURE + 1];
	char name[64];
	int error; /* that put() is to give */
};

static int put(void *context, enum script_output kind, const char *name, const void *bytes,
	       size_t size)
{
	struct output *out = context;

	if (name)
		snprintf(out->name, sizeof(out->name), "%s", name);
	buf_add(&out->texts[kind], bytes, size);
	return out->error;
}

static void release_output(struct output *out)
{
	for (unsigned i = 0; i <= SCRIPT_PICTURE; i++)
		buf_release(&out->texts[i]);
}

static struct snapshot *make_snapshot(uint64_t seed)
{
	struct random_options o = { .seed = seed, .events = 2000 };
	struct snapshot *s = snapshot_new();

	s->model = random_recording(&o);
	s->locations = locations_new(s->model, NULL);
	s->name = xstrdup(seed == 1 ? "first" : "second");
	return s;
}

static struct script *make_script(struct output *out, const atomic_bool *stop, uint64_t time_ns)
{
	struct script_options o = {
		.host = { .put = put, .takes_tables = true, .context = out },
		.limits = { .memory = MEMORY, .time_ns = time_ns },
		.sandbox = true,
		.stop = stop,
	};

	return script_new(&o);
}

static void run(struct script *s, const char *text, struct script_end *end)
{
	script_run(s, "console", text, strlen(text), end);
}

static void what_a_server_gets(void **state)
{
	struct output out = { .name = "" };
	struct script *s = make_script(&out, NULL, 0);
	struct snapshot *first = make_snapshot(1), *second = make_snapshot(2);
	struct script_end end;

	script_add(s, first);
	script_add(s, second);
	snapshot_drop(first);
	snapshot_drop(second);
	run(s, "x = data(2).name print(x, data().name)", &end);
	assert_int_equal(end.status, SCRIPT_DONE);
	assert_string_equal(out.texts[SCRIPT_TEXT].data, "second\tfirst\n");
	run(s, "show{{a = 1, b = x}}", &end);
	assert_string_equal(out.texts[SCRIPT_TABLE].data,
			    "{\"columns\":[\"a\",\"b\"],\"rows\":[{\"a\":1,\"b\":\"second\"}]}");
	run(s, "data(2):allocations():save_as_graph('leaks.svg')", &end);
	assert_int_equal(end.status, SCRIPT_DONE);
	assert_string_equal(out.name, "leaks.svg");
	assert_memory_equal(out.texts[SCRIPT_PICTURE].data, "<svg ", 5);
	run(s, "print('before')\nerror('wrong')", &end);
	assert_int_equal(end.status, SCRIPT_FAILED);
	assert_int_equal(end.line, 2);
	assert_string_equal(end.text, "console:2: wrong");
	run(s, "exit(5)", &end);
	assert_int_equal(end.status, SCRIPT_EXITED);
	assert_int_equal(end.code, 5);
	run(s, "x =", &end);
	assert_int_equal(end.status, SCRIPT_SYNTAX);
	out.error = -EPIPE;
	run(s, "pcall(print) print(1)", &end);
	assert_int_equal(end.status, SCRIPT_FAILED);
	script_free(s);
	release_output(&out);
}

/* What the last word may become: of values, of what calls and indices give, and of what is not
 * known. */
static const struct {
	const char *text, *names;
} completed[] = {
	{ "allocations()[1].si", "size" },
	{ "l:only_leaked()[1].thread_n", "thread_name" },
	{ "print(allocations():only_leaked().ungr", "" },
	{ "print(allocations():group_by_backtrace().ungr", "ungroup" },
	{ "x = #allocations():where('size > (1)'):group_by('function')[1].group_by_b",
	  "group_by_backtrace" },
	{ "l[1]:backtrace():fr", "frames" },
	{ "graph():add(l):trim_", "trim_left\ntrim_right" },
	{ "for a in l:iter() do print(a.chain_len", "chain_length" },
	{ "save('never', 'x'):only_all_l", "only_all_leaked" },
	{ "exit():only_all_l", "only_all_leaked" },
	{ "ms(5).n", "ns" },
	{ "json.enc", "encode" },
	{ "nothing_such", "" },
	{ "", "" },
};

static void lines_of_a_prompt(void **state)
{
	struct output out = { .name = "" };
	struct script *s = make_script(&out, NULL, 0);
	struct snapshot *first = make_snapshot(1);
	struct buf words = { 0 };
	struct script_end end;

	script_add(s, first);
	snapshot_drop(first);
	assert_false(script_run_line(s, "for i = 1, 2 do", 15, &end));
	assert_true(script_run_line(s, "1 + 1, nil, 'x'", 15, &end));
	assert_string_equal(out.texts[SCRIPT_TEXT].data, "2\nx\n");
	assert_true(script_run_line(s, "l = allocations()", 17, &end));
	script_complete(s, "l:only_lea", &words);
	assert_string_equal(words.data, "only_leaked\nonly_leaked_or_deallocated_after");
	buf_clear(&words);
	script_complete(s, "x = allocations():group_by_b", &words);
	assert_string_equal(words.data, "group_by_backtrace");
	buf_clear(&words);
	script_complete(s, "print(alloc", &words);
	assert_string_equal(words.data, "allocations");
	for (size_t i = 0; i < sizeof(completed) / sizeof(*completed); i++) {
		buf_clear(&words);
		script_complete(s, completed[i].text, &words);
		if (strcmp(words.data ? words.data : "", completed[i].names) != 0)
			fail_msg("%s: %s", completed[i].text, words.data);
	}
	assert_true(script_run_line(s, "x", 1, &end)); /* nothing of that was called */
	buf_release(&words);
	script_free(s);
	release_output(&out);
}

/* What would run for ever, in loops of the script and of what it calls. */
static const char *const endless[] = {
	"while true do end",
	"while true do pcall(function() while true do end end) end",
	"while true do ('x'):rep(10000000) end",
	"(('a'):rep(40)):find(('a*'):rep(40) .. 'b')",
	"(('x'):rep(1000000)):gsub('.-y', '')",
	"local t = {} for i = 1, 1000000 do t[i] = i * 7919 % 1000003 end while true do "
	"table.sort(t) for i = 1, 1000000 do t[i] = i * 7919 % 1000003 end end",
	"local t = {} for i = 1, 1000000 do t[i] = 'x' end while true do table.concat(t) end",
	"local t = {} for i = 1, 1000000 do t[i] = i end while true do table.insert(t, 1, 0) "
	"table.remove(t, 1) end",
	"table.move({}, 1, 1 << 40, 2)",
	"while true do json.decode('[' .. ('1,'):rep(100000) .. '1]') end",
	"while true do local n = #allocations():only_larger(1) end",
	"while true do for a in allocations():iter() do local x = a.size end end",
	"while true do data():ask_json('overview') end",
	"local t = {} while true do t[#t % 100000 + 1] = tostring(#t) end",
};

struct running {
	struct script *script;
	const char *text;
	struct script_end end;
	atomic_bool ended;
};

static void *run_endless(void *context)
{
	struct running *r = context;

	run(r->script, r->text, &r->end);
	atomic_store(&r->ended, true);
	return NULL;
}

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Its own processor time from the flag to the end, so that a busy machine changes nothing. */
static uint64_t time_to_stop(const char *text)
{
	static atomic_bool stop;
	struct output out = { .name = "" };
	struct running r = { .text = text };
	struct snapshot *first = make_snapshot(1);
	uint64_t begun, ended = 0;
	pthread_t thread;
	clockid_t clock;

	atomic_store(&stop, false);
	r.script = make_script(&out, &stop, 0);
	script_add(r.script, first);
	snapshot_drop(first);
	pthread_create(&thread, NULL, run_endless, &r);
	pthread_getcpuclockid(thread, &clock);
	while (!atomic_load(&r.ended) && cpu_ns(clock) < 300000000)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	begun = cpu_ns(clock);
	atomic_store(&stop, true);
	while (!atomic_load(&r.ended)) {
		ended = cpu_ns(clock);
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
	pthread_join(thread, NULL);
	if (r.end.status != SCRIPT_STOPPED || !strstr(r.end.text, "it was stopped"))
		fail_msg("%s: %s", text, r.end.text);
	script_free(r.script);
	release_output(&out);
	return ended > begun ? ended - begun : 0;
}

static void another_thread_stops_it(void **state)
{
	for (size_t i = 0; i < sizeof(endless) / sizeof(*endless); i++) {
		uint64_t ns = time_to_stop(endless[i]);

		if (ns > 100000000)
			fail_msg("%s: %.0f ms", endless[i], (double)ns / 1e6);
	}
}

/* A limit ends one chunk; the next one begins anew. */
static void limits_are_of_a_chunk(void **state)
{
	struct output out = { .name = "" };
	struct script *s = make_script(&out, NULL, 50000000);
	struct script_end end;

	for (unsigned i = 0; i < 3; i++) {
		run(s, "while true do end", &end);
		assert_int_equal(end.status, SCRIPT_STOPPED);
		assert_non_null(strstr(end.text, "50.0 ms, which is its limit"));
		run(s, "local t = {} while true do t[#t + 1] = ('x'):rep(100000) .. #t end", &end);
		assert_true(end.status == SCRIPT_STOPPED || end.status == SCRIPT_FAILED);
		run(s, "x = (x or 0) + 1", &end);
		assert_int_equal(end.status, SCRIPT_DONE);
	}
	run(s, "print(x)", &end);
	assert_string_equal(out.texts[SCRIPT_TEXT].data, "3\n");
	script_free(s);
	release_output(&out);
}

UNIT(script)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_server_gets),
		cmocka_unit_test(lines_of_a_prompt),
		cmocka_unit_test(another_thread_stops_it),
		cmocka_unit_test(limits_are_of_a_chunk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
