/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Runs a fuzz target over files and folders, for compilers without libFuzzer: so the corpus, and
 * every input that once was a fault, is a regression test in each build. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned replayed;

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
	LLVMFuzzerTestOneInput(data, size);
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

	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]);
	printf("%u inputs\n", replayed);
	return failed || !replayed;
}
