// SPDX-License-Identifier: MIT OR Apache-2.0
// An exception that nobody catches: std::terminate, abort, status 134.
#include <cstdio>
#include <stdexcept>
#include <string>

__attribute__((noinline)) static void thrower(int depth)
{
	std::string text(1000, 'x');
	if (depth == 0)
		throw std::runtime_error("nobody catches this");
	thrower(depth - 1);
	__asm__ volatile("" : : "r"(text.data()) : "memory");
}

int main()
{
	std::puts("before");
	std::fflush(stdout);
	thrower(10);
	return 0;
}
