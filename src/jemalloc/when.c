/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Times in logs.  See when.h. */
#include "jemalloc/when.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECOND INT64_C(1000000000)

struct reader {
	const char *at, *end;
};

static bool digits(struct reader *r, unsigned count, int *ret)
{
	int value = 0;

	if (r->end - r->at < (ptrdiff_t)count)
		return false;
	for (unsigned i = 0; i < count; i++) {
		char c = r->at[i];

		if (c < '0' || c > '9')
			return false;
		value = value * 10 + (c - '0');
	}
	r->at += count;
	*ret = value;
	return true;
}

static bool one_of(struct reader *r, const char *set)
{
	if (r->at == r->end || !*r->at || !strchr(set, *r->at))
		return false;
	r->at++;
	return true;
}

static bool clock_time(struct reader *r, struct tm *tm)
{
	return digits(r, 2, &tm->tm_hour) && one_of(r, ":") && digits(r, 2, &tm->tm_min) &&
	       one_of(r, ":") && digits(r, 2, &tm->tm_sec) && tm->tm_hour < 24 && tm->tm_min < 60 &&
	       tm->tm_sec < 61;
}

static int64_t fraction(struct reader *r)
{
	int64_t value = 0, unit = SECOND;
	struct reader before = *r;

	if (!one_of(r, ".,"))
		return 0;
	if (r->at == r->end || *r->at < '0' || *r->at > '9') {
		*r = before;
		return 0;
	}
	for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
		unit /= 10;
		value += unit * (*r->at - '0');
	}
	return value;
}

/* Seconds east of UTC. */
static int zone(struct reader *r)
{
	struct reader before = *r;
	int hours, minutes;
	bool west;

	if (one_of(r, "Z"))
		return 0;
	west = r->at < r->end && *r->at == '-';
	if (one_of(r, "+-") && digits(r, 2, &hours) && (one_of(r, ":") || true) &&
	    digits(r, 2, &minutes) && hours < 24 && minutes < 60)
		return (west ? -1 : 1) * (hours * 3600 + minutes * 60);
	*r = before;
	return 0;
}

static bool known_day(struct tm *tm, int year, int month)
{
	tm->tm_year = year - 1900;
	tm->tm_mon = month - 1;
	return year >= 1970 && year < 2200 && month >= 1 && month <= 12 && tm->tm_mday >= 1 &&
	       tm->tm_mday <= 31;
}

static bool iso(struct reader *r, struct tm *tm)
{
	int year, month;

	return digits(r, 4, &year) && one_of(r, "-") && digits(r, 2, &month) && one_of(r, "-") &&
	       digits(r, 2, &tm->tm_mday) && one_of(r, "T ") && clock_time(r, tm) &&
	       known_day(tm, year, month);
}

static bool named_month(struct reader *r, struct tm *tm)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	int year;

	if (r->end - r->at < 3)
		return false;
	for (int month = 0; month < 12; month++) {
		if (memcmp(r->at, names + (size_t)3 * (size_t)month, 3) != 0)
			continue;
		r->at += 3;
		return one_of(r, " ") && digits(r, 2, &tm->tm_mday) && one_of(r, " ") &&
		       digits(r, 4, &year) && one_of(r, " ") && clock_time(r, tm) &&
		       known_day(tm, year, month + 1);
	}
	return false;
}

int64_t when_last(const char *text, size_t size)
{
	const char *end = text + size;

	for (size_t back = 19; back <= size; back++) { /* no shorter time */
		struct reader r = { end - back, end };
		struct tm tm = { 0 };
		int64_t part;

		if (back < size && r.at[-1] >= '0' && r.at[-1] <= '9')
			continue;
		if (!(*r.at >= '0' && *r.at <= '9' ? iso(&r, &tm) : named_month(&r, &tm)))
			continue;
		part = fraction(&r);
		return ((int64_t)timegm(&tm) - zone(&r)) * SECOND + part;
	}
	return WHEN_NONE;
}

const char *when_text(int64_t time_ns, char room[40])
{
	int64_t seconds = time_ns / SECOND, rest = time_ns % SECOND;
	time_t t;
	struct tm tm;
	size_t n;

	if (rest < 0) {
		rest += SECOND;
		seconds--;
	}
	t = (time_t)seconds;
	gmtime_r(&t, &tm);
	n = strftime(room, 32, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(room + n, 40 - n, ".%06dZ", (int)(rest / 1000));
	return room;
}
