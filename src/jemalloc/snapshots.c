/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding documents.
 *
 * Both notations have the word jemalloc at their start, so one search finds either.  A JSON
 * document that does not end in the window is read again from its start when there is more of it:
 * the window is large against a document, and doubles, so that costs little. */
#include "jemalloc/snapshots.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "jemalloc/notations.h"

#define WINDOW (4u << 20)
#define DOCUMENT_MAX (256u << 20)
#define TAIL 256 /* kept when nothing was found: the start of a document may be at the end */
#define BEGIN "___ Begin jemalloc statistics ___"
#define END "--- End jemalloc statistics ---"

int snapshots_open(struct snapshots *r, const char *path, struct err *err)
{
	memset(r, 0, sizeof(*r));
	r->time_ns = WHEN_NONE;
	stats_init(&r->stats);
	r->ended = unpack_open(&r->in, path, err) < 0;
	return r->ended ? -EIO : 0;
}

void snapshots_memory(struct snapshots *r, const void *bytes, size_t size)
{
	memset(r, 0, sizeof(*r));
	r->time_ns = WHEN_NONE;
	stats_init(&r->stats);
	unpack_memory(&r->in, bytes, size);
}

void snapshots_close(struct snapshots *r)
{
	unpack_close(&r->in);
	stats_release(&r->stats);
	buf_release(&r->window);
}

/* Drops what is before `keep` and reads as much again as there is, or a window full.  What cannot
 * be read is told later: what came before it is looked at first. */
static int snapshots_fill(struct snapshots *r, size_t keep, struct err *err)
{
	size_t rest = r->window.size - keep, more = rest > WINDOW ? rest : WINDOW;
	ssize_t n = 1;

	if (rest > DOCUMENT_MAX)
		return err_at(err, -EFBIG, r->offset + keep, "a document of more than 256 MiB");
	if (keep) {
		memmove(r->window.data, r->window.data + keep, rest);
		r->window.size = rest;
		r->offset += keep;
		r->at -= keep;
	}
	buf_reserve(&r->window, more);
	for (size_t got = 0; got < more && n > 0; got += (size_t)n) {
		n = unpack_read(&r->in, r->window.data + r->window.size, more - got, &r->failure);
		if (n < 0) {
			r->failed = r->ended = true;
			return 0;
		}
		r->window.size += (size_t)n;
		r->ended = !n && !r->follow;
		if (r->follow)
			break;
	}
	return 0;
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Whether `word`, which is the word jemalloc, is the key of a document; where its brace is. */
static bool starts_json(const char *from, const char *word, const char *end, const char **brace)
{
	const char *p = word - 1;

	if (word == from || *p != '"' || word + 8 >= end || word[8] != '"')
		return false;
	while (p > from && is_blank(p[-1]))
		p--;
	*brace = p - 1;
	return p > from && p[-1] == '{';
}

static bool starts_text(const char *from, const char *word, const char *end, const char **begin)
{
	*begin = word - strlen("___ Begin ");
	return word - from >= (ssize_t)strlen("___ Begin ") &&
	       end - *begin >= (ssize_t)strlen(BEGIN) && !memcmp(*begin, BEGIN, strlen(BEGIN));
}

/* What is before a document says when it was.  A document that is found again, after more of it was
 * read, has nothing before it any more. */
static void read_time(struct snapshots *r, size_t from)
{
	size_t size = r->at - from;

	if (r->offset + r->at == r->document && r->document)
		return;
	if (size > TAIL)
		size = TAIL;
	r->time_ns = when_last(r->window.data + r->at - size, size);
}

/* Moves r->at to the next document in the window: '{' or '_', or 0 when there is none. */
static char find_document(struct snapshots *r)
{
	const char *from, *end, *word, *start;

	if (!r->window.size)
		return 0;
	from = word = r->window.data + r->at;
	end = r->window.data + r->window.size;
	while ((word = memmem(word, (size_t)(end - word), "jemalloc", 8))) {
		if (starts_json(from, word, end, &start) || starts_text(from, word, end, &start)) {
			r->at = (size_t)(start - r->window.data);
			read_time(r, (size_t)(from - r->window.data));
			return *start;
		}
		word += 8;
	}
	return 0;
}

static int cut_off(struct snapshots *r, size_t next, struct err *err)
{
	uint64_t at = r->offset + r->at;

	r->at = next;
	if (r->failed && next == r->window.size) { /* that is why */
		r->failed = false;
		if (err)
			*err = r->failure;
		return -EBADMSG;
	}
	return err_at(err, -EBADMSG, at, "the snapshot that begins here is cut off");
}

/* 1, -EBADMSG, or 0: more is needed. */
static int take_json(struct snapshots *r, struct err *err)
{
	long n = stats_read_json(&r->stats, r->window.data + r->at, r->window.size - r->at, err);

	if (n > 0) {
		r->at += (size_t)n;
		return 1;
	}
	if (!n)
		return r->ended ? cut_off(r, r->window.size, err) : 0;
	if (err)
		err->offset += r->document;
	r->at++; /* what made it broken may be the start of the next one */
	return -EBADMSG;
}

static int take_text(struct snapshots *r, struct err *err)
{
	const char *from = r->window.data + r->at + strlen(BEGIN);
	size_t size = r->window.size - r->at - strlen(BEGIN);
	const char *end = memmem(from, size, END, strlen(END));
	const char *next = memmem(from, end ? (size_t)(end - from) : size, BEGIN, strlen(BEGIN));

	if (next)
		return cut_off(r, (size_t)(next - r->window.data), err);
	if (!end)
		return r->ended ? cut_off(r, r->window.size, err) : 0;
	stats_read_text(&r->stats, from, (size_t)(end - from));
	r->at = (size_t)(end - r->window.data) + strlen(END);
	return 1;
}

int snapshots_next(struct snapshots *r, struct err *err)
{
	for (;;) {
		char kind = find_document(r);
		size_t keep = r->at, size;
		int e = 0;

		r->document = r->offset + r->at;
		if (kind == '{')
			e = take_json(r, err);
		else if (kind)
			e = take_text(r, err);
		else if (r->failed)
			return cut_off(r, r->window.size, err);
		else if (r->ended)
			return 0;
		else if (r->window.size > TAIL && r->window.size - TAIL > r->at)
			keep = r->at = r->window.size - TAIL;
		if (e) {
			r->documents += e == 1;
			return e;
		}
		size = r->window.size - keep;
		e = snapshots_fill(r, keep, err);
		if (e)
			return e;
		if (r->follow && r->window.size == size)
			return 0;
	}
}

const char *snapshots_guess(const struct snapshots *r)
{
	const char *text = r->window.data;

	if (!r->offset && !r->window.size)
		return "it is empty";
	if (!r->offset && r->window.size >= 8 &&
	    (!memcmp(text, "heap_v2/", 8) || !memcmp(text, "heap pro", 8)))
		return "it is a heap profile, not what malloc_stats_print writes";
	return "there is neither {\"jemalloc\": … nor ___ Begin jemalloc statistics ___ in it";
}
