/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The main() of unit tests: runs the one whose name is its argument.  See unit.h. */
#include <stdio.h>
#include <string.h>

#include "unit.h"

static struct unit *units;

void unit_register(struct unit *unit)
{
	unit->next = units;
	units = unit;
}

int main(int argc, char **argv)
{
	for (struct unit *u = units; u; u = u->next)
		if (argc == 2 && !strcmp(u->name, argv[1]))
			return u->test();
	fprintf(stderr, "one of these as argument, please:");
	for (struct unit *u = units; u; u = u->next)
		fprintf(stderr, " %s", u->name);
	fprintf(stderr, "\n");
	return 1;
}
