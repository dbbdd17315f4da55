/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Looks like an interpreter of a version that nobody knows: it exports the names, and nothing
 * behind them may be used. */
#include <stdlib.h>

const unsigned long Py_Version = 0x039900f0;
char PyCode_Type, PyUnicode_Type, PyBytes_Type;

void *PyGILState_GetThisThreadState(void)
{
	abort();
}

void *PyThreadState_GetUnchecked(void)
{
	abort();
}

int main(void)
{
	free(malloc(1000));
	return 0;
}
