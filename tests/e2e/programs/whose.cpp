// SPDX-License-Identifier: MIT OR Apache-2.0
// Memory through a container, a pool that nobody knows, and one's own functions: whose is it?
#include <cstdlib>
#include <string>
#include <vector>

namespace acme
{
// Always the same size, so that it does not look like a wrapper.
__attribute__((noinline)) char *pool_take()
{
	return static_cast<char *>(std::malloc(1000));
}
} // namespace acme

static std::vector<char *> kept;

__attribute__((noinline)) void load_table(int rows)
{
	for (int i = 0; i < rows; i++)
		kept.push_back(acme::pool_take());
}

__attribute__((noinline)) void load_names(std::vector<std::string> &names)
{
	for (int i = 0; i < 100; i++)
		names.push_back(std::string(200, 'x'));
}

/* Called by libc. */
__attribute__((noinline)) static int compare(const void *a, const void *b)
{
	kept.push_back(static_cast<char *>(std::malloc(20000)));
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

int main()
{
	int numbers[] = { 3, 1, 2, 5, 4 };
	static std::vector<std::string> names;

	load_table(400);
	load_names(names);
	std::qsort(numbers, 5, sizeof(*numbers), compare);
	return 0;
}
