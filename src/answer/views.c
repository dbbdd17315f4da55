/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Filters that were applied lately.  See views.h. */
#include "answer/views.h"

#include <errno.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/order.h"
#include "base/parallel.h"
#include "base/xalloc.h"

void views_init(struct views *v)
{
	*v = (struct views){ 0 };
	pthread_mutex_init(&v->lock, NULL);
	pthread_cond_init(&v->made, NULL);
}

static void free_held(struct held_view *h)
{
	view_free(h->view);
	filter_free(h->filter);
	free(h->text);
	free(h);
}

void views_release(struct views *v)
{
	for (size_t i = 0; i < v->count; i++)
		free_held(v->rows[i]);
	pthread_mutex_destroy(&v->lock);
	pthread_cond_destroy(&v->made);
}

static struct held_view *views_find(struct views *v, const char *text)
{
	for (size_t i = 0; i < v->count; i++)
		if (!v->rows[i]->cut && !strcmp(v->rows[i]->text, text))
			return v->rows[i];
	return NULL;
}

/* A row of the table: a free one, or that of the view that was not used for longest; VIEWS_KEPT
 * if all are in use. */
static size_t row_for_view(const struct views *v)
{
	size_t best = VIEWS_KEPT;

	if (v->count < VIEWS_KEPT)
		return v->count;
	for (size_t i = 0; i < v->count; i++)
		if (!v->rows[i]->users &&
		    (best == VIEWS_KEPT || v->rows[i]->used < v->rows[best]->used))
			best = i;
	return best;
}

/* Is it in the table, so that it stays when nobody uses it? */
static bool is_kept(const struct views *v, const struct held_view *h)
{
	return ANY(i, v->count, v->rows[i] == h);
}

/* With the lock held: one user less; true if the caller is to free it. */
static bool is_last_user(const struct views *v, struct held_view *h)
{
	return !--h->users && !is_kept(v, h);
}

static struct held_view *views_add(struct views *v, char *text, struct filter *f)
{
	struct held_view *h = xcalloc(1, sizeof(*h));
	size_t at = row_for_view(v);

	h->text = text;
	h->filter = f;
	h->making = true;
	h->users = 1;
	if (at < v->count)
		free_held(v->rows[at]);
	else if (at < VIEWS_KEPT)
		v->count++;
	if (at < VIEWS_KEPT)
		v->rows[at] = h;
	return h;
}

/* With the lock held, which is given up meanwhile: half a view stays in the table until its place
 * is needed, and nobody finds it there. */
static void make_view(struct views *v, struct held_view *h, const struct model *m,
		      struct locations *p)
{
	struct view *view;
	bool cut;

	pthread_mutex_unlock(&v->lock);
	h->err.offset = ERR_NO_OFFSET;
	view = view_new(m, p, h->filter, &h->err);
	cut = view && parallel_is_cut();
	if (cut) {
		view = view_free(view);
		err_set(&h->err, -ECANCELED, "nobody waits for the answer any more");
	}
	if (view)
		view_cache_weights(view);
	pthread_mutex_lock(&v->lock);
	h->view = view;
	h->cut = cut;
	h->making = false;
	pthread_cond_broadcast(&v->made);
}

/* With the lock held, which is given up meanwhile: the view of a filter once it is made; NULL:
 * there is none that could be waited for. */
static struct held_view *wait_for_view(struct views *v, const char *text)
{
	struct held_view *h;

	while ((h = views_find(v, text))) {
		h->users++;
		while (h->making)
			pthread_cond_wait(&v->made, &v->lock);
		if (!h->cut)
			return h;
		if (is_last_user(v, h))
			free_held(h);
	}
	return NULL;
}

struct held_view *views_take(struct views *v, const struct model *m, struct locations *p,
			     struct filter *f, struct err *err)
{
	struct buf text = { 0 };
	struct held_view *h;

	filter_print(f, &text);
	buf_char(&text, '\n');
	filter_print_frames(f, &text);
	pthread_mutex_lock(&v->lock);
	h = wait_for_view(v, text.data);
	if (h) {
		buf_release(&text);
		filter_free(f);
	} else {
		h = views_add(v, text.data, f);
		make_view(v, h, m, p);
	}
	h->used = h->cut ? 0 : ++v->turn;
	pthread_mutex_unlock(&v->lock);
	if (h->view)
		return h;
	*err = h->err;
	views_give(v, h);
	return NULL;
}

struct held_view *views_hold(struct view *view, struct filter *f)
{
	struct held_view *h = xcalloc(1, sizeof(*h));

	h->view = view;
	h->filter = f;
	h->users = 1;
	return h;
}

void views_give(struct views *v, struct held_view *held)
{
	bool last;

	pthread_mutex_lock(&v->lock);
	last = is_last_user(v, held);
	pthread_mutex_unlock(&v->lock);
	if (last)
		free_held(held);
}
