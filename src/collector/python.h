/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Python functions that the recorder has told about (wire/python.h), for the nodes of their frames.
 */
#include <stddef.h>
#include <stdint.h>

struct collector;
struct python_codes;

struct python_codes *python_codes_new(void);
struct python_codes *python_codes_free(struct python_codes *p);
/* Takes the records that came since the last time; before nodes are looked at. */
void python_codes_read(struct python_codes *p, const struct collector *c);
/* Names a node's address; one that is unknown here has its name from the parent's recording. */
void python_codes_name(struct python_codes *p, struct collector *c, uint64_t address);
/* The line of an instruction, counted in units of two bytes, from a code object's table. */
uint32_t python_line(const uint8_t *table, size_t size, uint32_t first_line, uint32_t place);
