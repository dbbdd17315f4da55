/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A server that never was, for people who look for something: each function does one thing with
 * memory that a task of test_page_tasks.py is about.  With "2" it is the next build, in which the
 * cache of answers is new.
 *
 *   remember_visitor   leaks from the first moment to the last
 *   load_catalogue     the peak, half-way, for a moment
 *   index_documents    grows from 0.3 to 0.5 s, and stays
 *   keep_every_eighth  pins pages: one of eight small blocks is kept
 *   render_answer      strings that live for a moment
 *   decode_picture     a few blocks of 3 MiB, one after the other
 *   cache_answers      of build 2 only */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STEPS 100 /* of 10 ms */
#define NEVER_INLINED __attribute__((noinline))

struct visitor {
	struct visitor *next;
	char name[376];
};

static struct visitor *visitors;
static char *documents[4000];
static char *pieces[40000];
static char *answers[2000];

static void *filled(size_t size)
{
	void *p = malloc(size);

	memset(p, 'x', size);
	return p;
}

NEVER_INLINED static void remember_visitor(void)
{
	struct visitor *v = filled(sizeof(*v));

	v->next = visitors;
	visitors = v;
}

NEVER_INLINED static char *load_catalogue(void)
{
	return filled(40u << 20);
}

NEVER_INLINED static void index_documents(int step)
{
	for (int i = 0; i < 200; i++)
		documents[(step - 30) * 200 + i] = filled(2000);
}

NEVER_INLINED static void keep_every_eighth(void)
{
	for (int i = 0; i < 40000; i++)
		pieces[i] = filled(500);
	for (int i = 0; i < 40000; i++)
		if (i % 8)
			free(pieces[i]);
}

NEVER_INLINED static void render_answer(void)
{
	free(filled(120));
}

NEVER_INLINED static char *decode_picture(void)
{
	return filled(3u << 20);
}

NEVER_INLINED static void cache_answers(int step)
{
	for (int i = 0; i < 20; i++)
		answers[step * 20 + i] = filled(2000);
}

static void wait_for_next_step(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
}

static void *show_pictures(void *unused)
{
	for (int step = 0; step < STEPS; step++) {
		char *picture = step % 10 ? NULL : decode_picture();

		wait_for_next_step();
		free(picture);
	}
	return unused;
}

static void *answer_visitors(void *unused)
{
	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < 50; i++)
			remember_visitor();
		for (int i = 0; i < 3000; i++)
			render_answer();
		wait_for_next_step();
	}
	return unused;
}

int main(int argc, char **argv)
{
	int build = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t painter, waiter;
	char *catalogue = NULL;

	pthread_create(&painter, NULL, show_pictures, NULL);
	pthread_setname_np(painter, "painter");
	pthread_create(&waiter, NULL, answer_visitors, NULL);
	pthread_setname_np(waiter, "waiter");
	keep_every_eighth();
	for (int step = 0; step < STEPS; step++) {
		if (step == 60)
			catalogue = load_catalogue();
		if (step == 70)
			free(catalogue);
		if (step >= 30 && step < 50)
			index_documents(step);
		if (build == 2)
			cache_answers(step);
		wait_for_next_step();
	}
	pthread_join(painter, NULL);
	pthread_join(waiter, NULL);
	return 0;
}
