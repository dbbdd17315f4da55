/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The agents that there are.  See agent_sessions.h. */
#include "server/agent_sessions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/hold_lock.h"
#include "base/now.h"
#include "base/xalloc.h"
#include "client/http.h"

#define SCAN_MS 1000   /* between two scans of the folders */
#define UNKNOWN_MS 100 /* the same for an id that is not there */

struct agent_sessions {
	pthread_mutex_t lock; /* of all: the thread that ends the server is not the one that asks */
	struct agent_session **list;
	size_t count, room;
	int64_t scanned_ms;
	int stop_fd;
};

struct agent_sessions *agent_sessions_new(void)
{
	struct agent_sessions *l = xcalloc(1, sizeof(*l));

	pthread_mutex_init(&l->lock, NULL);
	l->scanned_ms = -SCAN_MS;
	l->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return l;
}

bool agent_sessions_stop(struct agent_sessions *l, const struct timespec *deadline)
{
	bool ended = true;

	if (l->stop_fd >= 0)
		eventfd_write(l->stop_fd, 1);
	hold_lock(&l->lock);
	for (size_t i = 0; i < l->count; i++)
		ended &= agent_session_stop(l->list[i], deadline);
	return ended;
}

struct agent_sessions *agent_sessions_free(struct agent_sessions *l)
{
	if (!l)
		return NULL;
	agent_sessions_stop(l, NULL);
	for (size_t i = 0; i < l->count; i++)
		agent_session_drop(l->list[i]);
	free(l->list);
	if (l->stop_fd >= 0)
		close(l->stop_fd);
	pthread_mutex_destroy(&l->lock);
	free(l);
	return NULL;
}

static struct agent_session *add_session(struct agent_sessions *l, const char *id,
					 const struct agents_entry *agent, bool given)
{
	struct agent_session *session = agent_session_new(id, agent, given, l->stop_fd);

	*xpush(l->list, l->count, l->room) = session;
	return session;
}

int agent_sessions_add(struct agent_sessions *l, const char *address, const char *token,
		       struct err *err)
{
	struct agents_entry agent;
	struct http_address parsed;
	char id[AGENT_SESSION_ID_SIZE];
	size_t n;
	int e = agents_find(address, &agent, err);

	if (!e)
		e = http_parse_address(&parsed, agent.address, err);
	if (e)
		return e;
	if (*parsed.target && strcmp(parsed.target, "/") != 0)
		return err_set(err, -EINVAL, "an agent's address has no path");
	n = strlen(agent.address);
	if (agent.address[n - 1] == '/')
		agent.address[n - 1] = 0;
	if (token && !*agent.token)
		snprintf(agent.token, sizeof(agent.token), "%s", token);
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(agent_session_agent(l->list[i]).address, agent.address))
			return 0;
	snprintf(id, sizeof(id), "%016llx",
		 (unsigned long long)XXH3_64bits(agent.address, strlen(agent.address)));
	add_session(l, id, &agent, true);
	return 0;
}

/* A file that was found: it is one of those that are known, or another. */
static void meet(struct agent_sessions *l, const struct agents_entry *agent, bool *seen)
{
	char id[AGENT_SESSION_ID_SIZE];

	for (size_t i = 0; i < l->count; i++)
		if (agent_session_is(l->list[i], agent)) {
			agent_session_found(l->list[i], agent);
			seen[i] = true;
			return;
		}
	snprintf(id, sizeof(id), "%d", (int)agent->pid);
	add_session(l, id, agent, false);
	seen[l->count - 1] = true;
}

static void scan(struct agent_sessions *l)
{
	struct agents_entry *found;
	size_t n = agents_list(&found);
	auto_free bool *seen = xcalloc(l->count + n + 1, sizeof(*seen));

	for (size_t i = 0; i < n; i++)
		meet(l, &found[i], seen);
	free(found);
	for (size_t i = l->count; i-- > 0;) {
		struct agent_session *session = l->list[i];

		if (seen[i])
			continue;
		agent_session_lost(session);
		if (!agent_session_is_lost(session) || !agent_session_is_idle(session))
			continue;
		agent_session_drop(session);
		l->count--;
		memmove(l->list + i, l->list + i + 1, (l->count - i) * sizeof(*l->list));
	}
	l->scanned_ms = now_ms();
}

/* The number of a process may have been given to another: who is there comes before who was. */
static struct agent_session *find_session(const struct agent_sessions *l, const char *id)
{
	struct agent_session *gone = NULL;

	for (size_t i = 0; i < l->count; i++) {
		if (strcmp(agent_session_id(l->list[i]), id) != 0)
			continue;
		if (!agent_session_is_lost(l->list[i]))
			return l->list[i];
		gone = l->list[i];
	}
	return gone;
}

struct agent_session *agent_sessions_hold(struct agent_sessions *l, const char *id)
{
	struct agent_session *session;
	int64_t age;

	hold_lock(&l->lock);
	session = find_session(l, id);
	age = now_ms() - l->scanned_ms;
	if (age >= SCAN_MS || (!session && age >= UNKNOWN_MS)) {
		scan(l);
		session = find_session(l, id);
	}
	if (session)
		agent_session_hold(session);
	return session;
}

void agent_sessions_list(struct agent_sessions *l, struct json *j, const char *key)
{
	hold_lock(&l->lock);
	if (now_ms() - l->scanned_ms >= SCAN_MS)
		scan(l);
	JSON_EACH(j, key, i, l->count)
		if (!agent_session_is_lost(l->list[i]))
			agent_session_list(l->list[i], j);
}
