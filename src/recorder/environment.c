/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The environment that the kernel put on the stack, and what the program sees of it.
 *
 * start.c has our variables taken out, in the constructor, before any other code could look.  What
 * lies behind the environment must stay where it is: runtimes find the auxiliary vector by walking
 * past the NULL that ends it.  So what remains moves up to that NULL, and the slots that become
 * free in front hold an empty string, which is nobody's variable.  libc's own constructor runs
 * after ours and takes the environment from where the kernel put it; so `environ` is made to begin
 * behind those slots when the program calls __libc_start_main, which hands it to main().
 *
 * The bytes of what is taken out are closed up too, as far as the strings lie as the kernel laid
 * them: /proc/PID/environ ends in zeros then, and shows nothing else of us. */
#include "recorder/hooks.h"

#include <string.h>

#define TRACK_ENV "MEMORY_PROFILER_TRACK_CHILD_PROCESSES"

extern void *__libc_stack_end;
extern char **environ;

/* Its address marks a slot that is free.  getenv() reads two bytes at once. */
static char nothing[8];
static char **first; /* entry that is left, once ours are taken out */

/* Found in our constructor: the program's entry may take the number of arguments off the stack, and
 * use its place. */
static char **as_laid(void)
{
	static char **laid;
	uintptr_t *start = __libc_stack_end;

	if (!laid)
		laid = (char **)(start + 1 + *start + 1);
	return laid;
}

char **rt_environment(void)
{
	return first ? first : as_laid();
}

const char *rt_variable(const char *name)
{
	size_t n = strlen(name);

	for (char **e = rt_environment(); *e; e++)
		if (!strncmp(*e, name, n) && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

static bool ends_with(const char *text, size_t n, const char *end)
{
	size_t length = strlen(end);

	return n >= length && !strncmp(text + n - length, end, length);
}

const char *environment_own_name(size_t *ret_length)
{
	const char *list = rt_variable("LD_PRELOAD"), *own = rt_own_name();
	const char *slash = strrchr(own, '/');

	while (list && *list) {
		size_t n = strcspn(list, ": ");

		if (*list == '/' && ends_with(list, n, slash ? slash + 1 : own)) {
			*ret_length = n;
			return list;
		}
		list += n + (list[n] != 0);
	}
	*ret_length = strlen(own);
	return own;
}

/* Takes us out of a list of libraries; false if nothing is left of it. */
static bool leave_list(char *list)
{
	const char *name = rt_own_name(), *slash = strrchr(name, '/');
	char *out = list, *word = list;

	name = slash ? slash + 1 : name;
	while (*word) {
		size_t n = strcspn(word, ": "), skip = n + (word[n] != 0);

		if (!ends_with(word, n, name)) {
			memmove(out, word, skip);
			out += skip;
		}
		word += skip;
	}
	*out = 0;
	if (out > list && (out[-1] == ':' || out[-1] == ' '))
		*--out = 0;
	return out > list;
}

static bool is_variable(const char *entry, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(entry, name, n) && entry[n] == '=';
}

/* Do the strings lie one behind the other, in the order of their pointers? */
static bool strings_are_packed(char **env)
{
	for (; env[0] && env[1]; env++)
		if (env[1] != env[0] + strlen(env[0]) + 1)
			return false;
	return true;
}

/* Empties the slots of our variables, and closes up or clears their bytes. */
static void empty_slots(char **env)
{
	bool packed = strings_are_packed(env);
	char *to = env[0];

	for (char **e = env; *e; e++) {
		char *entry = *e, *end = entry + strlen(entry) + 1;
		size_t left = 0;

		if (!is_variable(entry, SHM_ENV) && !is_variable(entry, SHM_PARENT_ENV) &&
		    (!is_variable(entry, "LD_PRELOAD") || leave_list(entry + 11)))
			left = strlen(entry) + 1;
		if (!packed)
			to = entry;
		*e = left ? to : nothing;
		memmove(to, entry, left);
		to += left;
		if (!packed || !e[1])
			memset(to, 0, (size_t)(end - to));
	}
}

static void close_up(char **env)
{
	char **to = env, **from;

	while (*to)
		to++;
	for (from = to; from-- > env;)
		if (*from != nothing)
			*--to = *from;
	first = to;
	while (to > env)
		*--to = nothing;
}

/* Programs that this one starts are told whose children they are.  If there is no variable yet
 * whose place that could take, it takes that of the option that asks for it. */
static void name_parent_to_children(char **env)
{
	char **place = NULL;

	for (char **e = env; *e; e++) {
		if (is_variable(*e, SHM_PARENT_ENV)) {
			place = e;
			break;
		}
		if (is_variable(*e, TRACK_ENV))
			place = e;
	}
	if (place)
		*place = exec_parent;
}

void environment_leave(bool children_are_recorded)
{
	char **env = as_laid();

	if (children_are_recorded) {
		name_parent_to_children(env);
		return;
	}
	if (!*env)
		return;
	empty_slots(env);
	close_up(env);
}

void environment_show(void)
{
	char **env = as_laid(), **to;

	if (!first || first == env)
		return;
	if (environ == env) {
		environ = first;
		return;
	}
	/* A constructor has changed a variable, and libc has moved them all to do so. */
	to = environ;
	for (char **from = environ; from && *from; from++)
		if (*from != nothing)
			*to++ = *from;
	if (to)
		*to = NULL;
}

char *const *environment_to_hand_over(char *const *env)
{
	while (env && *env == nothing)
		env++;
	return env;
}
