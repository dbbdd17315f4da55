/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Does nothing: what is recorded of it is libc's own. */
int main(void)
{
	return 0;
}
