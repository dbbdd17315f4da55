/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Runs the fuzz target that its first argument names over files and folders, for compilers without
 * libFuzzer: so the corpus, and every input that once was a fault, is a regression test in each
 * build. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

static struct fuzz_target *targets, *chosen;
static unsigned replayed;

void fuzz_register(struct fuzz_target *target)
{
	target->next = targets;
	targets = target;
}

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct stat st;
	uint8_t *data;
	size_t size;

	if (!file || fstat(fileno(file), &st) < 0) {
		perror(path);
		return 1;
	}
	data = malloc((size_t)st.st_size + 1);
	size = data ? fread(data, 1, (size_t)st.st_size, file) : 0;
	fclose(file);
	printf("%s\n", path);
	fflush(stdout);
	chosen->try_input(data, size);
	free(data);
	replayed++;
	return 0;
}

static int replay(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	int failed = 0;

	if (!folder)
		return replay_file(path);
	while ((entry = readdir(folder))) {
		char name[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		failed |= replay_file(name);
	}
	closedir(folder);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (chosen = targets; chosen; chosen = chosen->next)
		if (argc > 1 && !strcmp(chosen->name, argv[1]))
			break;
	if (!chosen) {
		fprintf(stderr, "no such target\n");
		return 1;
	}
	for (int i = 2; i < argc; i++)
		failed |= replay(argv[i]);
	printf("%u inputs\n", replayed);
	return failed || !replayed;
}
