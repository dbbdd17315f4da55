/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Comma-separated values, cell by cell into a buf that holds whole lines and the one being made. */

struct buf;

/* One value of a line, and the comma before it unless it is the first. */
void csv_cell(struct buf *out, const char *text);
void csv_number(struct buf *out, unsigned long long value);
void csv_signed(struct buf *out, long long value);
/* A value that is not known; csv_cell() quotes an empty text. */
void csv_empty(struct buf *out);
/* With `digits` behind the point. */
void csv_real(struct buf *out, double value, unsigned digits);
void csv_end(struct buf *out);
