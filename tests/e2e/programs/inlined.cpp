// SPDX-License-Identifier: MIT OR Apache-2.0
// Three calls that are inlined into a fourth.  Prints where leaf() returns to, and where a static
// function does, as the linker counts (it is linked at fixed addresses).
#include <cstdio>
#include <string>
#include <vector>

namespace shapes
{
struct box {
	std::vector<std::string> names;
	void *where = nullptr;
	void third(const std::string &name);
	template <typename T> void second(T value);
};

__attribute__((noinline)) void *leaf()
{
	return __builtin_return_address(0);
}

inline __attribute__((always_inline)) void box::third(const std::string &name)
{
	where = leaf(); // third calls
	asm volatile("" : : "r"(&name) : "memory");
}

template <typename T> inline __attribute__((always_inline)) void box::second(T value)
{
	third(value); // second calls
}
} // namespace shapes

static inline __attribute__((always_inline)) void first(shapes::box *b)
{
	b->second<const std::string &>(b->names[0]); // first calls
}

__attribute__((noinline)) void *outermost(const std::string &text)
{
	shapes::box b;

	b.names.push_back(text);
	first(&b); // outermost calls
	return b.where;
}

static __attribute__((noinline)) void *hidden()
{
	void *p = shapes::leaf(); // hidden calls

	asm volatile("" : : : "memory");
	return p;
}

int main()
{
	std::printf("%lx %lx\n", (unsigned long)outermost("a") - 1, (unsigned long)hidden() - 1);
}
