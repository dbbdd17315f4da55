/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* JSON, written into a buf, indented.  Commas and quotes are this module's business.
 *
 * Inside an object every value has a key; inside an array, and for the outermost value, the key is
 * NULL.  Bytes that are not UTF-8 become U+FFFD, so the result is always valid. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* struct json j = { .out = &text }; */
struct json {
	struct buf *out;
	unsigned depth;
	bool filled;  /* the innermost object or array has something in it */
	bool compact; /* no blanks and no lines */
};

void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_end_object(struct json *j);
void json_end_array(struct json *j);
void json_text(struct json *j, const char *key, const char *text); /* NULL: null */
void json_bytes(struct json *j, const char *key, const char *text, size_t size);
void json_number(struct json *j, const char *key, uint64_t value);
void json_signed(struct json *j, const char *key, int64_t value);
/* `value` with `digits` behind the point. */
void json_real(struct json *j, const char *key, double value, unsigned digits);
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);
/* Null unless it is known. */
void json_number_if(struct json *j, const char *key, bool known, uint64_t value);
void json_real_if(struct json *j, const char *key, bool known, double value, unsigned digits);
/* One value, or several with commas between them, that were written before. */
void json_written(struct json *j, const char *key, const char *text, size_t size);

/* An array with a value for each i below `count`, which the statement behind it writes; it runs to
 * its end. */
#define JSON_EACH(j, key, i, count)                                                                \
	for (size_t i = (json_array(j, key), 0);                                                   \
	     i < (size_t)(count) || (json_end_array(j), false); i++)
/* The same with an object for each: the statement writes what is in it. */
#define JSON_ROWS(j, key, i, count) JSON_ROWS_WHILE(j, key, i, i < (size_t)(count))
/* As long as an expression with i in it holds; the object before has not ended then. */
#define JSON_ROWS_WHILE(j, key, i, more)                                                           \
	for (size_t i = (json_array(j, key), 0); json_row(j, i, more); i++)
/* At most so many of `count` rows, from i = skip on. */
#define JSON_PAGE(j, key, i, skip, most, count)                                                    \
	for (size_t i = (json_array(j, key), (skip));                                              \
	     json_row(j, i - (skip), i < (size_t)(count) && i - (skip) < (size_t)(most)); i++)
/* For these: ends the row before, and begins one if there are `more`. */
bool json_row(struct json *j, size_t row, bool more);

/* Members of a struct under their own names, each as its type is written:
 *	JSON_MEMBERS(&j, region, start, end, name);
 * The macros below it go from member to member, of up to 16. */
#define JSON_MEMBERS(j, of, ...)                                                                   \
	do {                                                                                       \
		JSON_SCAN(JSON_NEXT(j, of, __VA_ARGS__))                                           \
	} while (0)
#define JSON_MEMBER(j, of, member)                                                                 \
	_Generic((of)->member, bool                                                                \
		 : json_bool, char *                                                               \
		 : json_text, const char *                                                         \
		 : json_text, int64_t                                                              \
		 : json_signed, default                                                            \
		 : json_number)(j, #member, (of)->member);
#define JSON_NEXT(j, of, member, ...)                                                              \
	JSON_MEMBER(j, of, member) __VA_OPT__(JSON_AGAIN JSON_PARENS(j, of, __VA_ARGS__))
#define JSON_PARENS ()
#define JSON_AGAIN() JSON_NEXT
#define JSON_SCAN(...) JSON_SCAN_4(JSON_SCAN_4(JSON_SCAN_4(JSON_SCAN_4(__VA_ARGS__))))
#define JSON_SCAN_4(...) JSON_SCAN_1(JSON_SCAN_1(JSON_SCAN_1(JSON_SCAN_1(__VA_ARGS__))))
#define JSON_SCAN_1(...) __VA_ARGS__
