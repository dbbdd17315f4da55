/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Measures and requirements.  See measures.h. */
#include "check/measures.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/human.h"

#define PER_FUNCTION " per function"

const struct check_measure_row check_measure_rows[CHECK_MEASURES] = {
#define MEASURE(id, word, unit, heading, sentence)                                                 \
	[CHECK_##id] = { #word, ARG_##unit, heading, sentence },
#include "check/measures.def"
#undef MEASURE
};

const char *const requirement_defaults[] = { "+1% peak", "+0 leaks per function", NULL };

enum check_measure check_measure_find(const char *name, size_t size)
{
	enum check_measure m = 0;

	while (m < CHECK_MEASURES && (strlen(check_measure_rows[m].name) != size ||
				      memcmp(check_measure_rows[m].name, name, size) != 0))
		m++;
	return m;
}

void check_measure_text(struct buf *out, enum check_measure m, uint64_t value)
{
	buf_text(out,
		 check_measure_rows[m].type == ARG_SIZE ? size_text(value) : count_text(value));
}

/* An amount of `size` bytes of text. */
static int read_amount(struct requirement *r, const char *text, size_t size, struct err *err)
{
	char word[40], *end;
	struct value v;

	snprintf(word, sizeof(word), "%.*s", (int)size, text);
	r->percent = strtod(word, &end);
	r->is_percent = end != word && !strcmp(end, "%") && r->percent >= 0 && r->percent <= 1e6;
	if (r->is_percent)
		return 0;
	if (value_parse(&v, check_measure_rows[r->measure].type, word, err))
		return -EINVAL;
	r->amount = v.number;
	value_release(&v);
	return 0;
}

int requirement_limit(struct requirement *ret, enum check_measure m, const char *value,
		      struct err *err)
{
	*ret = (struct requirement){ .measure = m };
	if (read_amount(ret, value, strlen(value), err))
		return -EINVAL;
	if (ret->is_percent && m != CHECK_TEMPORARY)
		return err_set(err, -EINVAL,
			       "a percentage is for temporary, of all allocations; or for "
			       "--fail-on, of a baseline");
	snprintf(ret->text, sizeof(ret->text), "%s at most %.40s", check_measure_rows[m].name,
		 value);
	return 0;
}

static int say_measures(struct err *err, const char *text)
{
	char names[120] = "";
	size_t used = 0;

	for (unsigned i = 0; i < CHECK_MEASURES; i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 check_measure_rows[i].name);
	return err_set(
		err, -EINVAL,
		"'%.40s' is not '+AMOUNT MEASURE' or '+AMOUNT MEASURE per function'; measures "
		"are %s",
		text, names);
}

int requirement_growth(struct requirement *ret, const char *text, struct err *err)
{
	size_t size = strlen(text), amount = strcspn(text, " "), name;

	*ret = (struct requirement){ .is_growth = true };
	if (size > strlen(PER_FUNCTION) &&
	    !strcmp(text + size - strlen(PER_FUNCTION), PER_FUNCTION)) {
		ret->per_function = true;
		size -= strlen(PER_FUNCTION);
	}
	if (*text != '+' || amount < 2 || amount + 1 >= size)
		return say_measures(err, text);
	name = amount + 1;
	ret->measure = check_measure_find(text + name, size - name);
	if (ret->measure == CHECK_MEASURES)
		return say_measures(err, text);
	snprintf(ret->text, sizeof(ret->text), "%s", text);
	return read_amount(ret, text + 1, amount - 1, err);
}
