/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Placeholders in the names of recordings and logs.  See file_name.h. */
#include "recording/file_name.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

bool file_name_has(const char *pattern, char letter)
{
	for (const char *p = strchr(pattern, '%'); p; p = strchr(p, '%')) {
		if (p[1] == letter)
			return true;
		p += p[1] ? 2 : 1;
	}
	return false;
}

size_t file_name_stem(const char *name)
{
	const char *slash = strrchr(name, '/'), *dot = strrchr(name, '.');

	return dot && dot > (slash ? slash + 1 : name) ? (size_t)(dot - name) : strlen(name);
}

bool file_name_expand(char *out, size_t size, const char *pattern, pid_t pid, const char *program,
		      unsigned counter)
{
	size_t used = 0;

	for (const char *p = pattern; *p; p++) {
		char number[24];
		const char *text = number;
		size_t n;

		snprintf(number, sizeof(number), "%c", *p);
		if (*p == '%') {
			switch (p[1]) {
			case 'p':
				snprintf(number, sizeof(number), "%d", (int)pid);
				break;
			case 't':
				snprintf(number, sizeof(number), "%lld", (long long)time(NULL));
				break;
			case 'n':
				snprintf(number, sizeof(number), "%u", counter);
				break;
			case 'e':
				text = program;
				break;
			case '%':
				break;
			default:
				p--; /* not ours: the percent sign is an ordinary character */
			}
			p++;
		}
		n = strlen(text);
		if (used + n + 1 > size)
			return false;
		memcpy(out + used, text, n);
		used += n;
	}
	out[used] = 0;
	return true;
}
