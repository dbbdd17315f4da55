// SPDX-License-Identifier: MIT OR Apache-2.0
// What was seen only now and then, beside curves that are known at every moment.

/* A value for each of the moments: that of the last time it was seen, nothing before the first.
 * Both rise. */
export function atMoments(
	moments: readonly number[],
	xs: readonly number[],
	values: readonly number[],
): (number | null)[] {
	let next = 0;
	return moments.map((x) => {
		while (next < xs.length && xs[next]! <= x) next++;
		return next ? values[next - 1]! : null;
	});
}
