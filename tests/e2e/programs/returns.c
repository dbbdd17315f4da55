/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions that allocate, free and then return a value in each kind of register: all of it must
 * arrive. */
#include <complex.h>

#include "say.h"

/* As an optional 128-bit number is returned: a tag and two words. */
struct three {
	uint64_t a, b, c;
};
struct mixed {
	double d;
	uint64_t i;
};

static NOINLINE void allocate(void)
{
	void *p = HIDE(malloc(321));

	free(p);
}

#define RETURNS(name, type, value)                                                                 \
	static NOINLINE type name(void)                                                            \
	{                                                                                          \
		type result = (value);                                                             \
                                                                                                   \
		allocate();                                                                        \
		return HIDE_MEMORY(result);                                                        \
	}
#define HIDE_MEMORY(value)                                                                         \
	({                                                                                         \
		__asm__ volatile("" : "+m"(value) : : "memory");                                   \
		value;                                                                             \
	})

RETURNS(of_double, double, 1234.5678)
RETURNS(of_float, float, 0.25f)
RETURNS(of_long_double, long double, 1.0L / 3)
RETURNS(of_complex, double complex, 3 + 4 * I)
RETURNS(of_u128, unsigned __int128,
	(unsigned __int128)0x0123456789abcdef << 64 | 0xfedcba9876543210)
RETURNS(of_three, struct three, ((struct three){ 1, 2, 3 }))
RETURNS(of_mixed, struct mixed, ((struct mixed){ 2.5, 7 }))

int main(void)
{
	for (int i = 0; i < 3; i++) {
		unsigned __int128 u = of_u128();
		struct three t = of_three();
		struct mixed m = of_mixed();
		double complex c = of_complex();

		/* While values are in the registers that the caller must keep. */
		double sum = of_double() + of_float();

		say("%.4f %.20Lf %.1f %.1f %016llx%016llx %llu %llu %llu %.1f %llu\n", sum,
		    of_long_double(), __real__ c, __imag__ c, (unsigned long long)(u >> 64),
		    (unsigned long long)u, (unsigned long long)t.a, (unsigned long long)t.b,
		    (unsigned long long)t.c, m.d, (unsigned long long)m.i);
	}
	return 0;
}
