/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* start_stop api|signal: switches recording on and off while two threads allocate.  Started with
 * recording off.  Every size is allocated once; what the test expects of each is in its name. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "../../../include/memoir.h"
#include "say.h"

static const char *how;
static pthread_barrier_t turn;
static void *kept[8];

static void switch_on(void)
{
	if (*how == 'a')
		memoir_start();
	else
		kill(getpid(), SIGUSR1);
}

static void switch_off(void)
{
	if (*how == 'a')
		memoir_stop();
	else
		kill(getpid(), *how == 's' ? SIGUSR1 : SIGUSR2);
}

static void *other(void *argument)
{
	void *before, *seen;

	before = HIDE(malloc(20001)); /* off */
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn); /* on */
	seen = HIDE(malloc(20002));
	free(before);
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn); /* off */
	kept[0] = HIDE(malloc(20101));
	free(seen);
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn); /* on */
	kept[1] = HIDE(malloc(20003));
	pthread_barrier_wait(&turn);
	return NULL;
}

int main(int argc, char **argv)
{
	void *before, *seen, *grown, *moved;
	pthread_t thread;

	how = argc > 1 ? argv[1] : "api";
	pthread_barrier_init(&turn, NULL, 2);
	before = HIDE(malloc(10001));
	grown = HIDE(malloc(10005));
	pthread_create(&thread, NULL, other, NULL);
	pthread_barrier_wait(&turn);
	switch_on();
	pthread_barrier_wait(&turn);
	seen = HIDE(malloc(10002));
	moved = HIDE(malloc(10003));
	kept[2] = HIDE(malloc(10006));
	grown = HIDE(realloc(grown, 10007)); /* unknown so far: its new self is recorded */
	free(before);
	pthread_barrier_wait(&turn);
	switch_off();
	pthread_barrier_wait(&turn);
	kept[3] = HIDE(malloc(10101));
	free(seen);
	moved = HIDE(realloc(moved, 500000)); /* ends 10003 */
	if (HIDE(realloc(kept[2], (size_t)1 << 60)))
		return 1; /* 10006 lives on */
	free(kept[3]);
	pthread_barrier_wait(&turn);
	switch_on();
	pthread_barrier_wait(&turn);
	kept[4] = HIDE(malloc(10004));
	free(moved);
	free(grown);
	pthread_barrier_wait(&turn);
	pthread_join(thread, NULL);
	return 0;
}
