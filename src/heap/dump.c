/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The reader of heap profile dumps: one pass over the lines of a copy, in which line ends and
 * blanks behind names become NULs.
 *
 * The grammars (docs/jemalloc-heap.md has them whole):
 *   heap_v2/RATE, then "  t*: CNT", threads, and for each stack "@ 0x… 0x…" and its lines
 *   heap profile: CNT @ TYPE[/RATE], then for each stack "CNT @ 0x… 0x…"
 *   both end with MAPPED_LIBRARIES: and what /proc/PID/maps held, and behind that, from our agent,
 *   "# build-id ID START BIAS PATH" for each loaded file; "--- symbol" … "---" may be before.
 * Any thread. */
#include "heap/dump.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"

#define GAP_OBJECTS 64 /* files in the gaps of another */
struct reader {
	struct dump *d;
	char *begin, *at, *end; /* end is a NUL of ours */
	char *line;		/* the one that was taken last */
	struct err *err;
};

static int wrong(struct reader *r, const char *where, const char *what)
{
	return err_at(r->err, -EBADMSG, (uint64_t)(where - r->begin), "%s", what);
}

/* The next line, ended by a NUL; NULL at the end. */
static char *next_line(struct reader *r)
{
	char *line = r->at, *end;

	if (r->at == r->end)
		return NULL;
	end = memchr(line, '\n', (size_t)(r->end - line));
	if (end) {
		*end = 0;
		r->at = end + 1;
	} else {
		end = r->at = r->end;
	}
	if (end > line && end[-1] == '\r')
		end[-1] = 0;
	r->line = line;
	return line;
}

static bool literal(char **p, const char *text)
{
	size_t n = strlen(text);

	if (strncmp(*p, text, n))
		return false;
	*p += n;
	return true;
}

static void blanks(char **p)
{
	while (**p == ' ' || **p == '\t')
		++*p;
}

static bool number(char **p, unsigned base, uint64_t *ret)
{
	uint64_t value = 0;
	char *start = *p;

	for (;; ++*p) {
		unsigned c = (unsigned char)**p, digit;

		if (c - '0' < 10)
			digit = c - '0';
		else if (base == 16 && (c | 32) - 'a' < 6)
			digit = (c | 32) - 'a' + 10;
		else
			break;
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return false;
	}
	*ret = value;
	return *p > start;
}

/* CUROBJS: CURBYTES [ACCOBJS: ACCBYTES] */
static bool counts(char **p, struct dump_counts *c)
{
	blanks(p);
	if (!number(p, 10, &c->objects) || !literal(p, ":"))
		return false;
	blanks(p);
	if (!number(p, 10, &c->bytes))
		return false;
	blanks(p);
	if (!literal(p, "["))
		return false;
	blanks(p);
	if (!number(p, 10, &c->all_objects) || !literal(p, ":"))
		return false;
	blanks(p);
	if (!number(p, 10, &c->all_bytes))
		return false;
	blanks(p);
	return literal(p, "]");
}

/* Addresses up to the end of the line. */
static int addresses(struct reader *r, char *p, struct dump_stack *s)
{
	struct dump *d = r->d;

	s->pc = d->pc_count;
	for (blanks(&p); *p; blanks(&p)) {
		uint64_t pc;

		if (!literal(&p, "0x") || !number(&p, 16, &pc) || (*p && *p != ' ' && *p != '\t'))
			return wrong(r, p, "an address is expected here");
		*xpush(d->pcs, d->pc_count, d->pc_room) = pc;
	}
	s->pc_count = d->pc_count - s->pc;
	return 0;
}

static struct dump_stack *new_stack(struct dump *d)
{
	*xpush(d->stacks, d->stack_count, d->stack_room) =
		(struct dump_stack){ .share = d->share_count };
	return &d->stacks[d->stack_count - 1];
}

/* "  tUID: CNT NAME" and "  t*: CNT"; 1 if the line is something else. */
static int thread_line(struct reader *r, char *line, struct dump_stack *stack)
{
	struct dump *d = r->d;
	struct dump_counts c;
	uint64_t uid = 0;
	bool all;
	char *p = line;

	if (!literal(&p, "  t"))
		return 1;
	all = literal(&p, "*");
	if ((!all && !number(&p, 10, &uid)) || !literal(&p, ":") || !counts(&p, &c))
		return wrong(r, p, "a line of a thread is not OBJECTS: BYTES [OBJECTS: BYTES]");
	if (all) {
		*(stack ? &stack->counts : &d->total) = c;
	} else if (stack) {
		*xpush(d->shares, d->share_count, d->share_room) = (struct dump_share){ uid, c };
		stack->share_count++;
	} else {
		blanks(&p);
		*xpush(d->threads, d->thread_count, d->thread_room) =
			(struct dump_thread){ uid, *p ? p : NULL, c };
	}
	return 0;
}

/* # build-id ID START BIAS PATH, where ID is "-" for a file that has none.  The maps have the path,
 * too. */
static void object_line(struct reader *r, char *p)
{
	struct dump *d = r->d;
	struct dump_object o = { .build_id = p };
	size_t digits = strspn(p, "0123456789abcdef");

	if (*p == '-')
		o.build_id = "";
	else if (!digits || digits % 2 || digits > 2 * DUMP_BUILD_ID_MAX)
		return;
	p += *p == '-' ? 1 : digits;
	if (*p != ' ')
		return;
	*p++ = 0;
	if (!number(&p, 16, &o.start) || !literal(&p, " ") || !number(&p, 16, &o.bias))
		return;
	*xpush(d->objects, d->object_count, d->object_room) = o;
}

/* start-end perms offset dev inode path; lines that are something else are passed over. */
static void map_line(struct reader *r, char *p)
{
	struct dump *d = r->d;
	struct dump_map m = { .path = "", .build_id = "" };
	size_t length;
	uint64_t ignored;

	blanks(&p);
	if (!number(&p, 16, &m.start) || !literal(&p, "-") || !number(&p, 16, &m.end) ||
	    m.end <= m.start)
		return;
	if (literal(&p, ":")) { /* macOS: no more than the path */
		m.executable = true;
	} else {
		blanks(&p);
		if (strnlen(p, 4) < 4)
			return;
		m.executable = p[2] == 'x';
		p += 4;
		blanks(&p);
		if (!number(&p, 16, &m.offset))
			return;
		blanks(&p);
		if (!number(&p, 16, &ignored) || !literal(&p, ":") || !number(&p, 16, &ignored))
			return;
		blanks(&p);
		if (!number(&p, 10, &m.inode))
			return;
	}
	blanks(&p);
	length = strlen(p);
	if (length > 10 && !strcmp(p + length - 10, " (deleted)")) {
		p[length - 10] = 0;
		m.deleted = true;
	}
	m.path = p;
	*xpush(d->maps, d->map_count, d->map_room) = m;
}

static void maps(struct reader *r)
{
	char *line;

	while ((line = next_line(r))) {
		char *p = line;

		if (literal(&p, "# build-id "))
			object_line(r, p);
		else
			map_line(r, line);
	}
}

ORDER(objects_by_start, struct dump_object, RISING(start))

/* The object that starts in one of a file's maps has those of the same name that follow, up to the
 * next that starts in such a one.  Other files may lie in gaps between them, but hardly many. */
static void give_objects(struct dump *d)
{
	size_t next = 0;

	for (size_t i = 0; i < d->map_count; i++) {
		struct dump_map *m = &d->maps[i];

		for (; next < d->object_count && d->objects[next].start < m->end; next++)
			d->objects[next].map = d->objects[next].start >= m->start ? m : NULL;
		for (size_t k = 0; *m->path && k < next && k < GAP_OBJECTS; k++) {
			const struct dump_object *o = &d->objects[next - 1 - k];

			if (!o->map || o->map->inode != m->inode || strcmp(o->map->path, m->path))
				continue;
			m->build_id = o->build_id;
			m->bias = o->bias;
			m->has_bias = true;
			break;
		}
	}
}

ORDER(by_start, struct dump_map, RISING(start))

ORDER(by_pc, struct dump_name, RISING(pc))

static int threaded(struct reader *r)
{
	struct dump_stack *stack = NULL;
	char *line;
	int error;

	while ((line = next_line(r))) {
		if (*line == '@') {
			stack = new_stack(r->d);
			if ((error = addresses(r, line + 1, stack)))
				return error;
			continue;
		}
		if (!strcmp(line, "MAPPED_LIBRARIES:")) {
			maps(r);
			return 0;
		}
		if (!*line)
			continue;
		error = thread_line(r, line, stack);
		if (error > 0)
			return wrong(r, line, "neither a stack nor a thread of one");
		if (error)
			return error;
	}
	return 0;
}

static int plain(struct reader *r)
{
	char *line;
	int error;

	while ((line = next_line(r))) {
		struct dump_stack *stack;
		char *p = line;

		if (!*line)
			continue;
		if (!strcmp(line, "MAPPED_LIBRARIES:")) {
			maps(r);
			return 0;
		}
		stack = new_stack(r->d);
		if (!counts(&p, &stack->counts))
			return wrong(r, p, "a stack is not OBJECTS: BYTES [OBJECTS: BYTES] @ …");
		blanks(&p);
		if (!literal(&p, "@"))
			return wrong(r, p, "the addresses of a stack are missing");
		if ((error = addresses(r, p, stack)))
			return error;
	}
	return 0;
}

/* The rate behind "heap_v2/"; without one everything was counted. */
static bool rate(struct reader *r, char *p)
{
	if (!*p)
		return true;
	return literal(&p, "/") && number(&p, 10, &r->d->rate) && !*p;
}

/* heap profile: CNT @ TYPE; gperftools samples a `heap` dump at twice the number it writes. */
static int plain_head(struct reader *r, char *p)
{
	struct dump *d = r->d;

	d->kind = DUMP_PLAIN;
	if (!counts(&p, &d->total))
		return wrong(r, p, "the head of the dump has no OBJECTS: BYTES [OBJECTS: BYTES]");
	blanks(&p);
	if (!literal(&p, "@"))
		return wrong(r, p, "the head of the dump names no kind");
	blanks(&p);
	if (literal(&p, "heap_v2")) {
		if (!rate(r, p))
			return wrong(r, p, "the sampling rate is not a number");
	} else if (literal(&p, "heapprofile")) {
		d->rate = 1;
	} else if (literal(&p, "growth")) {
		d->growth = true;
		d->rate = 1;
	} else if (literal(&p, "heap")) {
		if (!rate(r, p))
			return wrong(r, p, "the sampling rate is not a number");
		if (d->rate > UINT64_MAX / 2)
			return wrong(r, p, "the sampling rate is too large");
		d->rate *= 2;
	} else {
		return wrong(r, p, "this kind of profile is not known");
	}
	return plain(r);
}

/* The table of names of a symbolized file, up to "---" and the head of the profile in it. */
static int names(struct reader *r)
{
	struct dump *d = r->d;
	char *line;

	while ((line = next_line(r))) {
		char *p = line;
		uint64_t pc;

		if (!strcmp(line, "---"))
			break;
		if (literal(&p, "binary=")) {
			d->binary = p;
			continue;
		}
		if (!literal(&p, "0x") || !number(&p, 16, &pc) || (*p != ' ' && *p != '\t'))
			return wrong(r, p, "a line of the symbols is not ADDRESS NAME");
		blanks(&p);
		*xpush(d->names, d->name_count, d->name_room) = (struct dump_name){ pc, p };
	}
	line = next_line(r);
	if (!line || strncmp(line, "--- ", 4))
		return wrong(r, line ? line : r->end, "no profile follows the symbols");
	d->body = (size_t)(r->at - r->begin);
	return 0;
}

int dump_read(struct dump *d, const void *bytes, size_t size, struct err *err)
{
	struct reader r = { .d = d, .err = err };
	char *line, *p;
	int error;

	*d = (struct dump){ .text = xmemdup0(bytes, size) };
	r.begin = r.at = d->text;
	r.end = d->text + size;
	if (!size)
		return err_set(err, -EBADMSG,
			       "the dump is empty (jemalloc 5.3.0 leaves such a file with "
			       "prof_leak_error: dump earlier, or without it)");
	line = next_line(&r);
	if (!strncmp(line, "--- symbol", 10)) {
		if ((error = names(&r)))
			return error;
		line = next_line(&r);
	}
	p = line;
	if (!line) {
		return wrong(&r, r.end, "no profile follows the symbols");
	} else if (literal(&p, "heap_v2")) {
		if (!rate(&r, p))
			return wrong(&r, p, "the sampling rate is not a number");
		error = threaded(&r);
	} else if (literal(&p, "heap profile:")) {
		error = plain_head(&r, p);
	} else {
		return wrong(&r, line,
			     "this is not a heap profile: it begins neither with heap_v2/ nor with "
			     "\"heap profile:\"");
	}
	SORT(d->names, d->name_count, by_pc);
	SORT(d->maps, d->map_count, by_start);
	SORT(d->objects, d->object_count, objects_by_start);
	give_objects(d);
	return error;
}

bool dump_is(const void *bytes, size_t size)
{
	static const char *const heads[] = { "heap_v2/", "heap profile:", "--- symbol" };

	return ANY(i, sizeof(heads) / sizeof(*heads),
		   size >= strlen(heads[i]) && !memcmp(bytes, heads[i], strlen(heads[i])));
}

void dump_release(struct dump *d)
{
	free(d->threads);
	free(d->stacks);
	free(d->shares);
	free(d->pcs);
	free(d->maps);
	free(d->objects);
	free(d->names);
	free(d->text);
	*d = (struct dump){ 0 };
}

/* A block of x bytes is sampled with probability 1 - exp(-x/rate). */
static void scale(uint64_t objects, uint64_t bytes, uint64_t rate, double *ret_objects,
		  double *ret_bytes)
{
	double f = 1;

	if (rate > 1 && objects && bytes)
		f = 1 / -expm1(-((double)bytes / (double)objects) / (double)rate);
	*ret_objects = objects ? (double)objects * f : 0;
	*ret_bytes = objects ? (double)bytes * f : 0;
}

struct dump_amounts dump_scale(const struct dump_counts *c, uint64_t rate)
{
	struct dump_amounts a;

	scale(c->objects, c->bytes, rate, &a.objects, &a.bytes);
	scale(c->all_objects, c->all_bytes, rate, &a.all_objects, &a.all_bytes);
	return a;
}

void dump_amounts_add(struct dump_amounts *to, const struct dump_amounts *from, double sign)
{
	to->objects += from->objects * sign;
	to->bytes += from->bytes * sign;
	to->all_objects += from->all_objects * sign;
	to->all_bytes += from->all_bytes * sign;
}

const struct dump_map *dump_map_of(const struct dump *d, uint64_t pc)
{
	size_t low = FIRST_WHERE(i, d->map_count, d->maps[i].end > pc);

	return low < d->map_count && d->maps[low].start <= pc ? &d->maps[low] : NULL;
}
