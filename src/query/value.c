/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Values of filters.  See value.h. */
#include "query/value.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/xalloc.h"
#include "wire/wide.h"

#define UNIX_MS_FROM 100000000000ull /* a bare number from here on is a date, not a duration */
#define DAY_NS 86400000000000ull
#define SECOND_NS 1000000000ull
#define IDS_MAX 4096
#define NUMBER_MAX (UINT64_MAX / 2) /* so that a width can be added */

static const struct {
	const char *name, *help;
} arguments[ARG_COUNT_OF] = {
	[ARG_NONE] = { NULL, "" },
	[ARG_SIZE] = { "SIZE", "512, 1.5k, 2M, 3G (thousands), 4KiB, 1Mi, 2Gi (1024s)" },
	[ARG_COUNT] = { "N", "a whole number; 10k and 2M are thousands and millions" },
	[ARG_COUNT_OR_PERCENT] = { "N|N%", "a whole number, or a percentage" },
	[ARG_DURATION] = { "DURATION", "10ms, 1.5s, 2m30s, 1h, 3d, 250us, 80ns; seconds if bare" },
	[ARG_DURATION_OR_PERCENT] = { "DURATION|N%",
				      "10ms, 1.5s, 2m30s, 1h, 3d; or N% of the run time" },
	[ARG_TIME] = { "TIME",
		       "1.5s (after the start), 50% (of the run time), 2026-02-03T14:05:06, "
		       "or milliseconds since 1970" },
	[ARG_ADDRESS] = { "ADDRESS", "0x7f12a0, 16 hexadecimal digits, or a decimal number" },
	[ARG_NUMBER] = { "N", "a whole number" },
	[ARG_REGEX] = { "REGEX", "a regular expression (PCRE), matched anywhere in the text" },
	[ARG_TEXT] = { "TEXT", "a text" },
	[ARG_IDS] = { "ID[,ID…]", "one number, or several with commas between" },
	[ARG_THREAD] = { "THREAD", "a thread's number or its name" },
	[ARG_YES_NO] = { "yes|no", "yes or no" },
	[ARG_CHOICE] = { "WORD", "one of the words" },
	[ARG_EXPRESSION] = { "EXPRESSION", "conditions with and, or, not and parentheses" },
};

const char *value_name(enum filter_arg type)
{
	return arguments[type].name;
}

const char *value_help(enum filter_arg type)
{
	return arguments[type].help;
}

struct unit {
	const char *name;
	uint64_t factor;
};

/* The longest that fits is taken, so order does not matter. */
static const struct unit size_units[] = {
	{ "b", 1 },
	{ "k", 1000 },
	{ "kb", 1000 },
	{ "m", 1000000 },
	{ "mb", 1000000 },
	{ "g", 1000000000 },
	{ "gb", 1000000000 },
	{ "t", 1000000000000 },
	{ "tb", 1000000000000 },
	{ "ki", 1ull << 10 },
	{ "kib", 1ull << 10 },
	{ "mi", 1ull << 20 },
	{ "mib", 1ull << 20 },
	{ "gi", 1ull << 30 },
	{ "gib", 1ull << 30 },
	{ "ti", 1ull << 40 },
	{ "tib", 1ull << 40 },
	{ 0 },
};
static const struct unit count_units[] = {
	{ "k", 1000 }, { "m", 1000000 }, { "g", 1000000000 }, { 0 }
};
static const struct unit duration_units[] = {
	{ "d", DAY_NS },
	{ "h", 3600 * SECOND_NS },
	{ "m", 60 * SECOND_NS },
	{ "min", 60 * SECOND_NS },
	{ "s", SECOND_NS },
	{ "ms", 1000000 },
	{ "us", 1000 },
	{ "\xc2\xb5s", 1000 },
	{ "\xce\xbcs", 1000 },
	{ "ns", 1 },
	{ 0 },
};
static const struct unit no_units[] = { { 0 } };
static const struct unit percent_units[] = { { "%", 1000000 }, { 0 } };

static const char *skip_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

/* The unit that the text starts with, up to its last letter; NULL if it is none of them. */
static const struct unit *read_unit(const struct unit *units, const char **p)
{
	size_t n = 0;

	while (isalpha((unsigned char)(*p)[n]) || (*p)[n] == '%' || (unsigned char)(*p)[n] >= 0x80)
		n++;
	for (; n && units->name; units++) {
		if (strlen(units->name) != n || strncasecmp(units->name, *p, n) != 0)
			continue;
		*p += n;
		return units;
	}
	return NULL;
}

/* One number with its unit: digits[.digits][unit].  It must be a whole number of the base unit. */
static bool read_number(const char **p, const struct unit *units, uint64_t bare,
			uint64_t *ret_number)
{
	const struct unit *unit;
	uint64_t digits = 0, scale = 1, factor = bare;
	bool any = false, point = false;
	uint64_t number;

	for (; isdigit((unsigned char)**p) || (**p == '.' && !point); (*p)++) {
		if (**p == '.') {
			point = true;
			continue;
		}
		if (digits > (UINT64_MAX - 9) / 10 || (point && scale > UINT64_MAX / 10))
			return false;
		digits = digits * 10 + (uint64_t)(**p - '0');
		scale *= point ? 10 : 1;
		any = true;
	}
	*p = skip_blanks(*p);
	unit = read_unit(units, p);
	if (unit)
		factor = unit->factor;
	if (!any || (!unit && !bare))
		return false;
	number = wide_scale(digits, factor, scale);
	if (wide_compare(digits, factor, scale, NUMBER_MAX) > 0 ||
	    wide_compare(digits, factor, scale, number))
		return false;
	*ret_number = number;
	return true;
}

/* All of the text is one number. */
static bool whole_number(const char *text, const struct unit *units, uint64_t bare,
			 uint64_t *ret_number)
{
	const char *p = skip_blanks(text);

	return read_number(&p, units, bare, ret_number) && !*skip_blanks(p);
}

/* 1h30m, 2 min 5 s, 10ms; seconds if there is no unit at all. */
static bool read_duration(const char *text, uint64_t *ret_ns)
{
	const char *p = skip_blanks(text);
	uint64_t sum = 0, part;

	if (whole_number(p, no_units, SECOND_NS, ret_ns))
		return true;
	if (!*p)
		return false;
	while (*p) {
		if (!read_number(&p, duration_units, 0, &part) || part > NUMBER_MAX - sum)
			return false;
		sum += part;
		p = skip_blanks(p);
	}
	*ret_ns = sum;
	return true;
}

static bool read_percent(const char *text, struct value *v)
{
	if (!whole_number(text, percent_units, 0, &v->number))
		return false;
	v->kind = VALUE_PERCENT;
	return true;
}

static bool read_address(const char *text, uint64_t *ret_address)
{
	size_t n = strspn(text, "0123456789abcdefABCDEF");
	bool hex = n == 16 || strspn(text, "0123456789") < n;
	char *end;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		hex = true;
	else if (!n || text[n])
		return false;
	errno = 0;
	*ret_address = strtoull(text, &end, hex ? 16 : 10);
	return !*end && !errno && *ret_address <= NUMBER_MAX;
}

/* Digits of a date: 1 to `most` of them. */
static bool field(const char **p, unsigned most, int low, int high, int *ret_field)
{
	int value = 0;
	unsigned n = 0;

	for (; n < most && isdigit((unsigned char)**p); n++)
		value = value * 10 + (*(*p)++ - '0');
	*ret_field = value;
	return n && value >= low && value <= high;
}

static bool take_character(const char **p, const char *any_of)
{
	if (!**p || !strchr(any_of, **p))
		return false;
	(*p)++;
	return true;
}

/* Z, +01, +01:00, or nothing: seconds east of Greenwich. */
static bool read_zone(const char **p, bool *ret_local, int *ret_seconds)
{
	int hours, minutes = 0, sign;

	*ret_local = !**p;
	*ret_seconds = 0;
	if (!**p || take_character(p, "Zz"))
		return true;
	sign = **p == '-' ? -1 : 1;
	if (!take_character(p, "+-") || !field(p, 2, 0, 14, &hours))
		return false;
	take_character(p, ":");
	if (**p && !field(p, 2, 0, 59, &minutes))
		return false;
	*ret_seconds = sign * (hours * 3600 + minutes * 60);
	return true;
}

/* 2026-02-03, 2026-02-03T14:05, 2026-2-3 14:05:06.123Z.  It means as long as its last part. */
static bool read_date(const char *text, struct value *v)
{
	const char *p = text;
	uint64_t fraction = 0, width = DAY_NS;
	struct tm tm = { .tm_isdst = -1 };
	int zone;
	bool local;
	time_t t;

	if (!field(&p, 4, 1970, 2200, &tm.tm_year) || !take_character(&p, "-") ||
	    !field(&p, 2, 1, 12, &tm.tm_mon) || !take_character(&p, "-") ||
	    !field(&p, 2, 1, 31, &tm.tm_mday))
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	if (take_character(&p, "Tt ")) {
		width = 60 * SECOND_NS;
		if (!field(&p, 2, 0, 23, &tm.tm_hour) || !take_character(&p, ":") ||
		    !field(&p, 2, 0, 59, &tm.tm_min))
			return false;
		if (take_character(&p, ":")) {
			width = SECOND_NS;
			if (!field(&p, 2, 0, 60, &tm.tm_sec))
				return false;
		}
		if (width == SECOND_NS && take_character(&p, "."))
			for (; isdigit((unsigned char)*p) && width > 1; p++) {
				width /= 10;
				fraction += width * (uint64_t)(*p - '0');
			}
	}
	if (!read_zone(&p, &local, &zone) || *p)
		return false;
	t = local ? mktime(&tm) : timegm(&tm);
	if (t < 0 || (int64_t)t < zone)
		return false;
	v->kind = VALUE_UNIX;
	v->number = ((uint64_t)t - (uint64_t)(int64_t)zone) * SECOND_NS + fraction;
	v->width = width;
	return true;
}

static bool read_time(const char *text, struct value *v)
{
	const char *p = skip_blanks(text);

	if (read_percent(p, v))
		return true;
	if (strspn(p, "0123456789") == 4 && p[4] == '-')
		return read_date(p, v);
	if (whole_number(p, no_units, 1, &v->number) && v->number >= UNIX_MS_FROM) {
		if (v->number > NUMBER_MAX / 1000000)
			return false;
		v->kind = VALUE_UNIX;
		v->number *= 1000000;
		v->width = 1000000;
		return true;
	}
	return read_duration(p, &v->number);
}

static bool read_ids(const char *text, struct value *v)
{
	const char *p = text;
	size_t room = 0;

	v->kind = VALUE_IDS;
	for (;;) {
		uint64_t id;

		p = skip_blanks(p);
		if (!read_number(&p, no_units, 1, &id) || v->id_count == IDS_MAX)
			return false;
		*xpush(v->ids, v->id_count, room) = id;
		p = skip_blanks(p);
		if (!*p)
			return true;
		if (*p++ != ',')
			return false;
	}
}

static bool read_yes_no(const char *text, uint64_t *ret_yes)
{
	static const char *const words[] = { "no", "yes", "false", "true", "0", "1", "off", "on" };

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcasecmp(text, words[i])) {
			*ret_yes = i % 2;
			return true;
		}
	return false;
}

static bool read_value(struct value *v, enum filter_arg type, const char *text)
{
	switch (type) {
	case ARG_SIZE:
		return whole_number(text, size_units, 1, &v->number);
	case ARG_COUNT:
		return whole_number(text, count_units, 1, &v->number);
	case ARG_COUNT_OR_PERCENT:
		return read_percent(text, v) || whole_number(text, count_units, 1, &v->number);
	case ARG_DURATION:
		return read_duration(text, &v->number);
	case ARG_DURATION_OR_PERCENT:
		return read_percent(text, v) || read_duration(text, &v->number);
	case ARG_TIME:
		return read_time(text, v);
	case ARG_ADDRESS:
		return read_address(text, &v->number);
	case ARG_NUMBER:
		return whole_number(text, no_units, 1, &v->number);
	case ARG_IDS:
		return read_ids(text, v);
	case ARG_YES_NO:
		return read_yes_no(text, &v->number);
	case ARG_NONE:
	case ARG_REGEX:
	case ARG_TEXT:
	case ARG_THREAD:
	case ARG_CHOICE:
	case ARG_EXPRESSION:
	case ARG_COUNT_OF:
		break;
	}
	v->kind = VALUE_TEXT;
	return true;
}

int value_parse(struct value *ret_value, enum filter_arg type, const char *text, struct err *err)
{
	struct value v = { .width = 1 };

	if (!read_value(&v, type, text)) {
		value_release(&v);
		return err_set(err, -EINVAL, "'%.60s' does not fit: %s", text, value_help(type));
	}
	v.text = xstrdup(text);
	*ret_value = v;
	return 0;
}

void value_release(struct value *v)
{
	free(v->text);
	free(v->ids);
	memset(v, 0, sizeof(*v));
}
