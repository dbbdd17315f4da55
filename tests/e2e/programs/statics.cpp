// SPDX-License-Identifier: MIT OR Apache-2.0
// Blocks that initialisers of static objects allocate, and that are never freed.
#include <cstdlib>
#include <string>

static char *first = static_cast<char *>(std::malloc(1000));

static std::string *second = new std::string(2000, 'x');

int main()
{
	return first && second ? 0 : 1;
}
