/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The few functions of <string.h> that the recorder uses, its own, and numbers as text.
 *
 * libc's may be another's: a sanitizer or a program that defines its own strcmp would be called
 * before it is ready, and would call malloc.  Hidden, so that nobody else gets these; the
 * compiler's own calls of memcpy and memset end here too.  Slow paths only, hence plain loops. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "recorder/rt.h"

#pragma GCC visibility push(hidden)

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	for (; n >= 8; n -= 8, t += 8, f += 8)
		*(uint64_t *)t = *(const uint64_t *)f;
	while (n-- > 0)
		*t++ = *f++;
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	if (t <= f)
		for (size_t i = 0; i < n; i++)
			t[i] = f[i];
	else
		while (n-- > 0)
			t[n] = f[n];
	return to;
}

void *memset(void *to, int value, size_t n)
{
	unsigned char *t = to;
	uint64_t word = (uint8_t)value * 0x0101010101010101ull;

	for (; n >= 8; n -= 8, t += 8)
		*(uint64_t *)t = word;
	while (n-- > 0)
		*t++ = (unsigned char)value;
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (; n > 0; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

size_t strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (; n > 0; n--, a++, b++)
		if (*a != *b || !*a)
			return (unsigned char)*a - (unsigned char)*b;
	return 0;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

char *strrchr(const char *s, int c)
{
	const char *found = NULL;

	do
		if (*s == (char)c)
			found = s;
	while (*s++);
	return (char *)found;
}

char *strstr(const char *s, const char *part)
{
	size_t n = strlen(part);

	for (; *s; s++)
		if (!strncmp(s, part, n))
			return (char *)s;
	return n ? NULL : (char *)s;
}

size_t strcspn(const char *s, const char *stop)
{
	size_t n = 0;

	while (s[n] && !strrchr(stop, s[n]))
		n++;
	return n;
}

char *text_number(char *out, uint64_t v)
{
	char reversed[24];
	int n = 0;

	do
		reversed[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*out++ = reversed[--n];
	*out = 0;
	return out;
}

#pragma GCC visibility pop
