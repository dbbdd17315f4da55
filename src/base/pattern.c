/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Regular expressions.  See pattern.h. */
#include "base/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>
#include <pthread.h>
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

/* What a match needs that is the thread's own, freed when it ends: a server's threads come and go.
 * PCRE2's default of 32 KiB of stack is soon used up by names that are kilobytes long. */
struct own {
	pcre2_jit_stack *stack;
	pcre2_match_data *data;
};

static pthread_key_t own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

static void own_free(void *own)
{
	auto_free struct own *o = own;

	pcre2_jit_stack_free(o->stack);
	pcre2_match_data_free(o->data);
}

static void own_start(void)
{
	if (pthread_key_create(&own_key, own_free))
		abort();
}

static struct own *own_of_thread(void)
{
	static _Thread_local struct own *own;

	if (own)
		return own;
	pthread_once(&own_once, own_start);
	own = xcalloc(1, sizeof(*own));
	own->stack = pcre2_jit_stack_create(32 << 10, JIT_STACK, NULL);
	own->data = pcre2_match_data_create(1, NULL);
	if (!own->data || pthread_setspecific(own_key, own))
		abort();
	return own;
}

static pcre2_jit_stack *own_stack(void *unused)
{
	return own_of_thread()->stack;
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
	int n = pcre2_match(p->code, (PCRE2_SPTR)text, strlen(text), 0, 0, own_of_thread()->data,
			    p->limits);

	if (n >= 0)
		return 1;
	if (n == PCRE2_ERROR_NOMATCH || n == PCRE2_ERROR_PARTIAL)
		return 0;
	return err_set(err, -ETIMEDOUT,
		       "the regular expression '%.60s' takes too many steps on '%.60s'; a simpler "
		       "one is needed",
		       p->text, text);
}
