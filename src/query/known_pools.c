/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is kept on purpose.  See known_pools.h. */
#include "query/known_pools.h"

#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/known_pools_text.h"
#include "query/responsible.h"
#include "query/user_rules.h"

enum where { IN_FUNCTION, BELOW, IN_MODULE, LOADING, WHERES };
static const char *const where_names[WHERES] = { "function", "below", "module", "loading" };

#define KIND_WORD "pool"
#define INTERNAL "__GI_" /* glibc calls its own functions so, where it has symbols */
#define OWN_REASON "your rule"

struct rule {
	char *pattern; /* without the '*' */
	size_t size;
	bool prefix;
	enum where where;
	unsigned pool;
};

struct known_pools {
	struct rule *rules;
	size_t rule_count, rule_room;
	struct known_pool **pools;
	size_t pool_count, pool_room;
	const struct responsible *responsible;
	/* By frame: which pool its function's code, or what is below it, is of; plus one, and
	 * NOT_ONE where it is of none.  0: not looked at. */
	uint16_t *of_function, *below;
};
#define NOT_ONE UINT16_MAX

/* The next word of a line; NULL behind the last. */
static const char *next_word(const char **p, const char *end, size_t *ret_size)
{
	const char *word = *p;

	while (word < end && (*word == ' ' || *word == '\t' || *word == '\r'))
		word++;
	for (*p = word; *p < end && **p != ' ' && **p != '\t' && **p != '\r'; (*p)++)
		;
	*ret_size = (size_t)(*p - word);
	return *ret_size ? word : NULL;
}

static bool is_word(const char *word, size_t size, const char *other)
{
	return strlen(other) == size && !memcmp(word, other, size);
}

static unsigned pool_named(struct known_pools *k, const char *reason, size_t size)
{
	struct known_pool *p;

	for (unsigned i = 0; i < k->pool_count; i++)
		if (is_word(reason, size, k->pools[i]->reason))
			return i;
	p = xcalloc(1, sizeof(*p));
	p->reason = xmemdup0(reason, size);
	p->number = (unsigned)k->pool_count;
	*xpush(k->pools, k->pool_count, k->pool_room) = p;
	return p->number;
}

static void add_rule(struct known_pools *k, enum where where, const char *text, size_t size)
{
	struct rule rule = { .where = where };

	rule.prefix = text[size - 1] == '*';
	rule.size = size - rule.prefix;
	rule.pattern = xmemdup0(text, rule.size);
	for (char *c = rule.pattern; *c; c++)
		if (*c == '&')
			*c = ' ';
	*xpush(k->rules, k->rule_count, k->rule_room) = rule;
}

/* Where it begins, the rest of the line is the reason. */
static const char *reason_at(const char *p, const char *end, size_t *ret_size)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	while (end > p && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	*ret_size = (size_t)(end - p);
	return p;
}

static int read_line(struct known_pools *k, const char *line, size_t size, unsigned number,
		     struct err *err)
{
	const char *end = line + size, *p = line, *word, *reason = OWN_REASON;
	size_t length, first = k->rule_count, reason_size = strlen(OWN_REASON);
	unsigned where = 0, pool;

	word = next_word(&p, end, &length);
	if (!word || !is_word(word, length, KIND_WORD))
		return 0;
	word = next_word(&p, end, &length);
	while (word && where < WHERES && !is_word(word, length, where_names[where]))
		where++;
	if (!word || where == WHERES)
		return err_set(err, -EINVAL,
			       "line %u: after '" KIND_WORD "' comes function, below, module or "
			       "loading",
			       number);
	while ((word = next_word(&p, end, &length)) != NULL) {
		if (is_word(word, length, ":")) {
			reason = reason_at(p, end, &reason_size);
			break;
		}
		add_rule(k, (enum where)where, word, length);
	}
	if (k->rule_count == first)
		return err_set(err, -EINVAL,
			       "line %u: " KIND_WORD " WHERE PATTERN… : REASON is needed", number);
	pool = pool_named(k, reason, reason_size);
	for (size_t i = first; i < k->rule_count; i++)
		k->rules[i].pool = pool;
	return 0;
}

static int read_rules(struct known_pools *k, const char *text, struct err *err)
{
	unsigned number = 1;
	int error = 0;

	while (*text && !error) {
		size_t size = strcspn(text, "\n");

		error = read_line(k, text, size, number++, err);
		text += size + (text[size] == '\n');
	}
	return error;
}

int known_pools_check(const char *text, struct err *err)
{
	struct known_pools *k = xcalloc(1, sizeof(*k));
	int error = read_rules(k, text, err);

	known_pools_free(k);
	return error;
}

struct known_pools *known_pools_new(void)
{
	struct known_pools *k = xcalloc(1, sizeof(*k));
	auto_free char *own = user_rules_text(NULL);

	/* What is wrong with them has been said when they were read as rules on frames. */
	if (own)
		read_rules(k, own, NULL);
	read_rules(k, known_pools_text, NULL);
	return k;
}

struct known_pools *known_pools_free(struct known_pools *k)
{
	if (!k)
		return NULL;
	for (size_t i = 0; i < k->rule_count; i++)
		free(k->rules[i].pattern);
	for (size_t i = 0; i < k->pool_count; i++) {
		free((char *)k->pools[i]->reason);
		free(k->pools[i]);
	}
	free(k->rules);
	free(k->pools);
	free(k->of_function);
	free(k->below);
	free(k);
	return NULL;
}

unsigned known_pools_count(const struct known_pools *k)
{
	return (unsigned)k->pool_count;
}

const struct known_pool *known_pools_at(const struct known_pools *k, unsigned number)
{
	return k->pools[number];
}

void known_pools_use(struct known_pools *k, const struct responsible *r)
{
	size_t frames = (size_t)locations_frame_count(r->locations) + 1;

	free(k->of_function);
	free(k->below);
	k->responsible = r;
	k->of_function = xcalloc(frames, sizeof(*k->of_function));
	k->below = xcalloc(frames, sizeof(*k->below));
}

static bool fits(const struct rule *rule, const char *name, size_t size)
{
	return (rule->prefix ? size >= rule->size : size == rule->size) &&
	       !memcmp(name, rule->pattern, rule->size);
}

/* The pool of the first rule of a kind that one of two names fits, plus one, or NOT_ONE. */
static uint16_t pool_by_name(const struct known_pools *k, enum where where, const char *name,
			     size_t size, const char *raw)
{
	size_t raw_size = strlen(raw);

	for (size_t i = 0; i < k->rule_count; i++)
		if (k->rules[i].where == where &&
		    (fits(&k->rules[i], name, size) || fits(&k->rules[i], raw, raw_size)))
			return (uint16_t)(k->rules[i].pool + 1);
	return NOT_ONE;
}

static void look_at_frame(struct known_pools *k, uint32_t number, const struct location_frame *f)
{
	const struct locations *p = k->responsible->locations;
	const char *name, *raw = locations_string(p, f->raw_function);
	size_t size;

	if (k->of_function[number])
		return;
	name = frame_owner_name(locations_string(p, f->function), &size);
	if (size > strlen(INTERNAL) && !memcmp(name, INTERNAL, strlen(INTERNAL))) {
		name += strlen(INTERNAL);
		size -= strlen(INTERNAL);
	}
	k->of_function[number] = pool_by_name(k, IN_FUNCTION, name, size, raw);
	k->below[number] = pool_by_name(k, BELOW, name, size, raw);
}

static uint16_t pool_by_module(const struct known_pools *k, enum where where, uint32_t module)
{
	const char *file = path_base(locations_module_path(k->responsible->locations, module));

	return pool_by_name(k, where, file, strlen(file), "");
}

static const struct known_pool *pool_of(const struct known_pools *k, uint16_t found)
{
	return found && found != NOT_ONE ? k->pools[found - 1] : NULL;
}

const struct known_pool *known_pool_of_stack(struct known_pools *k, uint32_t stack)
{
	const struct responsible *r = k->responsible;
	const struct nodes *nodes = &r->model->tables.nodes;
	bool inside = true, allocating = true;
	uint16_t loading = NOT_ONE;

	for (uint32_t id = stack; node_is_known(nodes, id); id = nodes->parent[id]) {
		uint32_t location = locations_of_node(r->locations, id);
		const struct location *at = locations_at(r->locations, location);
		unsigned count;
		const struct location_frame *f = locations_frames(r->locations, location, &count);

		for (unsigned i = 0; i < count; i++) {
			enum frame_kind kind = responsible_kind(r, location, i);
			uint32_t number = at->first_frame + i;

			/* Who is behind it calls constructors, or the program. */
			if (inside && kind == FRAME_START) {
				if (loading != NOT_ONE)
					return pool_of(k, loading);
				inside = false;
			}
			look_at_frame(k, number, &f[i]);
			if (inside && k->of_function[number] != NOT_ONE)
				return pool_of(k, k->of_function[number]);
			if (k->below[number] != NOT_ONE)
				return pool_of(k, k->below[number]);
			if (allocating && kind != FRAME_ALLOCATOR && kind != FRAME_WRAPPER) {
				uint16_t module = pool_by_module(k, IN_MODULE, at->module);

				if (module != NOT_ONE)
					return pool_of(k, module);
				loading = pool_by_module(k, LOADING, at->module);
				allocating = false;
			}
			inside = inside && kind != FRAME_PROGRAM;
		}
	}
	return inside ? pool_of(k, loading) : NULL;
}
