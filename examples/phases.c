/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that talks to Memoir: it records its second phase only, and marks where it is.
 *
 *	memoir run --disabled -o phases.dat ./phases
 *	memoir info phases.dat
 *
 * Without Memoir it runs just the same. */
#include <memoir.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *load(const char *name)
{
	char *text = malloc(100000);

	if (text)
		snprintf(text, 100000, "contents of %s", name);
	return text;
}

static size_t work(const char *text, int times)
{
	size_t sum = 0;

	for (int i = 0; i < times; i++) {
		char *copy = strdup(text);

		if (!copy)
			break;
		sum += strlen(copy);
		free(copy);
	}
	return sum;
}

int main(void)
{
	char *text = load("a file");

	if (!text)
		return 1;
	memoir_set_marker_named(1, "loaded");
	memoir_start();
	printf("%zu\n", work(text, 1000));
	memoir_set_marker_named(2, "worked");
	printf("%zu\n", work(text, 1000));
	memoir_stop();
	if (!memoir_sync())
		printf("the recording is on disk\n");
	free(text);
	return 0;
}
