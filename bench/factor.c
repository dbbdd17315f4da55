/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that only computes, with small allocations: factors numbers by Pollard's rho on
 * numbers of any length, each of which is a block of its own that lives for one operation.
 *
 *   factor [NUMBER…]
 *
 * Schoolbook arithmetic in base 2^32; plain on purpose. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct number {
	uint32_t length; /* digits in use; 0 is zero */
	uint32_t digits[];
};

static struct number *make(uint32_t length)
{
	struct number *n = calloc(1, sizeof(*n) + length * sizeof(n->digits[0]));

	if (!n)
		abort();
	n->length = length;
	return n;
}

static struct number *trim(struct number *n)
{
	while (n->length && !n->digits[n->length - 1])
		n->length--;
	return n;
}

static struct number *small(uint32_t value)
{
	struct number *n = make(1);

	n->digits[0] = value;
	return trim(n);
}

static int compare(const struct number *a, const struct number *b)
{
	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	for (uint32_t i = a->length; i-- > 0;)
		if (a->digits[i] != b->digits[i])
			return a->digits[i] < b->digits[i] ? -1 : 1;
	return 0;
}

static struct number *copy(const struct number *a)
{
	struct number *n = make(a->length);

	memcpy(n->digits, a->digits, a->length * sizeof(a->digits[0]));
	return n;
}

static struct number *add(const struct number *a, const struct number *b)
{
	uint32_t length = (a->length > b->length ? a->length : b->length) + 1;
	struct number *sum = make(length);
	uint64_t carry = 0;

	for (uint32_t i = 0; i < length; i++) {
		carry += i < a->length ? a->digits[i] : 0;
		carry += i < b->length ? b->digits[i] : 0;
		sum->digits[i] = (uint32_t)carry;
		carry >>= 32;
	}
	return trim(sum);
}

/* |a - b| */
static struct number *distance(const struct number *a, const struct number *b)
{
	struct number *n;
	int64_t borrow = 0;

	if (compare(a, b) < 0)
		return distance(b, a);
	n = make(a->length);
	for (uint32_t i = 0; i < a->length; i++) {
		borrow += (int64_t)a->digits[i] - (i < b->length ? b->digits[i] : 0);
		n->digits[i] = (uint32_t)borrow;
		borrow >>= 32;
	}
	return trim(n);
}

static struct number *multiply(const struct number *a, const struct number *b)
{
	struct number *n = make(a->length + b->length);

	for (uint32_t i = 0; i < a->length; i++) {
		uint64_t carry = 0;

		for (uint32_t j = 0; j < b->length; j++) {
			carry += (uint64_t)a->digits[i] * b->digits[j] + n->digits[i + j];
			n->digits[i + j] = (uint32_t)carry;
			carry >>= 32;
		}
		n->digits[i + b->length] = (uint32_t)carry;
	}
	return trim(n);
}

static unsigned bits(const struct number *n)
{
	return n->length ? n->length * 32 - (unsigned)__builtin_clz(n->digits[n->length - 1]) : 0;
}

static struct number *shift_left(const struct number *a, unsigned by)
{
	struct number *n = make(a->length + by / 32 + 1);

	for (uint32_t i = 0; i < a->length; i++) {
		uint64_t wide = (uint64_t)a->digits[i] << by % 32;

		n->digits[i + by / 32] |= (uint32_t)wide;
		n->digits[i + by / 32 + 1] = (uint32_t)(wide >> 32);
	}
	return trim(n);
}

/* a / b; *rest is a % b.  By shifts and subtractions of 32 bits at a time. */
static struct number *divide(const struct number *a, const struct number *b, struct number **rest)
{
	struct number *quotient = make(a->length + 1), *left = copy(a);

	while (compare(left, b) >= 0) {
		unsigned by = bits(left) - bits(b);
		struct number *part = shift_left(b, by), *next;

		if (compare(part, left) > 0) {
			free(part);
			part = shift_left(b, --by);
		}
		next = distance(left, part);
		free(left);
		free(part);
		left = next;
		quotient->digits[by / 32] |= 1u << by % 32;
	}
	*rest = left;
	return trim(quotient);
}

static struct number *remainder_of(const struct number *a, const struct number *b)
{
	struct number *rest, *quotient = divide(a, b, &rest);

	free(quotient);
	return rest;
}

static struct number *gcd(const struct number *a, const struct number *b)
{
	struct number *x = copy(a), *y = copy(b);

	while (y->length) {
		struct number *rest = remainder_of(x, y);

		free(x);
		x = y;
		y = rest;
	}
	free(y);
	return x;
}

/* x * x + c mod n */
static struct number *step(struct number *x, const struct number *c, const struct number *n)
{
	struct number *square = multiply(x, x), *sum = add(square, c), *next = remainder_of(sum, n);

	free(square);
	free(sum);
	free(x);
	return next;
}

static struct number *rho(const struct number *n, uint32_t start)
{
	struct number *c = small(start), *x = small(2), *y = small(2), *found;

	for (;;) {
		struct number *d;

		x = step(x, c, n);
		y = step(step(y, c, n), c, n);
		d = distance(x, y);
		found = gcd(d, n);
		free(d);
		if (found->length > 1 || found->digits[0] != 1)
			break;
		free(found);
	}
	free(x);
	free(y);
	free(c);
	return found;
}

static struct number *parse(const char *text)
{
	struct number *n = small(0), *ten = small(10);

	for (; *text >= '0' && *text <= '9'; text++) {
		struct number *times = multiply(n, ten), *digit = small((uint32_t)(*text - '0'));

		free(n);
		n = add(times, digit);
		free(times);
		free(digit);
	}
	free(ten);
	return n;
}

static void print(const struct number *n)
{
	struct number *left = copy(n), *base = small(1000000000);
	char text[512], *p = text + sizeof(text) - 1;

	*p = 0;
	do {
		struct number *rest, *next = divide(left, base, &rest);
		char part[16];

		snprintf(part, sizeof(part), next->length ? "%09u" : "%u",
			 rest->length ? rest->digits[0] : 0);
		p -= strlen(part);
		memcpy(p, part, strlen(part));
		free(rest);
		free(left);
		left = next;
	} while (left->length);
	fputs(p, stdout);
	free(left);
	free(base);
}

int main(int argc, char **argv)
{
	static const char *const standard[] = { "1000000016000000063", "10000004400000259",
						"1000000028000000171" };
	int count = argc > 1 ? argc - 1 : 3;

	for (int i = 0; i < count; i++) {
		struct number *n = parse(argc > 1 ? argv[i + 1] : standard[i]), *divisor = NULL,
			      *rest, *other;

		for (uint32_t start = 1; start < 20; start++) {
			free(divisor);
			divisor = rho(n, start);
			if (compare(divisor, n))
				break;
		}
		other = divide(n, divisor, &rest);
		print(n);
		fputs(" = ", stdout);
		print(divisor);
		fputs(" * ", stdout);
		print(other);
		putchar('\n');
		free(n);
		free(divisor);
		free(rest);
		free(other);
	}
	return 0;
}
