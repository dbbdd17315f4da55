/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The terminal.  See screen.h. */
#include "cli/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/buf_text.h"

#define ENTER "\033[?1049h\033[?25l\033[2J"
#define LEAVE "\033[0m\033[?25h\033[?1049l"
#define SEQUENCE_MS 25 /* until the rest of a key that sends several bytes */

static struct termios before;
static bool raw;
static volatile sig_atomic_t entered;

void screen_leave(void)
{
	if (!entered)
		return;
	entered = 0;
	if (write(1, LEAVE, strlen(LEAVE)) < 0)
		raw = raw && true; /* nobody sees it */
	if (raw)
		tcsetattr(0, TCSANOW, &before);
}

static void crash(int number)
{
	screen_leave();
	raise(number); /* SA_RESETHAND: as without us */
}

static void leave_when_it_crashes(void)
{
	static const int numbers[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
	struct sigaction action = { .sa_handler = crash, .sa_flags = SA_RESETHAND | SA_NODEFER };
	static bool done;

	if (done)
		return;
	done = true;
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		sigaction(numbers[i], &action, NULL);
	atexit(screen_leave);
}

int screen_enter(void)
{
	struct termios mode;

	if (entered)
		return 0;
	leave_when_it_crashes();
	raw = false;
	entered = 1;
	if (!tcgetattr(0, &before)) {
		mode = before;
		mode.c_iflag &= ~(tcflag_t)(ICRNL | IXON);
		mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
		mode.c_cc[VMIN] = 0;
		mode.c_cc[VTIME] = 0;
		raw = !tcsetattr(0, TCSANOW, &mode);
	}
	return write(1, ENTER, strlen(ENTER)) < 0 ? -errno : 0;
}

void screen_suspend(void)
{
	screen_leave();
	raise(SIGSTOP);
	screen_enter();
}

void screen_retake(void)
{
	screen_leave();
	screen_enter();
}

void screen_size(unsigned *ret_width, unsigned *ret_height)
{
	struct winsize size;

	*ret_width = 80;
	*ret_height = 24;
	if (!ioctl(1, TIOCGWINSZ, &size) && size.ws_col && size.ws_row) {
		*ret_width = size.ws_col;
		*ret_height = size.ws_row;
	}
}

int screen_show(const struct buf *lines)
{
	auto_buf struct buf out = { 0 };

	buf_text(&out, "\033[H");
	for (size_t i = 0; i < lines->size; i++) {
		if (lines->data[i] == '\n')
			buf_text(&out, "\033[K\r\n");
		else
			buf_char(&out, lines->data[i]);
	}
	buf_text(&out, "\033[K\033[J");
	return buf_flush(&out, 1);
}

/* A sequence that begins with ESC: which key, and how many bytes it is; 0: it is not whole. */
static size_t key_of_sequence(const char *text, size_t size, int *ret_key)
{
	static const struct {
		const char *text;
		int key;
	} sequences[] = {
		{ "[A", KEY_UP },	  { "OA", KEY_UP },    { "[B", KEY_DOWN },
		{ "OB", KEY_DOWN },	  { "[C", KEY_RIGHT }, { "OC", KEY_RIGHT },
		{ "[D", KEY_LEFT },	  { "OD", KEY_LEFT },  { "[5~", KEY_PAGE_UP },
		{ "[6~", KEY_PAGE_DOWN }, { "[H", KEY_HOME },  { "OH", KEY_HOME },
		{ "[1~", KEY_HOME },	  { "[F", KEY_LAST },  { "OF", KEY_LAST },
		{ "[4~", KEY_LAST },
	};
	size_t end = 2;

	*ret_key = KEY_ESCAPE;
	if (size < 2)
		return 0;
	if (text[1] != '[' && text[1] != 'O')
		return 1;
	while (end < size && (text[end] < '@' || text[end] > '~'))
		end++;
	if (end == size)
		return 0;
	*ret_key = KEY_OTHER;
	for (size_t i = 0; i < sizeof(sequences) / sizeof(*sequences); i++)
		if (strlen(sequences[i].text) == end && !memcmp(sequences[i].text, text + 1, end))
			*ret_key = sequences[i].key;
	return end + 1;
}

static bool input_comes(int within_ms)
{
	struct pollfd p = { .fd = 0, .events = POLLIN };

	return poll(&p, 1, within_ms) > 0;
}

bool screen_has_input(void)
{
	return input_comes(0);
}

size_t screen_keys(int *keys, size_t room)
{
	char text[64];
	ssize_t n = read(0, text, sizeof(text)), more;
	size_t count = 0, size, i = 0;

	if (!n || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		keys[0] = KEY_END_OF_INPUT;
		return 1;
	}
	size = n > 0 ? (size_t)n : 0;
	while (i < size && count < room) {
		size_t used = 1;

		if (text[i] == '\033') {
			used = key_of_sequence(text + i, size - i, &keys[count]);
			more = used || size == sizeof(text) || !input_comes(SEQUENCE_MS)
				       ? 0
				       : read(0, text + size, sizeof(text) - size);
			if (more > 0) {
				size += (size_t)more;
				continue;
			}
			used += !used; /* the key Escape itself */
		} else {
			keys[count] = text[i] == '\n'	? KEY_ENTER
				      : text[i] == '\b' ? KEY_BACKSPACE
							: (unsigned char)text[i];
		}
		i += used;
		count++;
	}
	return count;
}

void screen_line(struct screen_lines *s, const char *text, size_t size)
{
	unsigned columns = 0;
	bool cut = false;

	if (s->height && s->used == s->height)
		return;
	if (s->used)
		buf_char(s->out, '\n');
	s->used++;
	for (size_t i = 0; i < size;) {
		size_t n = 1;

		if (text[i] == '\033') {
			while (i + n < size && text[i + n] != 'm')
				n++;
			n += i + n < size;
			buf_add(s->out, text + i, n);
		} else {
			while (i + n < size && (text[i + n] & 0xc0) == 0x80)
				n++;
			cut |= columns == s->width;
			if (!cut) {
				buf_add(s->out, text + i, n);
				columns++;
			}
		}
		i += n;
	}
	if (s->term->color)
		buf_text(s->out, term_style(s->term, STYLE_PLAIN));
}

void screen_linef(struct screen_lines *s, const char *format, ...)
{
	auto_buf struct buf text = { 0 };
	va_list args;

	va_start(args, format);
	term_vprintf(s->term, &text, format, args);
	va_end(args);
	screen_line(s, text.size ? text.data : "", text.size);
}
