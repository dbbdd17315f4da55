/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Comparing, sorting and searching: an order is told by what is compared, first things first.
 *
 *	ORDER(by_start, struct area, RISING(start) ?: FALLING(size))
 *
 *	SORT(rows, count, by_start);
 *	at = FIRST_WHERE(i, count, rows[i].start >= start);
 *
 * Inside ORDER the two elements are x and y; ORDER_WITH has a context, too. */
#include <stdlib.h>

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))
#define RISING(field) COMPARE(x->field, y->field)
#define FALLING(field) COMPARE(y->field, x->field)

#define ORDER(name, type, order)                                                                   \
	static int name(const void *first, const void *second)                                     \
	{                                                                                          \
		const type *x = first;                                                             \
		const type *y = second;                                                            \
                                                                                                   \
		return order;                                                                      \
	}

#define ORDER_WITH(name, type, context_type, order)                                                \
	static int name(const void *first, const void *second, void *given)                        \
	{                                                                                          \
		const type *x = first;                                                             \
		const type *y = second;                                                            \
		const context_type *context = given;                                               \
                                                                                                   \
		return order;                                                                      \
	}

/* An array that is empty need not exist. */
#define SORT(array, count, order)                                                                  \
	((count) > 1 ? qsort((array), (count), sizeof(*(array)), order) : (void)0)
#define SORT_WITH(array, count, order, context)                                                    \
	((count) > 1 ? qsort_r((array), (count), sizeof(*(array)), order, (void *)(context))       \
		     : (void)0)

/* The first i below `count` for which `found` holds, which holds for all that follow it; `count` if
 * it holds for none. */
#define FIRST_WHERE(i, count, found)                                                               \
	({                                                                                         \
		__typeof__((count) + 0) low_ = 0, high_ = (count);                                 \
                                                                                                   \
		while (low_ < high_) {                                                             \
			const __typeof__(low_) i = low_ + (high_ - low_) / 2;                      \
                                                                                                   \
			if (found)                                                                 \
				high_ = i;                                                         \
			else                                                                       \
				low_ = i + 1;                                                      \
		}                                                                                  \
		low_;                                                                              \
	})

/* Does it hold for any i below `count`, or for all? */
#define ANY(i, count, holds)                                                                       \
	({                                                                                         \
		size_t i = 0;                                                                      \
                                                                                                   \
		while (i < (size_t)(count) && !(holds))                                            \
			i++;                                                                       \
		i < (size_t)(count);                                                               \
	})
#define ALL(i, count, holds) (!ANY(i, count, !(holds)))

/* The first element `it` for which `found` holds, or NULL. */
#define FIND(it, array, count, found)                                                              \
	({                                                                                         \
		__typeof__(*(array)) *it = (array);                                                \
		size_t left_ = (count);                                                            \
                                                                                                   \
		for (; left_ && !(found); left_--)                                                 \
			it++;                                                                      \
		left_ ? it : NULL;                                                                 \
	})
/* The same in a table that ends with a row without a name. */
#define FIND_ROW(it, rows, found)                                                                  \
	({                                                                                         \
		__typeof__(*(rows)) *it = (rows);                                                  \
                                                                                                   \
		while (it->name && !(found))                                                       \
			it++;                                                                      \
		it->name ? it : NULL;                                                              \
	})
