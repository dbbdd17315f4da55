/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Kinds of frames by name.  See frame_kind.h. */
#include "query/frame_kind.h"

#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <string.h>

#include "base/path.h"
#include "base/xalloc.h"
#include "query/frame_kinds.h"

const char *const frame_kind_names[FRAME_KINDS] = {
	[FRAME_START] = "start",       [FRAME_ALLOCATOR] = "allocator", [FRAME_WRAPPER] = "wrapper",
	[FRAME_HIDDEN] = "hidden",     [FRAME_LIBRARY] = "library",	[FRAME_RUNTIME] = "runtime",
	[FRAME_STANDARD] = "standard", [FRAME_PROGRAM] = "program",
};

enum where { IN_FUNCTION, IN_CXX, IN_RUST, IN_GO, IN_SOURCE, IN_MODULE, WHERES };
static const char *const where_names[WHERES] = {
	"function", "c++", "rust", "go", "source", "module",
};

struct frame_rule {
	char *pattern; /* without the '*' at its end; of a path's whole */
	size_t size;
	bool prefix, is_path; /* a path: the pattern is a shell's */
	enum where where;
	enum frame_kind kind;
};

/* Rules whose pattern begins with the same byte are next to each other. */
struct frame_rules {
	struct frame_rule *rows;
	size_t count, room;
	size_t first[257];
};

static int compare_rules(const void *a, const void *b)
{
	const struct frame_rule *x = a, *y = b;
	int first = (unsigned char)*x->pattern - (unsigned char)*y->pattern;

	/* Longest first: that is the one that counts. */
	return first ? first : (x->size < y->size) - (x->size > y->size);
}

static unsigned word_in(const char *const *words, unsigned count, const char *text, size_t size)
{
	unsigned i = 0;

	while (i < count && (strlen(words[i]) != size || memcmp(words[i], text, size) != 0))
		i++;
	return i;
}

static void add_rule(struct frame_rules *r, enum frame_kind kind, enum where where,
		     const char *text, size_t size)
{
	struct frame_rule rule = { .kind = kind, .where = where };

	rule.is_path = where == IN_SOURCE || (where == IN_MODULE && memchr(text, '/', size));
	rule.prefix = size && text[size - 1] == '*' && !rule.is_path;
	rule.size = size - rule.prefix;
	rule.pattern = xmemdup0(text, rule.size);
	for (char *c = rule.pattern; *c; c++)
		if (*c == '&')
			*c = ' ';
	*xpush(r->rows, r->count, r->room) = rule;
}

static int read_line(struct frame_rules *r, const char *line, size_t size, unsigned number,
		     struct err *err)
{
	const char *end = line + size, *word = line;
	unsigned words[2] = { FRAME_KINDS, WHERES };
	unsigned n = 0;

	for (const char *p = line; p < end; p = word) {
		size_t length;

		while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
			p++;
		for (word = p; word < end && *word != ' ' && *word != '\t' && *word != '\r'; word++)
			;
		length = (size_t)(word - p);
		if (!length || (!n && *p == '#'))
			break;
		if (!n && length == 4 && !memcmp(p, "pool", 4))
			break; /* read by known_pools.c */
		if (n == 0)
			words[0] = word_in(frame_kind_names, FRAME_KINDS, p, length);
		else if (n == 1)
			words[1] = word_in(where_names, WHERES, p, length);
		if ((n == 0 && words[0] == FRAME_KINDS) || (n == 1 && words[1] == WHERES))
			return err_set(err, -EINVAL, "line %u: '%.*s' is no %s", number,
				       (int)(length < 40 ? length : 40), p,
				       n ? "place: function, c++, rust, go, source or module"
					 : "kind: allocator, wrapper, library, runtime, standard, "
					   "start, hidden, program or pool");
		if (n >= 2)
			add_rule(r, (enum frame_kind)words[0], (enum where)words[1], p, length);
		n++;
	}
	if (n == 1 || n == 2)
		return err_set(err, -EINVAL, "line %u: KIND WHERE PATTERN… is needed", number);
	return 0;
}

struct frame_rules *frame_rules_read(const char *text, struct err *err)
{
	struct frame_rules *r = xcalloc(1, sizeof(*r));
	unsigned number = 1;

	while (*text) {
		size_t size = strcspn(text, "\n");

		if (read_line(r, text, size, number++, err))
			return frame_rules_free(r);
		text += size + (text[size] == '\n');
	}
	if (r->count)
		qsort(r->rows, r->count, sizeof(*r->rows), compare_rules);
	for (unsigned byte = 0, i = 0; byte <= 256; byte++) {
		while (i < r->count && (unsigned char)*r->rows[i].pattern < byte)
			i++;
		r->first[byte] = byte < 256 ? i : r->count;
	}
	return r;
}

struct frame_rules *frame_rules_free(struct frame_rules *r)
{
	if (!r)
		return NULL;
	for (size_t i = 0; i < r->count; i++)
		free(r->rows[i].pattern);
	free(r->rows);
	free(r);
	return NULL;
}

static struct frame_rules *built_in;

static void read_built_in(void)
{
	built_in = frame_rules_read(frame_kinds_text, NULL);
}

const struct frame_rules *frame_rules(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_built_in);
	return built_in;
}

/* Skips what stands in brackets from `p` on, where one opens. */
static const char *behind_brackets(const char *p)
{
	unsigned depth = 0;

	for (; *p; p++) {
		if (*p == '>' && p[-1] == '-')
			continue; /* -> of a return type */
		if (strchr("<([{", *p))
			depth++;
		else if (strchr(">)]}", *p) && !--depth)
			return p + 1;
	}
	return p;
}

static bool is_operator(const char *name, const char *at)
{
	return at - name >= 8 && !memcmp(at - 8, "operator", 8) &&
	       (at - name == 8 || strchr(": ", at[-9]));
}

/* "decltype (…)" and "decltype(auto)" are types: no parameters follow. */
static bool is_decltype(const char *name, const char *at)
{
	if (at > name && at[-1] == ' ')
		at--;
	return at - name >= 8 && !memcmp(at - 8, "decltype", 8);
}

/* The name in front of the parameters: what is behind the last blank at the top level. */
static const char *cxx_owner(const char *name, size_t *ret_size)
{
	static const char anonymous[] = "(anonymous namespace)";
	const char *start = name, *p = name;

	while (*p) {
		if (!strncmp(p, anonymous, sizeof(anonymous) - 1)) {
			p += sizeof(anonymous) - 1;
		} else if (is_operator(name, p)) {
			/* operator new, operator(), operator<, operator bool: to the parameters */
			p += !strncmp(p, "()", 2) ? 2 : strcspn(p, "(");
			break;
		} else if (*p == '(' && is_decltype(name, p)) {
			p = behind_brackets(p);
		} else if (*p == '(') {
			break;
		} else if (strchr("<[{", *p)) {
			p = behind_brackets(p);
		} else {
			if (*p == ' ')
				start = p + 1;
			p++;
		}
	}
	while (*start == '*' || *start == '&')
		start++;
	*ret_size = (size_t)(p - start);
	return start;
}

static bool is_word_of(const char *words, const char *text, size_t size)
{
	for (const char *p = words; *p; p += strcspn(p, " "), p += *p == ' ')
		if (strcspn(p, " ") == size && !memcmp(p, text, size))
			return true;
	return false;
}

/* A type that belongs to no crate: T, [u8], str, (A,B), fn(), dyn …: then the trait says whose it
 * is, and it is the language's where there is none. */
static const char *rust_owner(const char *name, size_t *ret_size)
{
	static const char primitives[] = "str u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize "
					 "bool char f32 f64 impl";
	const char *p = name, *as;
	size_t word;

	for (;;) {
		p += strspn(p, "<&*[");
		if (!strncmp(p, "mut ", 4))
			p += 4;
		else if (!strncmp(p, "const ", 6))
			p += 6;
		else if (!strncmp(p, "dyn ", 4))
			p += 4;
		else
			break;
	}
	word = strcspn(p, " >:<,;]()");
	if (strncmp(p + word, "::", 2) != 0 && (word <= 1 || is_word_of(primitives, p, word))) {
		as = strstr(p, " as ");
		/* A trait may be inside a function, of a type of its own: "<u8 as
		 * <[_]>::to_vec::C>". */
		if (as && as[4] == '<')
			return rust_owner(as + 4, ret_size);
		p = as ? as + 4 : "core::";
	}
	*ret_size = strlen(p);
	return p;
}

const char *frame_owner_name(const char *name, size_t *ret_size)
{
	return *name == '<' ? rust_owner(name, ret_size) : cxx_owner(name, ret_size);
}

/* "_R…" is the newer mangling; the older one looks like C++, with a hash at its end. */
static bool is_rust(const char *name, const char *raw)
{
	size_t size = strlen(raw);

	if (*name == '<' || !strncmp(raw, "_R", 2))
		return true;
	if (size > 24 && !strncmp(raw, "_ZN", 3)) {
		const char *hash = raw + size - 1;

		while (hash > raw && *hash != 'E')
			hash--;
		return hash - raw > 20 && !memcmp(hash - 19, "17h", 3);
	}
	/* Inlined functions may have no name for the linker. */
	return !*raw && (strstr(name, "::{closure") || strstr(name, "::{impl#"));
}

/* What follows the package in "github.com/some/shop.(*Store).Read"; NULL in no Go name. */
static const char *go_owner(const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *dot = strchr(slash ? slash : name, '.');

	return dot && dot > name && dot[1] ? dot + 1 : NULL;
}

static bool rule_fits(const struct frame_rule *rule, const char *text, size_t size)
{
	return size >= rule->size && (rule->prefix || size == rule->size) &&
	       !memcmp(text, rule->pattern, rule->size);
}

static const struct frame_rule *find_rule(const struct frame_rules *r, const char *text,
					  size_t size, unsigned wheres)
{
	unsigned byte = (unsigned char)*text;

	if (!size)
		return NULL;
	for (size_t i = r->first[byte]; i < r->first[byte + 1]; i++)
		if (1u << r->rows[i].where & wheres && rule_fits(&r->rows[i], text, size))
			return &r->rows[i];
	return NULL;
}

enum frame_kind frame_kind_of_function(const struct frame_rules *r, const char *name,
				       const char *raw)
{
	bool rust = is_rust(name, raw);
	size_t size;
	const char *owner = frame_owner_name(name, &size);
	const struct frame_rule *rule =
		find_rule(r, owner, size, 1u << IN_FUNCTION | 1u << (rust ? IN_RUST : IN_CXX));
	const char *go = rule ? NULL : go_owner(name);

	if (go)
		rule = find_rule(r, go, strlen(go), 1u << IN_GO);
	return rule ? rule->kind : FRAME_KINDS;
}

/* The longest pattern of a shell that fits the path. */
static const struct frame_rule *find_path_rule(const struct frame_rules *r, const char *path,
					       enum where where)
{
	const struct frame_rule *found = NULL;

	for (size_t i = 0; *path && i < r->count; i++) {
		const struct frame_rule *rule = &r->rows[i];

		if (rule->where == where && rule->is_path && (!found || rule->size > found->size) &&
		    !fnmatch(rule->pattern, path, 0))
			found = rule;
	}
	return found;
}

enum frame_kind frame_kind_of_source(const struct frame_rules *r, const char *path)
{
	const struct frame_rule *rule = find_path_rule(r, path, IN_SOURCE);

	return rule ? rule->kind : FRAME_KINDS;
}

enum frame_kind frame_kind_of_module(const struct frame_rules *r, const char *path)
{
	const char *name = path_base(path);
	const struct frame_rule *rule = find_rule(r, name, strlen(name), 1u << IN_MODULE);

	if (!rule)
		rule = find_path_rule(r, path, IN_MODULE);
	return rule ? rule->kind : FRAME_KINDS;
}
