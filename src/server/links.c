/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Connections.  See links.h. */
#include "server/links.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/hold_lock.h"
#include "base/now.h"
#include "base/timed_cond.h"
#include "base/xalloc.h"

#define MS_NS 1000000ull
#define TURN_MS 200
#define WAITING_TURN_MS 50 /* while somebody waits for an answer, which may be in vain */

struct links {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t watcher;
	bool watching, stopping;
	bool waiting; /* somebody waits for an answer */
	struct link *first;
	unsigned count;
	struct pollfd *polled;
	struct link **of_polled;
	size_t polled_room, of_room;
};

/* With the lock held: ends those that have said nothing useful for too long. */
static void end_idle(struct links *l)
{
	uint64_t now = now_ns();
	uint64_t patience = (l->count >= LINKS_MANY ? LINK_HEAD_MANY_MS : LINK_HEAD_MS) * MS_NS;

	for (struct link *k = l->first; k; k = k->next)
		if (!k->busy && now - k->since_ns > patience)
			shutdown(k->fd, SHUT_RDWR); /* the thread of HTTP notices and closes it */
}

/* With the lock held: the client of one that waits for a request will send none.  Seen twice, so
 * that one that came just now is taken first. */
static void end_half_closed(struct link *k)
{
	int unread = 0;

	if (k->half_closed && !ioctl(k->fd, FIONREAD, &unread) && !unread)
		shutdown(k->fd, SHUT_RDWR);
	k->half_closed = true;
}

/* With the lock held: whose client is gone? */
static void find_gone(struct links *l)
{
	size_t n = 0;

	l->waiting = false;
	for (struct link *k = l->first; k; k = k->next) {
		if ((k->busy && !k->asleep) || k->gone)
			continue;
		l->waiting |= k->asleep;
		l->polled = xgrow(l->polled, n, &l->polled_room, sizeof(*l->polled));
		l->of_polled = xgrow(l->of_polled, n, &l->of_room, sizeof(struct link *));
		l->polled[n] = (struct pollfd){ .fd = k->fd, .events = POLLRDHUP };
		l->of_polled[n++] = k;
	}
	if (!n || poll(l->polled, n, 0) <= 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (l->polled[i].revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) {
			struct link *k = l->of_polled[i];

			if (!k->busy) {
				end_half_closed(k);
				continue;
			}
			k->gone = true;
			k->waiter->wake(k->waiter);
		}
}

static void *close_dead_links(void *context)
{
	struct links *l = context;
	uint64_t from;

	hold_lock(&l->lock);
	while (!l->stopping) {
		if (!l->first) {
			pthread_cond_wait(&l->changed, &l->lock);
			continue;
		}
		end_idle(l);
		find_gone(l);
		from = now_ns();
		while (!l->stopping &&
		       !timed_cond_wait(&l->changed, &l->lock,
					from + (l->waiting ? WAITING_TURN_MS : TURN_MS) * MS_NS))
			;
	}
	return NULL;
}

struct links *links_new(void)
{
	struct links *l = xcalloc(1, sizeof(*l));

	pthread_mutex_init(&l->lock, NULL);
	timed_cond_init(&l->changed);
	l->watching = !pthread_create(&l->watcher, NULL, close_dead_links, l);
	return l;
}

struct links *links_free(struct links *l)
{
	if (!l)
		return NULL;
	pthread_mutex_lock(&l->lock);
	l->stopping = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	if (l->watching)
		pthread_join(l->watcher, NULL);
	while (l->first)
		link_free(l, l->first);
	free(l->polled);
	free(l->of_polled);
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->changed);
	free(l);
	return NULL;
}

struct link *link_new(struct links *l, int fd)
{
	struct link *k = xcalloc(1, sizeof(*k));

	k->fd = fd;
	k->since_ns = now_ns();
	hold_lock(&l->lock);
	k->next = l->first;
	if (k->next)
		k->next->before = k;
	l->first = k;
	l->count++;
	pthread_cond_signal(&l->changed);
	return k;
}

void link_free(struct links *l, struct link *k)
{
	pthread_mutex_lock(&l->lock);
	*(k->before ? &k->before->next : &l->first) = k->next;
	if (k->next)
		k->next->before = k->before;
	l->count--;
	pthread_mutex_unlock(&l->lock);
	free(k);
}

void link_busy(struct links *l, struct link *k, bool busy)
{
	hold_lock(&l->lock);
	k->busy = busy;
	k->since_ns = now_ns();
}

void link_sleeps(struct links *l, struct link *k, struct waiter *w)
{
	hold_lock(&l->lock);
	k->asleep = w != NULL;
	k->waiter = w;
	if (w && !l->waiting) {
		l->waiting = true;
		pthread_cond_broadcast(&l->changed);
	}
}

bool link_is_gone(struct links *l, const struct link *k)
{
	hold_lock(&l->lock);
	return k->gone;
}
