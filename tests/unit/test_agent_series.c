/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the server keeps of a running program, the table of its controls, and whose process asks. */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "client/controls.h"
#include "client/http.h"
#include "jemalloc/agent_series.h"
#include "peer/peer.h"
#include "server/route.h"

#define PAGE 4096

/* `arenas` arenas from a number on, each with its own number of dirty pages. */
static void say(struct stats *s, uint64_t allocated, int64_t first, size_t arenas)
{
	stats_clear(s);
	s->total[STATS_TOTAL_ALLOCATED] = allocated;
	s->shape[STATS_SHAPE_PAGE] = PAGE;
	stats_add_arena(s, STATS_MERGED)->value[STATS_ARENA_PDIRTY] = 1 << 20;
	for (size_t i = 0; i < arenas; i++) {
		struct stats_arena *a = stats_add_arena(s, first + (int64_t)(arenas - 1 - i));

		a->value[STATS_ARENA_PDIRTY] = (uint64_t)a->id + 1;
	}
}

static char *written(const struct agent_series *series, uint64_t from)
{
	struct buf out = { 0 };
	struct json j = { .out = &out, .compact = true };

	json_object(&j, NULL);
	agent_series_write(&j, series, from);
	json_end_object(&j);
	return out.data;
}

static void test_points(void **state)
{
	struct agent_series series = { 0 };
	const struct agent_point *p;
	struct stats s;
	char *text;

	stats_init(&s);
	text = written(&series, 0);
	assert_string_equal(text,
			    "{\"first\":1,\"next\":1,\"time_ms\":[],\"allocated\":[],\"active\":"
			    "[],\"metadata\":[],\"resident\":[],\"mapped\":[],\"retained\":[],"
			    "\"dirty\":[],\"muzzy\":[],\"arenas\":{}}\n");
	free(text);
	say(&s, 100, 0, 2);
	p = agent_series_add(&series, &s, 1000);
	assert_int_equal(p->number, 1);
	assert_int_equal(p->value[AGENT_SERIES_DIRTY], 3 * PAGE); /* of arenas, not of their sum */
	assert_true(p->value[AGENT_SERIES_MUZZY] == STATS_NONE);
	say(&s, 200, 1, 1);
	agent_series_add(&series, &s, 2000);
	text = written(&series, 0);
	assert_non_null(strstr(text, "\"first\":1,\"next\":3,\"time_ms\":[1000,2000],"
				     "\"allocated\":[100,200],\"active\":[null,null]"));
	assert_non_null(strstr(text, "\"0\":{\"dirty\":[4096,null],\"muzzy\":[null,null]},"
				     "\"1\":{\"dirty\":[8192,8192],\"muzzy\":[null,null]}"));
	free(text);
	text = written(&series, 2);
	assert_non_null(strstr(text, "\"first\":2,\"next\":3,\"time_ms\":[2000]"));
	assert_null(strstr(text, "\"0\":"));
	free(text);
	agent_series_release(&series);
	stats_release(&s);
}

static void test_points_are_bounded(void **state)
{
	struct agent_series series = { 0 };
	struct stats s;

	stats_init(&s);
	for (unsigned i = 1; i <= 3 * AGENT_SERIES_POINTS; i++) {
		say(&s, i, 0, 1);
		agent_series_add(&series, &s, i);
		assert_true(series.room <= 3 * AGENT_SERIES_POINTS);
	}
	assert_int_equal(series.count, AGENT_SERIES_POINTS);
	assert_int_equal(series.points[series.first].number, 2 * AGENT_SERIES_POINTS + 1);
	assert_int_equal(series.points[series.first].value[AGENT_SERIES_ALLOCATED],
			 2 * AGENT_SERIES_POINTS + 1);
	/* Many arenas: fewer points, and never none. */
	for (unsigned i = 0; i < 300; i++) {
		say(&s, i, 0, 4000);
		agent_series_add(&series, &s, i);
		assert_true(series.bytes <= AGENT_SERIES_BYTES);
	}
	assert_int_equal(series.count, AGENT_SERIES_BYTES / (4000 * sizeof(struct agent_arena)));
	agent_series_release(&series);
	stats_release(&s);
}

static void test_sums_do_not_overflow(void **state)
{
	struct agent_series series = { 0 };
	const struct agent_point *p;
	struct stats s;

	stats_init(&s);
	say(&s, 1, 0, 3);
	for (size_t i = 1; i < s.arena_count; i++)
		s.arenas[i].value[STATS_ARENA_PDIRTY] = UINT64_C(1) << 50;
	s.arenas[1].value[STATS_ARENA_PMUZZY] = UINT64_C(1) << 60;
	p = agent_series_add(&series, &s, 1);
	assert_int_equal(p->value[AGENT_SERIES_DIRTY], 0x4000000000000000u);
	assert_true(p->value[AGENT_SERIES_MUZZY] == STATS_NONE);
	agent_series_release(&series);
	stats_release(&s);
}

static void test_controls(void **state)
{
	for (const struct control *c = controls; c->name; c++) {
		assert_ptr_equal(controls_find(c->name), c);
		assert_true(*c->word && *c->help && c->args);
		for (const struct control *other = controls; other < c; other++)
			assert_string_not_equal(c->word, other->word);
		/* What is needed comes first. */
		assert_false(c->params[0].name && !c->params[0].required && c->params[1].required);
	}
	assert_null(controls_find("prof"));
	assert_string_equal(controls_type_name(CONTROL_SWITCH), "switch");
}

static void test_tail_of_a_path(void **state)
{
	char *args[ROUTE_ARGS];

	assert_true(route_fits("/a/{b}/c/{d*}", "/a/1/c/x/y/z", args));
	assert_string_equal(args[0], "1");
	assert_string_equal(args[1], "x/y/z");
	free(args[0]);
	free(args[1]);
	assert_true(route_fits("/a/{b*}", "/a/x", args));
	free(args[0]);
	assert_false(route_fits("/a/{b*}", "/a/", args));
	assert_false(route_fits("/a/{b}", "/a/x/y", args));
}

static void test_parameters(void **state)
{
	struct buf target = { 0 };

	buf_text(&target, "/a");
	http_add_param(&target, "b", "c d&/");
	http_add_param(&target, "e", "\xc3\xa4");
	assert_string_equal(target.data, "/a?b=c%20d%26/&e=%C3%A4");
	buf_release(&target);
}

static void test_peer(void **state)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(a);
	int listening = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	int accepted, pair[2];
	uid_t user;

	assert_int_equal(bind(listening, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(getsockname(listening, (struct sockaddr *)&a, &size), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&a, sizeof(a)), 0);
	accepted = accept(listening, NULL, NULL);
	assert_true(accepted >= 0);
	assert_true(peer_is_ours(accepted));
	assert_int_equal(peer_user(accepted, &user), 0);
	assert_int_equal(user, geteuid());
	/* The tables say the same, where the kernel cannot be asked. */
	user = 12345;
	assert_int_equal(peer_user_by(-1, accepted, &user), 0);
	assert_int_equal(user, geteuid());
	/* Closed, it belongs to nobody, whatever the table says. */
	close(client);
	assert_false(peer_is_ours(accepted));
	assert_int_equal(peer_user_by(-1, accepted, &user), -ENOENT);
	assert_false(peer_is_ours(-1));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_false(peer_is_ours(pair[0]));
	close(pair[0]);
	close(pair[1]);
	close(accepted);
	close(listening);
}

UNIT(agent_series)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_points),
		cmocka_unit_test(test_points_are_bounded),
		cmocka_unit_test(test_sums_do_not_overflow),
		cmocka_unit_test(test_controls),
		cmocka_unit_test(test_tail_of_a_path),
		cmocka_unit_test(test_parameters),
		cmocka_unit_test(test_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
