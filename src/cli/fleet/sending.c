/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sending parcels.  See sending.h. */
#include "cli/fleet/sending.h"

#include <errno.h>
#include <stdio.h>

#include "base/human.h"
#include "base/order.h"
#include "cli/command.h"
#include "cli/fleet/fleet_options.h"
#include "cli/say.h"

#define NAME "memoir fleet push"
#define FORGET_EVERY_S 3600
#define KNOCK_MS 10000 /* that anybody waits for a server which may be away */

/* What waits from before goes first, the oldest in front. */
static void drain(struct sending *s)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	uint64_t sent = 0;

	if (s->spool.dir < 0)
		return;
	if (spool_drain(&s->spool, &s->fleet, &sent, &err))
		fprintf(stderr, NAME ": %s: what waits could not all be sent: %s\n", s->fleet.name,
			err.text);
	if (sent && !s->quiet)
		printf("%s parcel%s that waited: sent\n", count_text(sent), sent == 1 ? "" : "s");
}

/* Is it there?  It is a small question, so one that takes long is answered by nobody. */
static int ask_facts(struct sending *s, struct fleet_facts *ret)
{
	unsigned timeout_ms = s->fleet.timeout_ms;
	int error;

	s->fleet.timeout_ms = MIN(timeout_ms, KNOCK_MS);
	error = fleet_facts(&s->fleet, ret, &s->why);
	s->fleet.timeout_ms = timeout_ms;
	return error;
}

int sending_open(struct sending *s, const char *command)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	int status = fleet_options_open(command, &s->settings, &s->fleet), error;

	s->spool.dir = -1;
	if (status)
		return status;
	/* Without a spool what cannot be sent is an error. */
	if (spool_open(&s->spool, &s->settings, &s->fleet, &err))
		fprintf(stderr, NAME ": %s\n", err.text);
	error = ask_facts(s, &s->facts);
	if (!error) {
		if (s->spool.dir >= 0)
			spool_facts_write(&s->spool, &s->facts);
		drain(s);
		return 0;
	}
	if (error == -EPROTO || !parcel_may_wait(error) || s->spool.dir < 0 ||
	    spool_facts_read(&s->spool, &s->facts))
		return say_failed(NAME, s->fleet.name, &s->why);
	s->away = true;
	return 0;
}

static int keep(struct sending *s, const struct parcel *p, const char *name)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	uint64_t dropped = 0;
	int error;

	if (s->spool.dir < 0)
		return say_failed(NAME, s->fleet.name, &s->why);
	error = spool_put(&s->spool, p, &dropped, &err);
	s->dropped += dropped;
	s->spooled += !error;
	return error ? say_failed(NAME, name, &err) : 0;
}

static void say_there(const struct sending *s, const char *name)
{
	if (!s->quiet)
		printf("%s: it is there already\n", name);
}

bool sending_knows(struct sending *s, uint64_t recording, const char *name)
{
	bool there = false;

	if (s->away)
		return s->spool.dir >= 0 && spool_has(&s->spool, recording);
	if (parcel_is_there(&s->fleet, recording, &there, &s->why) || !there)
		return false;
	say_there(s, name);
	return true;
}

int sending_parcel(struct sending *s, const struct parcel *p, const char *name)
{
	struct parcel_sent sent;
	int error;

	if (s->away)
		return keep(s, p, name);
	error = parcel_send(p, &s->fleet, &sent, &s->why);
	if (parcel_may_wait(error)) {
		s->away = true;
		return keep(s, p, name);
	}
	if (error)
		return say_failed(NAME, s->fleet.name, &s->why);
	if (sent.was_there)
		say_there(s, name);
	else if (!s->quiet)
		printf("%s: %s rows, %s%s\n", name, count_text(sent.rows), size_text(sent.bytes),
		       sent.repeated ? ", the rest of them" : "");
	return 0;
}

void sending_again(struct sending *s)
{
	struct fleet_facts facts;

	if (!s->away || ask_facts(s, &facts))
		return;
	s->away = false;
	s->facts = facts;
	drain(s);
}

void sending_forget(struct sending *s)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	time_t now = time(NULL);

	if (s->away || now - s->forgot < FORGET_EVERY_S)
		return;
	s->forgot = now;
	if (fleet_forget(&s->fleet, &s->facts, &err))
		fprintf(stderr, NAME ": %s: %s\n", s->fleet.name, err.text);
}

int sending_close(struct sending *s)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct spool_facts facts = { 0 };
	int status = 0;

	if (s->spool.dir >= 0)
		spool_look(&s->spool, &facts);
	if (!s->away && fleet_forget(&s->fleet, &s->facts, &err))
		status = say_failed(NAME, s->fleet.name, &err);
	if (facts.parcels)
		fprintf(stderr, NAME ": %s%s%s; %s parcel%s wait%s on the disk (%s)\n",
			s->fleet.name, s->away ? ": " : "", s->away ? s->why.text : "",
			count_text(facts.parcels), facts.parcels == 1 ? "" : "s",
			facts.parcels == 1 ? "s" : "", size_text(facts.bytes));
	if (s->dropped)
		fprintf(stderr, NAME ": there was no room for %s; %s dropped, %s ever\n",
			s->dropped == 1 ? "one" : "all",
			s->dropped == 1 ? "it was" : "the oldest were", count_text(facts.dropped));
	spool_close(&s->spool);
	return status;
}
