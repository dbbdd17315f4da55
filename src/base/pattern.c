/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Regular expressions.  See pattern.h. */
#include "base/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>
#include <string.h>

#include "base/xalloc.h"

#define PATTERN_MAX 4096      /* bytes of one */
#define STEPS_MAX 200000      /* of one match: some milliseconds */
#define JIT_STACK (512 << 10) /* bytes */

struct pattern {
	pcre2_code *code;
	pcre2_match_context *limits;
	char *text;
};

/* What a match needs that is the thread's own; PCRE2's default of 32 KiB of stack is soon used up
 * by names that are kilobytes long. */
static pcre2_jit_stack *own_stack(void *unused)
{
	static _Thread_local pcre2_jit_stack *stack;

	if (!stack)
		stack = pcre2_jit_stack_create(32 << 10, JIT_STACK, NULL);
	return stack;
}

struct pattern *pattern_new(const char *text, struct err *err)
{
	PCRE2_SIZE offset = 0;
	struct pattern *p;
	pcre2_code *code;
	char why[120];
	int error = 0;

	if (strlen(text) > PATTERN_MAX) {
		err_at(err, -E2BIG, 0, "a regular expression has at most %d bytes", PATTERN_MAX);
		return NULL;
	}
	code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
			     PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C, &error,
			     &offset, NULL);
	if (!code) {
		pcre2_get_error_message(error, (PCRE2_UCHAR *)why, sizeof(why));
		err_at(err, -EINVAL, offset, "regular expression '%.60s': %s at position %zu", text,
		       why, (size_t)offset);
		return NULL;
	}
	pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* where it cannot, the interpreter does */
	p = xcalloc(1, sizeof(*p));
	p->code = code;
	p->text = xstrdup(text);
	p->limits = pcre2_match_context_create(NULL);
	if (!p->limits)
		abort();
	pcre2_jit_stack_assign(p->limits, own_stack, NULL);
	pcre2_set_match_limit(p->limits, STEPS_MAX);
	pcre2_set_depth_limit(p->limits, STEPS_MAX);
	pcre2_set_heap_limit(p->limits, 16 << 10);
	return p;
}

struct pattern *pattern_free(struct pattern *p)
{
	if (!p)
		return NULL;
	pcre2_match_context_free(p->limits);
	pcre2_code_free(p->code);
	free(p->text);
	free(p);
	return NULL;
}

const char *pattern_text(const struct pattern *p)
{
	return p->text;
}

int pattern_match(const struct pattern *p, const char *text, struct err *err)
{
	static _Thread_local pcre2_match_data *data;
	int n;

	if (!data)
		data = pcre2_match_data_create(1, NULL);
	if (!data)
		abort();
	n = pcre2_match(p->code, (PCRE2_SPTR)text, strlen(text), 0, 0, data, p->limits);
	if (n >= 0)
		return 1;
	if (n == PCRE2_ERROR_NOMATCH || n == PCRE2_ERROR_PARTIAL)
		return 0;
	return err_set(err, -ETIMEDOUT,
		       "the regular expression '%.60s' takes too many steps on '%.60s'; a simpler "
		       "one is needed",
		       p->text, text);
}
