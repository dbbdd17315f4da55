/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A recording in words.  See words.h. */
#include "model/words.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "wire/shm.h"

/* Counters that mean that something is missing in the recording. */
static const struct {
	const char *name, *help;
} counter_rows[] = {
#define X(name, help) { #name, help },
	SHM_COUNTERS(X)
#undef X
};

void words_quoted(struct buf *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-+=./,:@%^";
	size_t size = strlen(word);

	if (size && strspn(word, plain) == size) {
		buf_text(out, word);
		return;
	}
	buf_char(out, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			buf_text(out, "'\\''");
		else
			buf_char(out, *word);
	}
	buf_char(out, '\'');
}

void words_command(struct buf *out, const struct model *m)
{
	const char *p = model_info(m, "cmdline");
	const char *end = p ? p + model_info_size(m, "cmdline") : NULL;

	for (; p < end; p += strlen(p) + 1) {
		if (out->size)
			buf_char(out, ' ');
		words_quoted(out, p);
	}
}

void words_title(struct buf *out, const struct model *m)
{
	const char *title = model_info(m, "title");

	if (title)
		buf_text(out, title);
	else
		words_command(out, m);
}

void words_end(struct buf *out, const struct model *m)
{
	const char *reason = model_info(m, "end_reason");
	uint64_t signal = model_info_number(m, "exit_signal", 0);

	if (signal && signal < INT32_MAX)
		buf_printf(out, ", ended by signal %" PRIu64 " (%s)", signal,
			   strsignal((int)signal));
	else if (model_info(m, "exit_status"))
		buf_printf(out, ", exit status %s", model_info(m, "exit_status"));
	else if (reason && !strcmp(reason, "exec") && model_info(m, "exec_path"))
		buf_printf(out, ", then executed %s", model_info(m, "exec_path"));
	else if (reason)
		buf_printf(out, ", %s", reason);
}

bool words_switched(const struct model *m)
{
	return model_counters(m, "switched_on") || model_counters(m, "switched_off");
}

static bool means_loss(const char *counter)
{
	return !strncmp(counter, "dropped_", 8) || !strncmp(counter, "stacks_truncated", 16) ||
	       !strncmp(counter, "stacks_broken", 13) || !strncmp(counter, "stacks_lost", 11);
}

struct saying {
	void (*say)(void *context, const char *text);
	void *context;
};

static void say_count(const struct saying *s, uint64_t count, const char *what)
{
	auto_buf struct buf line = { 0 };

	if (!count)
		return;
	buf_printf(&line, "%s %s", count_text(count), what);
	s->say(s->context, line.data);
}

static void say_counters(const struct saying *s, const struct model *m)
{
	const struct tables *tables = &m->tables;
	const size_t rows = sizeof(counter_rows) / sizeof(counter_rows[0]);

	for (size_t i = 0; i < tables->counter_count; i++)
		for (size_t k = 0; k < rows; k++)
			if (!strcmp(tables->counters[i].name, counter_rows[k].name) &&
			    means_loss(counter_rows[k].name))
				say_count(s, tables->counters[i].value, counter_rows[k].help);
}

void words_losses(const struct model *m, void (*say)(void *context, const char *text),
		  void *context)
{
	const struct saying s = { say, context };
	const char *not_hooked = model_info(m, "not_hooked");
	struct loss loss = model_loss(m);
	auto_buf struct buf line = { 0 };

	say_counters(&s, m);
	if (!words_switched(m) && not_hooked) {
		buf_printf(&line, "calls that could not be hooked: %s", not_hooked);
		say(context, line.data);
	}
	say_count(&s, m->totals.unknown_frees, "frees of blocks whose allocation was not recorded");
	say_count(&s, m->totals.implicit_frees,
		  "frees, known only because the address was given out again");
	if (loss.kind != LOSS_NONE) {
		buf_clear(&line);
		buf_printf(&line, "what was to follow offset %" PRIu64 ": %s", loss.err.offset,
			   loss.err.text);
		say(context, line.data);
	}
}
