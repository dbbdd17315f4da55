/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir top: a program's heap on the screen while it is recorded.
 *
 * One thread: it waits for the next tick, a key or a signal, whichever comes first.  A recording
 * that grows is followed (answer/follow.h), so that a tick costs what is new; where that is much,
 * ticks come later, so that the viewer takes a fifth of a core at most.  One that is finished is
 * opened as by any command, and shown as it ended.  Figures are the question top's, asked anew for
 * each screen. */
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "answer/follow.h"
#include "answer/top.h"
#include "base/buf.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "base/now.h"
#include "base/xalloc.h"
#include "cli/answering.h"
#include "cli/naming.h"
#include "cli/open.h"
#include "cli/say.h"
#include "cli/screen.h"
#include "cli/ticks.h"
#include "cli/top_find.h"
#include "cli/top_view.h"
#include "cli/waiting.h"
#include "query/value.h"

#define NAME "memoir top"
#define REST 4 /* times the processor time of a tick, before the next one */
#define ROWS_SCREEN 1000
#define ROWS_ONCE 20
#define STACKS 8 /* of a function that is opened */
#define SHORTEST_NS 100000000ull
#define LONGEST_NS 60000000000ull
#define PROGRESS_NS 100000000ull

static bool once;
static const char *interval_word = "1";
static uint64_t screens;

static const struct command_option options[] = {
	VALUE("interval", 'i', "TIME", "a screen so often (1s): 0.5, 500ms, 10s", &interval_word),
	VALUE("screens", 0, "N", "end after so many screens", &screens),
	FLAG("once", 0, "print one screen as text and end, as without a terminal", &once),
	NAMING_ROWS,
	{ 0 },
};

struct session {
	const char *path;
	struct follow follow;
	bool follows;
	struct snapshot *snapshot;
	const char *window;
	struct term term;
	bool terminal; /* there are keys, and a screen to draw on */
	uint32_t rows; /* of the table, where there are not */
	struct ticks ticks;
	struct ask ask;
	struct answer_top top;
	bool asked;
	struct top_view view;
	char filter[64];
	char *open;
	uint32_t table_first; /* of the table, while stacks are shown */
	uint64_t shown, progress_ns;
	unsigned width, height;
};

/* Keys that order, in the order in which s goes through them. */
static const struct {
	char key;
	const char *field;
} sorts[] = {
	{ 'h', "held_bytes" },	     { 'c', "change_bytes" },
	{ 'r', "bytes_per_second" }, { 'a', "allocations_per_second" },
	{ 'b', "held_count" },	     { 't', "temporary" },
	{ 'n', "function" },
};
#define SORTS (sizeof(sorts) / sizeof(*sorts))

static void forget_answer(struct session *s)
{
	if (!s->asked)
		return;
	question_top.release(&s->top);
	ask_release(&s->ask);
	s->asked = false;
}

static void give(struct session *s, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void give(struct session *s, const char *name, const char *format, ...)
{
	char value[256];
	struct err err;
	va_list args;

	va_start(args, format);
	vsnprintf(value, sizeof(value), format, args);
	va_end(args);
	params_add(&s->ask.params, name, value, &err);
}

static void ask_again(struct session *s)
{
	forget_answer(s);
	screen_size(&s->width, &s->height);
	if (!s->terminal)
		s->width = s->term.wide;
	s->ask = (struct ask){ .rows = question_top.params,
			       .fault = FAULT_NONE,
			       .snapshot = snapshot_hold(s->snapshot) };
	s->top = (struct answer_top){ 0 };
	give(s, "window", "%s", s->window);
	give(s, "sort_by", "%s", s->view.sort);
	give(s, "order", "%s", strcmp(s->view.sort, "function") ? "dsc" : "asc");
	if (*s->filter)
		give(s, "text", "%s", s->filter);
	give(s, "count", "%u", s->terminal ? ROWS_SCREEN : s->rows);
	give(s, "backtraces", "%u", s->open ? STACKS : 0);
	give(s, "points", "%u", top_view_points(s->width));
	ask_check(&s->ask);
	s->asked = true;
	question_top.compute(&s->ask, &s->top);
	s->view.top = &s->top;
	s->view.snapshot = s->snapshot;
}

static void draw_screen(struct session *s)
{
	auto_buf struct buf lines = { 0 };

	s->view.filter = s->filter;
	s->view.open = s->open;
	top_view_draw(&lines, &s->view, &s->term, s->width, s->terminal ? s->height : 0);
	if (s->terminal) {
		s->ticks.stop |= screen_show(&lines) != 0;
	} else {
		buf_text(&lines, screens > s->shown + 1 ? "\n\n" : "\n");
		s->ticks.stop |= buf_flush(&lines, 1) != 0;
	}
}

static void read_keys(struct session *s);

/* A long recording takes a while when it is met; whoever does not want to wait may leave. */
static void show_progress(void *context, uint64_t done, uint64_t total)
{
	struct session *s = context;
	auto_buf struct buf line = { 0 };

	if (!s->terminal || now_ns() < s->progress_ns)
		return;
	s->progress_ns = now_ns() + PROGRESS_NS;
	ticks_read_signals(&s->ticks);
	if (screen_has_input())
		read_keys(s);
	if (s->ticks.stop)
		exit(STATUS_DONE); /* which gives the terminal back */
	if (s->asked)
		return;
	buf_printf(&line, "reading %s: %s", s->path, share_text(done, total));
	screen_show(&line);
}

/* What is new, if there can be anything. */
static void read_on(struct session *s)
{
	struct timespec before, after;
	uint64_t used, now;

	if (!s->follows || s->follow.ended)
		return;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	s->progress_ns = now_ns() + PROGRESS_NS;
	forget_answer(s); /* it is about what was there */
	follow_read_on(&s->follow, show_progress, s);
	ask_again(s);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	used = (uint64_t)(after.tv_sec - before.tv_sec) * 1000000000u + (uint64_t)after.tv_nsec -
	       (uint64_t)before.tv_nsec;
	now = now_ns();
	if (s->ticks.next_ns < now + REST * used)
		s->ticks.next_ns = now + REST * used;
}

static void sort_by_next(struct session *s)
{
	size_t i = 0;

	while (i < SORTS && strcmp(sorts[i].field, s->view.sort) != 0)
		i++;
	s->view.sort = sorts[(i + 1) % SORTS].field;
	s->view.selected = s->view.first = 0;
}

static void open_or_close(struct session *s, bool open)
{
	if (open && !s->open && s->asked && s->view.selected < s->top.shown) {
		s->open = xstrdup(s->top.rows[s->top.skip + s->view.selected].name);
		s->table_first = s->view.first;
		s->view.first = 0;
	} else if (s->open) {
		free(s->open);
		s->open = NULL;
		s->view.first = s->table_first;
	}
}

/* Rows are chosen, and the screen follows; lines of stacks scroll. */
static void move(struct session *s, int64_t by)
{
	struct top_view *v = &s->view;
	uint32_t *what = s->open ? &v->first : &v->selected;
	int64_t to = (int64_t)*what + by, last = v->lines ? (int64_t)v->lines - 1 : 0;

	*what = (uint32_t)(to < 0 ? 0 : to > last ? last : to);
}

static void change_interval(struct session *s, bool longer)
{
	uint64_t *ns = &s->ticks.interval_ns;

	*ns = longer ? *ns * 2 : *ns / 2;
	*ns = *ns < SHORTEST_NS ? SHORTEST_NS : *ns > LONGEST_NS ? LONGEST_NS : *ns;
	s->ticks.next_ns = now_ns() + *ns;
	s->view.interval_ns = *ns;
}

static void type_filter(struct session *s, int key)
{
	size_t size = strlen(s->filter);

	s->view.selected = s->view.first = 0;
	if (key == KEY_ENTER || key == KEY_ESCAPE) {
		s->view.typing = false;
		if (key == KEY_ESCAPE)
			s->filter[0] = 0;
	} else if (key == KEY_CONTROL('u')) {
		s->filter[0] = 0;
	} else if (key == KEY_BACKSPACE) {
		while (size && (s->filter[size - 1] & 0xc0) == 0x80)
			size--;
		s->filter[size ? size - 1 : 0] = 0;
	} else if (key >= ' ' && key < 256 && size + 1 < sizeof(s->filter)) {
		s->filter[size] = (char)key;
		s->filter[size + 1] = 0;
	}
}

static void obey_movement(struct session *s, int key)
{
	int64_t page = s->view.room > 1 ? (int64_t)s->view.room - 1 : 1;

	switch (key) {
	case KEY_UP:
	case 'k':
		move(s, -1);
		break;
	case KEY_DOWN:
	case 'j':
		move(s, 1);
		break;
	case KEY_PAGE_UP:
		move(s, -page);
		break;
	case KEY_PAGE_DOWN:
	case ' ':
		move(s, page);
		break;
	case KEY_HOME:
	case 'g':
		move(s, INT32_MIN);
		break;
	case KEY_LAST:
	case 'G':
		move(s, INT32_MAX);
		break;
	default:
		break;
	}
}

static void obey_key(struct session *s, int key)
{
	switch (key) {
	case 'q':
	case 'Q':
		s->ticks.stop = true;
		break;
	case 's':
		sort_by_next(s);
		break;
	case KEY_ENTER:
	case KEY_RIGHT:
		open_or_close(s, key == KEY_ENTER ? !s->open : true);
		break;
	case KEY_ESCAPE:
	case KEY_LEFT:
	case KEY_BACKSPACE:
		if (s->open)
			open_or_close(s, false);
		else if (key == KEY_ESCAPE)
			s->filter[0] = 0;
		break;
	case '/':
		open_or_close(s, false);
		s->view.typing = true;
		break;
	case 'p':
		s->view.paused = !s->view.paused;
		break;
	case '+':
	case '=':
	case '-':
		change_interval(s, key != '-');
		break;
	case '?':
		s->view.help = !s->view.help;
		break;
	default:
		for (size_t i = 0; i < SORTS && !s->open; i++)
			if (key == sorts[i].key) {
				s->view.sort = sorts[i].field;
				s->view.selected = s->view.first = 0;
			}
		obey_movement(s, key);
		break;
	}
}

static void read_keys(struct session *s)
{
	int keys[64];
	size_t count = screen_keys(keys, sizeof(keys) / sizeof(*keys));

	for (size_t i = 0; i < count; i++) {
		if (keys[i] == KEY_CONTROL('c') || keys[i] == KEY_CONTROL('d') ||
		    keys[i] == KEY_END_OF_INPUT)
			s->ticks.stop = true;
		else if (keys[i] == KEY_CONTROL('z'))
			screen_suspend();
		else if (s->view.typing)
			type_filter(s, keys[i]);
		else
			obey_key(s, keys[i]);
	}
}

static void obey_signals_and_keys(struct session *s)
{
	if (s->ticks.suspend)
		screen_suspend();
	else if (s->ticks.continued)
		screen_retake();
	if (s->ticks.key)
		read_keys(s);
}

static void go_on(struct session *s)
{
	if (s->terminal)
		s->ticks.stop |= screen_enter() != 0;
	if (!s->follows)
		ask_again(s);
	while (!s->ticks.stop) {
		bool tick = ticks_wait(&s->ticks, s->terminal ? 0 : -1);

		if (tick && !s->view.paused)
			read_on(s);
		else if (!tick && s->terminal)
			obey_signals_and_keys(s);
		if (s->ticks.stop)
			break;
		if (!tick)
			ask_again(s);
		draw_screen(s);
		if (tick && ++s->shown == screens)
			break;
	}
	screen_leave();
}

/* A recording that is being written is followed; another one is opened as always. */
static int open_session(struct session *s)
{
	struct locations_options names = naming_locations();
	struct err err = { .offset = ERR_NO_OFFSET };
	struct value window;
	struct reader r;
	int status = STATUS_DONE;

	if (!reader_open(&r, s->path, &err)) {
		s->follows = reader_is_being_written(&r);
		reader_release(&r);
	}
	if (s->follows) {
		if (value_parse(&window, ARG_DURATION, s->window, &err) ||
		    follow_open(&s->follow, s->path, &names, window.number, &err))
			return say_failed(NAME, s->path, &err);
		value_release(&window);
		s->snapshot = s->follow.snapshot;
		return STATUS_DONE;
	}
	s->snapshot = open_snapshot("top", (char *)s->path, &(struct open_options){ 0 }, &status);
	return s->snapshot ? STATUS_DONE : status;
}

static bool has_utf8(void)
{
	setlocale(LC_CTYPE, "");
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

/* True: it was shown here.  False: it is printed once, as any answer. */
static bool show_live(struct ask *a, const char *path, const char *color, bool text, int *ret)
{
	struct session s = { .path = path, .window = ask_text(a, "window") };
	struct err err = { .offset = ERR_NO_OFFSET };
	uint64_t interval_ns;

	waiting_live = !waiting_wait;
	if (!ticks_interval(interval_word, &interval_ns)) {
		*ret = say_wrong(NAME, "--interval is a time of 1 ms or more: 0.5, 500ms, 10s, 5m");
		return true;
	}
	s.terminal = isatty(0) && isatty(1);
	s.rows = ask_count(a, "count");
	if (!text || once || waiting_wait || (!s.terminal && screens < 2))
		return false;
	s.view.sort = ask_text(a, "sort_by");
	s.view.ascii = !has_utf8();
	s.view.interval_ns = interval_ns;
	snprintf(s.filter, sizeof(s.filter), "%s", ask_text(a, "text") ? ask_text(a, "text") : "");
	term_init(&s.term, 1, color);
	*ret = open_session(&s);
	if (*ret)
		return true;
	if (ticks_init(&s.ticks, interval_ns, s.terminal, &err)) {
		*ret = say_failed(NAME, NULL, &err);
		return true;
	}
	go_on(&s);
	forget_answer(&s);
	free(s.open);
	ticks_release(&s.ticks);
	if (s.follows)
		follow_release(&s.follow);
	else
		snapshot_drop(s.snapshot);
	return true;
}

static void print_top(struct printing *p, const void *answer)
{
	struct top_view v = { .snapshot = p->ask->snapshot,
			      .top = answer,
			      .sort = ask_text(p->ask, "sort_by"),
			      .filter = ask_text(p->ask, "text") ? ask_text(p->ask, "text") : "",
			      .ascii = !has_utf8() };

	top_view_draw(p->out, &v, &p->term, p->term.wide, 0);
	buf_char(p->out, '\n');
}

static void fit_to_terminal(const struct term *term, struct buf *defaults)
{
	buf_printf(defaults, "points=%u&count=%u", top_view_points(term->wide), ROWS_ONCE);
}

static const struct answering answering = {
	.question = &question_top,
	.fit = fit_to_terminal,
	.find = top_find,
	.show = show_live,
	.print = print_top,
};

const struct command command_top = {
	.name = "top",
	.args = "FILE|PID",
	.help = "the heap on the screen while a program is recorded: who holds it, rates",
	.examples = "  memoir top app.dat               follows a recording that is being written\n"
		    "  memoir top 1234                  the same of a process that is recorded\n"
		    "  memoir top --sort bytes_per_second --interval 5 app.dat\n"
		    "  memoir top --once app.dat        one screen as text\n"
		    "  memoir top --json --backtraces 3 app.dat\n",
	.options = options,
	.answers = &answering,
};
