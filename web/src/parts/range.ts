// SPDX-License-Identifier: MIT OR Apache-2.0
// The range of the timeline, moved by keys.

/* What Shift and an arrow do to the range: one that begins or ends at the moment grows or shrinks
 * at its other end, another one moves; where there is none, one begins at the moment. */
export function shifted(
	range: readonly [number, number] | undefined,
	moment: number | undefined,
	end: number,
	by: number,
): readonly [number, number] {
	const within = (x: number): number => Math.max(0, Math.min(end, x));
	const sorted = (x: number, y: number): readonly [number, number] => (x < y ? [x, y] : [y, x]);
	const near = (x: number): boolean => moment !== undefined && Math.abs(x - moment) < end * 1e-6;
	if (!range) return sorted(within(moment ?? 0), within((moment ?? 0) + by));
	const [a, b] = range;
	if (near(a)) return sorted(a, within(b + by));
	if (near(b)) return sorted(within(a + by), b);
	const move = Math.max(-a, Math.min(end - b, by));
	return [a + move, b + move];
}
