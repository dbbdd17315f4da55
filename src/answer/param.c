/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parameters.  See param.h. */
#include "answer/param.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/nearest.h"
#include "base/order.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "query/value.h"

static const char *const type_names[PARAM_TYPES] = {
	[PARAM_TEXT] = "text",	 [PARAM_CHOICE] = "choice",	[PARAM_BOOL] = "bool",
	[PARAM_COUNT] = "count", [PARAM_NUMBER] = "number",	[PARAM_REAL] = "real",
	[PARAM_TIME] = "time",	 [PARAM_DURATION] = "duration", [PARAM_RECORDING] = "recording",
};

const char *param_type_name(enum param_type type)
{
	return type_names[type];
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-decodes `size` bytes; NULL with err.  The result is the caller's. */
static char *decode(const char *text, size_t size, bool plus, struct err *err)
{
	struct buf out = { 0 };

	buf_reserve(&out, size);
	buf_text(&out, "");
	for (size_t i = 0; i < size; i++) {
		int high, low;

		if (text[i] == '+' && plus) {
			buf_char(&out, ' ');
			continue;
		}
		if (text[i] != '%') {
			buf_char(&out, text[i]);
			continue;
		}
		high = low = -1;
		if (size - i > 2) {
			high = hex_digit(text[i + 1]);
			low = hex_digit(text[i + 2]);
		}
		if (high < 0 || low < 0 || !(high | low)) {
			err_set(err, -EINVAL, "%s",
				high < 0 || low < 0
					? "'%' must be followed by two hexadecimal digits"
					: "there is a zero byte in the address");
			buf_release(&out);
			return NULL;
		}
		buf_char(&out, (char)(high << 4 | low));
		i += 2;
	}
	return out.data;
}

static int params_append(struct params *p, char *name, char *value, struct err *err)
{
	if (p->count == PARAMS_MAX)
		err_set(err, -EINVAL, "there are more than %d parameters", PARAMS_MAX);
	if (!name || !value || p->count == PARAMS_MAX) {
		free(name);
		free(value);
		return -EINVAL;
	}
	*xpush(p->rows, p->count, p->room) = (struct param){ .name = name, .value = value };
	return 0;
}

int params_add(struct params *p, const char *name, const char *value, struct err *err)
{
	return params_append(p, xstrdup(name), xstrdup(value), err);
}

static int decode_pair(struct params *p, const char *pair, size_t size, struct err *err)
{
	const char *equals = memchr(pair, '=', size);
	size_t name_size = equals ? (size_t)(equals - pair) : size;
	char *name, *value = NULL;

	if (!size)
		return 0;
	name = decode(pair, name_size, true, err);
	if (name)
		value = decode(equals ? equals + 1 : "", equals ? size - name_size - 1 : 0, true,
			       err);
	return params_append(p, name, value, err);
}

int params_decode_query(struct params *p, const char *query, struct err *err)
{
	while (*query && *query != '#') {
		size_t size = strcspn(query, "&#");

		if (decode_pair(p, query, size, err))
			return -EINVAL;
		query += size + (query[size] == '&');
	}
	return 0;
}

int params_decode(struct params *p, const char *address, struct err *err)
{
	size_t path_size = strcspn(address, "?#");
	const char *query = address + path_size;

	*p = (struct params){ 0 };
	p->path = decode(address, path_size, false, err);
	if (!p->path)
		return -EINVAL;
	return *query == '?' ? params_decode_query(p, query + 1, err) : 0;
}

void params_release(struct params *p)
{
	for (size_t i = 0; i < p->count; i++) {
		free(p->rows[i].name);
		free(p->rows[i].value);
	}
	free(p->rows);
	free(p->path);
	*p = (struct params){ 0 };
}

bool param_is_word(const char *words, const char *word)
{
	size_t size = strlen(word);

	for (;; words++) {
		size_t n = strcspn(words, "|");

		if (n == size && !memcmp(words, word, n))
			return true;
		words += n;
		if (!*words)
			return false;
	}
}

const struct param_row *param_row_find(const struct param_row *rows, const char *name)
{
	return rows ? FIND_ROW(row, rows, !strcmp(row->name, name)) : NULL;
}

static int check_value(enum filter_arg type, const char *text, uint64_t max, struct err *err)
{
	struct value v;
	int error = value_parse(&v, type, text, err);

	if (error)
		return error;
	if (max && v.number > max)
		error = err_set(err, -EINVAL, "%.40s is more than %llu", text,
				(unsigned long long)max);
	value_release(&v);
	return error;
}

static int check_real(const char *value, struct err *err)
{
	char *end;
	double number = strtod(value, &end);

	if (end != value && !*end && number >= 0 && number <= 100)
		return 0;
	return err_set(err, -EINVAL, "'%.40s' is not a percentage from 0 to 100", value);
}

/* "a|b|c" as "a, b or c". */
void param_words(struct buf *out, const char *words)
{
	for (const char *word = words; *word;) {
		size_t n = strcspn(word, "|");

		buf_printf(out, "%s%.*s",
			   word == words ? ""
			   : word[n]	 ? ", "
					 : " or ",
			   (int)n, word);
		word += n + (word[n] == '|');
	}
}

static int wrong_choice(const struct param_row *row, const char *value, struct err *err)
{
	struct nearest near = nearest_to(value);
	auto_buf struct buf all = { 0 };
	char words[16][32];
	unsigned count = 0;

	for (const char *at = row->values; *at && count < 16; at += *at == '|') {
		size_t n = strcspn(at, "|");

		snprintf(words[count], sizeof(*words), "%.*s", (int)n, at);
		nearest_consider(&near, words[count++]);
		at += n;
	}
	param_words(&all, row->values);
	return err_set(err, -EINVAL, "'%.40s' is none of %s%s", value, all.data,
		       nearest_hint(&near, ""));
}

int param_check(const struct param_row *row, const char *value, struct err *err)
{
	switch (row->type) {
	case PARAM_CHOICE:
		if (param_is_word(row->values, value))
			return 0;
		return wrong_choice(row, value, err);
	case PARAM_BOOL:
		if (param_is_word("true|false|1|0|yes|no", value))
			return 0;
		return err_set(err, -EINVAL, "'%.40s' is neither true nor false", value);
	case PARAM_COUNT:
		return check_value(ARG_COUNT, value, row->max, err);
	case PARAM_NUMBER:
		return check_value(ARG_NUMBER, value, 0, err);
	case PARAM_REAL:
		return check_real(value, err);
	case PARAM_TIME:
		return check_value(ARG_TIME, value, 0, err);
	case PARAM_DURATION:
		return check_value(ARG_DURATION, value, 0, err);
	case PARAM_TEXT:
	case PARAM_RECORDING:
	case PARAM_TYPES:
		break;
	}
	return 0;
}

uint64_t param_position(const char *text, uint64_t bytes)
{
	size_t size = strlen(text);
	uint64_t units = 0;

	for (size_t i = 0; i < size && i < bytes;) {
		size_t n = utf8_sequence((const unsigned char *)text + i, size - i);

		units += n == 4 ? 2 : 1;
		i += n ? n : 1;
	}
	return units;
}
