/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A command that has the terminal to itself: its size, lines that fit, keys.
 *
 * Between screen_enter() and screen_leave() input comes key by key and is not shown, and what is
 * drawn is on the other screen.  The terminal is put back as it was however the process ends,
 * unless it is killed with SIGKILL: by exit(), and by a signal that says that it crashed.  One
 * thread. */
#include <stdbool.h>
#include <stddef.h>

#include "base/term.h"

struct buf;

/* 0 or -errno. */
int screen_enter(void);
void screen_leave(void);
/* Gives the terminal back, stops the process as Ctrl-Z does, and takes it again. */
void screen_suspend(void);
/* After it was stopped and goes on: whoever stopped it may have changed the terminal. */
void screen_retake(void);
/* Columns and lines; 80 and 24 where there is no telling. */
void screen_size(unsigned *ret_width, unsigned *ret_height);
/* Writes lines over what is there, so that nothing flickers; there is a newline between them. */
int screen_show(const struct buf *lines);

enum screen_key {
	KEY_NONE,
	KEY_END_OF_INPUT = 256, /* nobody is there any more; below: a character */
	KEY_UP,
	KEY_DOWN,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_LAST,
	KEY_ESCAPE,
	KEY_OTHER,
};
#define KEY_CONTROL(letter) ((letter)&31)
#define KEY_ENTER '\r'
#define KEY_BACKSPACE 127

/* Was something typed? */
bool screen_has_input(void);
/* What was typed, once there is input: the keys, and how many. */
size_t screen_keys(int *keys, size_t room);

/* Lines with colours in them, cut to a width by what a reader sees: escape sequences and the bytes
 * of one character count as what they are. */
struct screen_lines {
	struct buf *out;
	const struct term *term;
	unsigned width;
	unsigned height; /* at most; 0: any number */
	unsigned used;
};

void screen_line(struct screen_lines *s, const char *text, size_t size);
/* With styles, as term_printf() has them. */
void screen_linef(struct screen_lines *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
