/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Maps in other ways: by many threads at once, moved and resized, calls that fail, and memory for
 * allocations.  What it did goes to stdout, one fact a line. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul
#define RW (PROT_READ | PROT_WRITE)
#define ANONYMOUS (MAP_PRIVATE | MAP_ANONYMOUS)

static unsigned rounds;

static void *checked(void *p)
{
	if (p == MAP_FAILED)
		abort();
	return p;
}

/* Maps of all sizes come and go; addresses go from thread to thread. */
static void *churn(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < rounds; i++) {
		size_t size = (1 + (unsigned)rand_r(&seed) % 16) * PAGE;
		char *p = checked(mmap(NULL, size, RW, ANONYMOUS, -1, 0));

		if (i % 3 == 0)
			*p = 1;
		if (i % 50 == 7) {
			printf("kept %lu %lu\n", (unsigned long)p, (unsigned long)size);
			continue;
		}
		if (munmap(p, size))
			abort();
	}
	return NULL;
}

static void threads(unsigned count)
{
	pthread_t thread[64];

	for (unsigned i = 0; i < count; i++)
		if (pthread_create(&thread[i], NULL, churn, (void *)(uintptr_t)(i + 1)))
			abort();
	for (unsigned i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
}

static void say(const char *what, const void *p)
{
	printf("%s %lu\n", what, (unsigned long)p);
}

static void remap(void)
{
	char *room = checked(mmap(NULL, 64 * PAGE, PROT_NONE, ANONYMOUS, -1, 0));
	char *a = checked(mmap(room, 4 * PAGE, RW, ANONYMOUS | MAP_FIXED, -1, 0)), *b;

	say("a", a);
	memset(a, 1, 4 * PAGE);
	b = checked(mremap(a, 4 * PAGE, 12 * PAGE, MREMAP_MAYMOVE)); /* moves: it is not alone */
	say("grown", b);
	if (mremap(b, 12 * PAGE, 5 * PAGE, 0) != b)
		abort();
	if (mremap(b, 5 * PAGE, 5 * PAGE, 0) != b)
		abort();
	a = checked(mremap(b, 5 * PAGE, 6 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room + 32 * PAGE));
	say("fixed", a);
	if (munmap(a + 2 * PAGE, PAGE))
		abort();
}

static void fail(void)
{
	int errors[5] = { 0 };
	char *p = checked(mmap(NULL, 2 * PAGE, RW, ANONYMOUS, -1, 0));

	errno = 0;
	errors[0] = mmap(NULL, 0, RW, ANONYMOUS, -1, 0) == MAP_FAILED ? errno : 0;
	errors[1] = mmap(NULL, PAGE, RW, MAP_PRIVATE, -1, 0) == MAP_FAILED ? errno : 0;
	errors[2] = munmap(p + 1, PAGE) ? errno : 0;
	errors[3] = mremap(p, 2 * PAGE, 1ul << 46, 0) == MAP_FAILED ? errno : 0;
	errors[4] = munmap(p, 0) ? errno : 0;
	for (int i = 0; i < 5; i++)
		printf("error %d\n", errors[i]);
}

/* A file, and memory that is shared. */
static void files(const char *path)
{
	int fd = open(path, O_RDONLY);
	char *file = checked(mmap(NULL, 3 * PAGE, PROT_READ, MAP_PRIVATE, fd, PAGE));
	char *shared = checked(mmap(NULL, 2 * PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0));

	printf("%d\n", file[0]);
	*shared = 1;
	if (mprotect(shared + PAGE, PAGE, PROT_READ))
		abort();
	printf("ready\n");
	fflush(stdout);
	while (getchar() > ' ')
		;
}

static void child(void)
{
	pid_t pid;

	checked(mmap(NULL, 3 * PAGE, RW, ANONYMOUS, -1, 0));
	pid = fork();
	if (!pid) {
		free(malloc(10));
		checked(mmap(NULL, 9 * PAGE, RW, ANONYMOUS, -1, 0));
		exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	if (!strcmp(argv[1], "threads")) {
		rounds = (unsigned)atoi(argv[3]);
		threads((unsigned)atoi(argv[2]));
	} else if (!strcmp(argv[1], "remap")) {
		remap();
	} else if (!strcmp(argv[1], "fail")) {
		fail();
	} else if (!strcmp(argv[1], "files")) {
		files(argv[2]);
	} else if (!strcmp(argv[1], "child")) {
		child();
	}
	return 0;
}
