/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Code that is made at run time, and what /tmp/perf-PID.map says about it.
 *
 *   perf_map plain       two functions, allocating 1001 and 1002 bytes; the second has an older
 * name perf_map folder      the same in a /tmp of its own perf_map foreign     the file belongs to
 * somebody else perf_map link        it is a symbolic link perf_map fork        the child allocates
 * 1003 bytes through the parent's code perf_map none        there is no file, but the code is there
 *   perf_map unmapped    nor is the code when the program ends */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

static NOINLINE void allocate(size_t size)
{
	/* Kept, so that a child inherits it. */
	KEEP(HIDE(malloc(size)));
}

typedef void jitted(void (*callee)(size_t), size_t argument);

/* push %rbp; mov %rsp, %rbp; sub $64, %rsp; ...; leave; ret */
static const uint8_t framed[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 64,	  0x48,
				  0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0xc9, 0xc3 };

int main(int argc, char **argv)
{
	char path[64], text[256];
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd, n;

	if (argc != 2 || code == MAP_FAILED)
		fail("perf_map KIND");
	memcpy(code, framed, sizeof(framed));
	memcpy(code + 256, framed, sizeof(framed));
	if (!strcmp(argv[1], "folder") &&
	    (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	     mount("none", "/tmp", "tmpfs", 0, NULL)))
		return 77;
	((jitted *)code)(allocate, 1001);
	((jitted *)(code + 256))(allocate, 1002);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	if (strcmp(argv[1], "none") && strcmp(argv[1], "unmapped")) {
		n = snprintf(text, sizeof(text),
			     "%lx 200 older\nnonsense\n%lx 100 JS:*first /srv/shop.js:12:7\n"
			     "0x%lx 0x100 second with spaces\n%lx 100 cut",
			     (long)code, (long)code, (long)code + 256, (long)code + 256);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
		if (fd < 0 || write(fd, text, (size_t)n) != n)
			fail("map");
		if (!strcmp(argv[1], "foreign") && fchown(fd, 12345, 12345))
			return 77;
		close(fd);
		if (!strcmp(argv[1], "link")) {
			snprintf(text, sizeof(text), "%s.real", path);
			if (rename(path, text) || symlink(text, path))
				fail("link");
		}
	}
	if (!strcmp(argv[1], "fork")) {
		if (!fork()) {
			((jitted *)code)(allocate, 1003);
			return 0;
		}
		wait(NULL);
	}
	if (!strcmp(argv[1], "unmapped")) {
		usleep(600000);
		munmap(code, 4096);
	}
	return 0;
}
