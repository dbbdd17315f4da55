/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Numbers for people.  See human.h. */
#include "base/human.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

const char *human_count(struct human *out, uint64_t value)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, value);
	char *p = out->text;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = 0;
	return out->text;
}

/* Three significant digits, but never fewer than the whole part has. */
static void three_digits(struct human *out, double value, const char *unit)
{
	int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(out->text, sizeof(out->text), "%.*f %s", digits, value, unit);
}

const char *human_size(struct human *out, uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes / 1024;
	unsigned unit = 0;

	if (bytes < 1024) {
		snprintf(out->text, sizeof(out->text), "%" PRIu64 " B", bytes);
		return out->text;
	}
	while (value >= 1023.5 && unit < 5) {
		value /= 1024;
		unit++;
	}
	three_digits(out, value, units[unit]);
	return out->text;
}

static const char *with_sign(struct human *out, int64_t value,
			     const char *(*say)(struct human *, uint64_t))
{
	struct human number;

	say(&number, value < 0 ? -(uint64_t)value : (uint64_t)value);
	snprintf(out->text, sizeof(out->text), "%s%.46s", value < 0 ? "-" : "", number.text);
	return out->text;
}

const char *human_signed_count(struct human *out, int64_t value)
{
	return with_sign(out, value, human_count);
}

const char *human_signed_size(struct human *out, int64_t bytes)
{
	return with_sign(out, bytes, human_size);
}

const char *human_duration(struct human *out, uint64_t ns)
{
	uint64_t seconds = ns / 1000000000, minutes = seconds / 60;

	if (ns < 1000)
		snprintf(out->text, sizeof(out->text), "%" PRIu64 " ns", ns);
	else if (ns < 999500)
		three_digits(out, (double)ns / 1e3, "\xc2\xb5s");
	else if (ns < 999500000)
		three_digits(out, (double)ns / 1e6, "ms");
	else if (seconds < 60)
		three_digits(out, (double)ns / 1e9, "s");
	else if (minutes < 60)
		snprintf(out->text, sizeof(out->text), "%" PRIu64 " min %02" PRIu64 " s", minutes,
			 seconds % 60);
	else
		snprintf(out->text, sizeof(out->text), "%" PRIu64 " h %02" PRIu64 " min",
			 minutes / 60, minutes % 60);
	return out->text;
}

const char *human_share(struct human *out, uint64_t part, uint64_t whole)
{
	double share = whole ? (double)part * 100 / (double)whole : 0;

	if (part && share < 0.05)
		snprintf(out->text, sizeof(out->text), "<0.1 %%");
	else
		snprintf(out->text, sizeof(out->text), "%.1f %%", share);
	return out->text;
}

const char *human_time(struct human *out, int64_t unix_seconds)
{
	time_t t = (time_t)unix_seconds;
	struct tm tm;

	if (!localtime_r(&t, &tm) ||
	    !strftime(out->text, sizeof(out->text), "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(out->text, sizeof(out->text), "%" PRId64, unix_seconds);
	return out->text;
}
