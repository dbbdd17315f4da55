/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The environment in each way that a program can look at it, and the auxiliary vector behind it:
 * one line for each entry.  A constructor looks earlier; with "set" it sets a variable. */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

extern char **environ;

#ifdef OLD_START
/* As a program of before glibc 2.34 is started; to be linked with -nostartfiles. */
__asm__(".symver old_start_main, __libc_start_main@GLIBC_2.2.5\n"
	".globl _start\n"
	"_start: xor %ebp, %ebp; mov %rdx, %r9; pop %rsi; mov %rsp, %rdx; and $-16, %rsp\n"
	"push %rax; push %rsp; xor %r8d, %r8d; xor %ecx, %ecx; lea main(%rip), %rdi\n"
	"call *old_start_main@GOTPCREL(%rip); hlt\n");
#endif

static int constructed_argc;
static char **constructed_environ;

__attribute__((constructor)) static void early(int argc, char **argv, char **env)
{
	constructed_argc = argc;
	constructed_environ = env;
	if (argc > 1 && !strcmp(argv[1], "set"))
		setenv("SET_BY_CONSTRUCTOR", "1", 1);
}

/* An empty entry is nothing to anybody; where it stands is not said. */
static void print_entries(const char *how, char **env)
{
	for (; *env; env++)
		if (**env)
			printf("%s: %s\n", how, *env);
}

static void print_proc(void)
{
	static char text[1 << 20];
	int fd = open("/proc/self/environ", O_RDONLY);
	ssize_t n, end, used = 0;

	while ((n = read(fd, text + used, sizeof(text) - (size_t)used)) > 0)
		used += n;
	close(fd);
	/* Only at the end is there anything empty. */
	for (end = used; end && !text[end - 1];)
		end--;
	for (ssize_t i = 0; i < end; i += (ssize_t)strlen(text + i) + 1)
		printf("proc: %s\n", text + i);
}

int main(int argc, char **argv, char **env)
{
	char **walk = argv + argc + 1;
	unsigned count = 0, differ = 0;

	print_entries("environ", environ);
	print_entries("main", env);
	print_entries("constructor", constructed_environ);
	printf("first: %d\n", !environ[0] || environ[0][0] != 0);
	for (char **e = env; *e; e++) {
		char name[256];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*e, "="), *e);
		printf("getenv: %s=%s\n", name, getenv(name) ? getenv(name) : "(none)");
	}
	print_proc();
	print_entries("walk", walk);
	while (*walk)
		walk++;
	for (Elf64_auxv_t *a = (void *)(walk + 1); a->a_type != AT_NULL && count < 100; a++) {
		count++;
		if (a->a_type != AT_IGNORE && getauxval(a->a_type) != a->a_un.a_val)
			differ++;
	}
	printf("auxv: %u entries, %u differ, page size %lu\n", count, differ, getauxval(AT_PAGESZ));
	printf("arguments: %d %d %s\n", argc, constructed_argc, argv[argc] ? "open" : "closed");
	return 0;
}
