/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The allocator underneath: the functions that would have been called without us. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/rt.h"

struct sigaction;

struct real {
	long (*syscall)(long, ...); /* first: entry.S jumps there */
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	void (*free_sized)(void *, size_t);
	void (*free_aligned_sized)(void *, size_t, size_t);
	void (*cfree)(void *);
	size_t (*malloc_usable_size)(void *);
	size_t (*usable)(void *); /* of a block that the others gave: for us */
	void *(*mallocx)(size_t, int);
	void *(*rallocx)(void *, size_t, int);
	size_t (*xallocx)(void *, size_t, size_t, int);
	size_t (*sallocx)(const void *, int);
	size_t (*nallocx)(size_t, int);
	void (*dallocx)(void *, int);
	void (*sdallocx)(void *, size_t, int);
	pid_t (*fork)(void);
	int (*dlclose)(void *);
	int (*prctl)(int, ...);
	int (*mlockall)(int);
	int (*execve)(const char *, char *const[], char *const[]);
	int (*execv)(const char *, char *const[]);
	int (*execvp)(const char *, char *const[]);
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*execl)(const char *, const char *, ...);
	int (*execlp)(const char *, const char *, ...);
	int (*execle)(const char *, const char *, ...);
	int (*fexecve)(int, char *const[], char *const[]);
	int (*execveat)(int, const char *, char *const[], char *const[], int);
	int (*posix_spawn)(pid_t *, const char *, const void *, const void *, char *const[],
			   char *const[]);
	int (*posix_spawnp)(pid_t *, const char *, const void *, const void *, char *const[],
			    char *const[]);
	void (*__register_frame)(void *);
	void (*__deregister_frame)(void *);
	int (*sigaction)(int, const struct sigaction *, struct sigaction *);
	void (*(*signal)(int, void (*)(int)))(int);
	int (*__libc_start_main)(int (*)(int, char **, char **), int, char **, void (*)(void),
				 void (*)(void), void (*)(void), void *);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	void *(*mmap64)(void *, size_t, int, int, int, off64_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	int (*brk)(void *);
	int (*mprotect)(void *, size_t, int);
	int (*madvise)(void *, size_t, int);
	int (*mallopt)(int, int);
	int (*malloc_trim)(size_t);
	void (*_exit)(int);
	void (*_Exit)(int);
	void *(*_Znwm)(size_t);
	void *(*_Znam)(size_t);
	void *(*_ZnwmRKSt9nothrow_t)(size_t, const void *);
	void *(*_ZnamRKSt9nothrow_t)(size_t, const void *);
	void *(*_ZnwmSt11align_val_t)(size_t, size_t);
	void *(*_ZnamSt11align_val_t)(size_t, size_t);
	void *(*_ZnwmSt11align_val_tRKSt9nothrow_t)(size_t, size_t, const void *);
	void *(*_ZnamSt11align_val_tRKSt9nothrow_t)(size_t, size_t, const void *);
	void (*_ZdlPv)(void *);
	void (*_ZdaPv)(void *);
	void (*_ZdlPvm)(void *, size_t);
	void (*_ZdaPvm)(void *, size_t);
	void (*_ZdlPvRKSt9nothrow_t)(void *, const void *);
	void (*_ZdaPvRKSt9nothrow_t)(void *, const void *);
	void (*_ZdlPvSt11align_val_t)(void *, size_t);
	void (*_ZdaPvSt11align_val_t)(void *, size_t);
	void (*_ZdlPvmSt11align_val_t)(void *, size_t, size_t);
	void (*_ZdaPvmSt11align_val_t)(void *, size_t, size_t);
	void (*_ZdlPvSt11align_val_tRKSt9nothrow_t)(void *, size_t, const void *);
	void (*_ZdaPvSt11align_val_tRKSt9nothrow_t)(void *, size_t, const void *);
};

extern struct real real HIDDEN;
/* libc's own, for what is only loaded later. */
extern void *(*real_dlopen)(const char *, int)HIDDEN;
extern void *(*real_dlsym)(void *, const char *)HIDDEN;
/* Somebody's malloc comes before ours in lookup order. */
extern bool real_comes_first HIDDEN;
/* There is one inside the executable. */
extern bool real_own HIDDEN;
/* Where libc keeps the end of its heap; NULL: it does not say. */
extern void *const *real_break HIDDEN;
/* The file that the allocator is in: the one below us. */
extern const struct link_map *real_map HIDDEN;

struct hook_row {
	const char *name;
	void *hook;  /* our function */
	void **real; /* its row in `real` */
	bool exported;
};
extern const struct hook_row hook_rows[] HIDDEN;
extern const unsigned hook_row_count HIDDEN;

/* The row's function as its symbol is called here: where words have 32 bits, C++ has another letter
 * for size_t, the first argument of operators that have one.  `room` may be what is returned. */
#define HOOK_SYMBOL_MAX 48
static inline const char *hook_symbol(const struct hook_row *row, char room[HOOK_SYMBOL_MAX])
{
	const char *name = row->name;
	bool gives = name[0] == '_' && name[1] == 'Z' && name[2] == 'n';
	bool takes = name[0] == '_' && name[1] == 'Z' && name[2] == 'd' && name[5] == 'v';
	size_t letter = gives ? 4 : 6, i;

	if (sizeof(size_t) == 8 || (!gives && !takes) || name[letter] != 'm')
		return name;
	for (i = 0; name[i] && i < HOOK_SYMBOL_MAX - 1; i++)
		room[i] = i == letter ? 'j' : name[i];
	room[i] = 0;
	return room;
}
