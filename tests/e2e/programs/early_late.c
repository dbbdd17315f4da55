/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Allocation outside main: in preinit, in constructors of every priority, in an atexit handler, in
 * destructors, in the destructor of a thread-specific value, in on_exit. */
#include <pthread.h>

#include "say.h"

static pthread_key_t key;

static NOINLINE void in_preinit(void)
{
	free(HIDE(malloc(6001)));
}

static void preinit(int argc, char **argv, char **envp)
{
	in_preinit();
	KEEP(argc + (argv == NULL) + (envp == NULL));
}

__attribute__((section(".preinit_array"),
	       used)) static void (*const preinit_entry)(int, char **, char **) = preinit;

static __attribute__((constructor(101), noinline)) void in_first_constructor(void)
{
	free(HIDE(malloc(6002)));
}

static __attribute__((constructor, noinline)) void in_constructor(void)
{
	free(HIDE(malloc(6003)));
}

static __attribute__((destructor, noinline)) void in_destructor(void)
{
	free(HIDE(malloc(6007)));
	say("destructor\n");
}

static __attribute__((destructor(101), noinline)) void in_last_destructor(void)
{
	free(HIDE(malloc(6008)));
	say("last destructor\n");
}

static NOINLINE void in_atexit(void)
{
	free(HIDE(malloc(6006)));
	say("atexit\n");
}

static NOINLINE void in_key_destructor(void *value)
{
	free(value);
	free(HIDE(malloc(6005)));
	KEEP(value);
}

static void *run(void *argument)
{
	pthread_setspecific(key, HIDE(malloc(6004)));
	return argument;
}

int main(void)
{
	pthread_t thread;

	atexit(in_atexit);
	pthread_key_create(&key, in_key_destructor);
	pthread_create(&thread, NULL, run, NULL);
	pthread_join(thread, NULL);
	say("main\n");
	return 0;
}
