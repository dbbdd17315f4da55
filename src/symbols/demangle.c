/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Demangling by libiberty, which knows both C++ and Rust (old and new style).
 *
 * A short name can stand for an endless one, since both manglings refer back to their own parts;
 * and libiberty refuses names over 1,024 bytes, because it takes stack in proportion.  So what
 * comes out is counted and ended by force, and long names get a thread with a large stack. */
#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/xalloc.h"
#include "symbols/symbols.h"

#define SHORT_NAME 1024 /* what libiberty takes by itself */
#define LONG_NAME 32768 /* longer ones stay as they are */
#define STACK_SIZE (256u << 20)
#define ELLIPSIS "\xe2\x80\xa6"

struct output {
	struct buf text;
	bool rust;
	jmp_buf full;
};

static void demangle_take_piece(const char *piece, size_t size, void *context)
{
	struct output *o = context;
	size_t left = DEMANGLED_MAX - sizeof(ELLIPSIS) - o->text.size;

	if (size <= left) {
		buf_add(&o->text, piece, size);
		return;
	}
	buf_add(&o->text, piece, left);
	buf_text(&o->text, ELLIPSIS);
	longjmp(o->full, 1);
}

static bool is_mangled(const char *name)
{
	return !strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2) || !strncmp(name, "__Z", 3) ||
	       !strncmp(name, "___Z", 4);
}

/* Legacy Rust looks like C++ with a hash at the end, so Rust is asked first. */
static bool convert(const char *name, int more, struct output *o)
{
	const int options = DMGL_PARAMS | DMGL_ANSI | more;

	o->rust = true;
	if (rust_demangle_callback(name, options, demangle_take_piece, o))
		return true;
	o->rust = false;
	buf_clear(&o->text);
	if (!strncmp(name, "__Z", 3) || !strncmp(name, "___Z", 4))
		name = strchr(name, 'Z') - 1;
	return cplus_demangle_v3_callback(name, options, demangle_take_piece, o);
}

struct spelling {
	const char *lengthy, *brief;
};

/* As users write them; the compiler's own name for these fills a screen. */
#define STRING_OF(space, type)                                                                     \
	space "basic_string<" type ", std::char_traits<" type ">, std::allocator<" type ">>"
#define VIEW_OF(type) "std::basic_string_view<" type ", std::char_traits<" type ">>"
static const struct spelling spellings[] = {
	{ STRING_OF("std::__cxx11::", "char"), "std::string" },
	{ STRING_OF("std::__1::", "char"), "std::string" },
	{ STRING_OF("std::", "char"), "std::string" },
	{ STRING_OF("std::__cxx11::", "wchar_t"), "std::wstring" },
	{ STRING_OF("std::", "wchar_t"), "std::wstring" },
	{ STRING_OF("std::__cxx11::", "char8_t"), "std::u8string" },
	{ STRING_OF("std::__cxx11::", "char16_t"), "std::u16string" },
	{ STRING_OF("std::__cxx11::", "char32_t"), "std::u32string" },
	{ VIEW_OF("char"), "std::string_view" },
	{ VIEW_OF("wchar_t"), "std::wstring_view" },
	{ VIEW_OF("char8_t"), "std::u8string_view" },
	{ VIEW_OF("char16_t"), "std::u16string_view" },
	{ VIEW_OF("char32_t"), "std::u32string_view" },
};

/* "> >" as ">>", but not behind `operator>`. */
static void close_brackets(char *text)
{
	static const char op[] = "operator>";
	const size_t op_size = sizeof(op) - 1;
	char *to = text;

	for (const char *p = text; *p; p++) {
		if (*p == ' ' && p[1] == '>' && to > text && to[-1] == '>' &&
		    !((size_t)(to - text) >= op_size && !memcmp(to - op_size, op, op_size)))
			continue;
		*to++ = *p;
	}
	*to = 0;
}

static char *shorten(char *text)
{
	struct buf out = { 0 };

	close_brackets(text);
	if (!strstr(text, "basic_string"))
		return text;
	for (const char *p = text; *p;) {
		const struct spelling *found = NULL;

		for (size_t i = 0; *p == 's' && i < sizeof(spellings) / sizeof(*spellings); i++)
			if (!strncmp(p, spellings[i].lengthy, strlen(spellings[i].lengthy))) {
				found = &spellings[i];
				break;
			}
		if (found) {
			buf_text(&out, found->brief);
			p += strlen(found->lengthy);
		} else {
			buf_char(&out, *p++);
		}
	}
	free(text);
	return out.data;
}

static void add_utf8(struct buf *out, unsigned long c)
{
	if (c < 0x80) {
		buf_char(out, (char)c);
	} else if (c < 0x800) {
		buf_printf(out, "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 63)));
	} else if (c < 0x10000) {
		buf_printf(out, "%c%c%c", (int)(0xe0 | c >> 12), (int)(0x80 | (c >> 6 & 63)),
			   (int)(0x80 | (c & 63)));
	} else {
		buf_printf(out, "%c%c%c%c", (int)(0xf0 | c >> 18), (int)(0x80 | (c >> 12 & 63)),
			   (int)(0x80 | (c >> 6 & 63)), (int)(0x80 | (c & 63)));
	}
}

/* Old Rust names write letters beyond ASCII as $uf6$, which libiberty leaves so. */
static char *decode_letters(char *text)
{
	struct buf out = { 0 };

	if (!strstr(text, "$u"))
		return text;
	for (const char *p = text; *p;) {
		size_t digits = p[0] == '$' && p[1] == 'u' ? strspn(p + 2, "0123456789abcdef") : 0;
		unsigned long c = digits && digits <= 6 && p[2 + digits] == '$'
					  ? strtoul(p + 2, NULL, 16)
					  : 0;

		/* Neither control characters nor half of a pair. */
		if (c >= 0x80 + 32 && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff)) {
			add_utf8(&out, c);
			p += digits + 3;
		} else {
			buf_char(&out, *p++);
		}
	}
	free(text);
	return out.data;
}

/* NULL if it is not mangled after all. */
static char *attempt(const char *name, int options)
{
	auto_free struct output *o = xcalloc(1, sizeof(*o));
	volatile bool done = true;
	char *text = NULL;

	if (!setjmp(o->full))
		done = convert(name, options, o);
	if (done && o->text.size) {
		text = o->rust ? decode_letters(o->text.data) : shorten(o->text.data);
		o->text.data = NULL;
	}
	buf_release(&o->text);
	return text;
}

struct job {
	const char *name;
	char *text;
};

static void *attempt_long(void *context)
{
	struct job *j = context;

	j->text = attempt(j->name, DMGL_NO_RECURSE_LIMIT);
	return NULL;
}

static char *on_large_stack(const char *name)
{
	struct job j = { .name = name };
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	if (pthread_attr_setstacksize(&attributes, STACK_SIZE) == 0 &&
	    pthread_create(&thread, &attributes, attempt_long, &j) == 0)
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
	return j.text;
}

char *demangle(const char *name)
{
	size_t size = strlen(name);
	char *text = NULL;

	/* Names that start otherwise are C, and some of those look like mangled types. */
	if (is_mangled(name) && size <= LONG_NAME)
		text = size < SHORT_NAME ? attempt(name, 0) : on_large_stack(name);
	return text ? text : xstrdup(name);
}
