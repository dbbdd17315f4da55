// SPDX-License-Identifier: MIT OR Apache-2.0
import { expect, test } from "vitest";
import { shifted } from "../../web/src/parts/range";

test("a range begins at the moment, or at the start", () => {
	expect(shifted(undefined, 4, 10, 1)).toEqual([4, 5]);
	expect(shifted(undefined, 4, 10, -1)).toEqual([3, 4]);
	expect(shifted(undefined, undefined, 10, 1)).toEqual([0, 1]);
	expect(shifted(undefined, 10, 10, 1)).toEqual([10, 10]);
});

test("one that begins or ends at the moment grows and shrinks at its other end", () => {
	expect(shifted([4, 5], 4, 10, 1)).toEqual([4, 6]);
	expect(shifted([4, 6], 4, 10, -1)).toEqual([4, 5]);
	expect(shifted([4, 5], 4, 10, -2)).toEqual([3, 4]);
	expect(shifted([3, 4], 4, 10, -1)).toEqual([2, 4]);
	expect(shifted([4, 10], 4, 10, 1)).toEqual([4, 10]);
});

test("another one moves, and stays within the run", () => {
	expect(shifted([2, 5], 7, 10, 1)).toEqual([3, 6]);
	expect(shifted([2, 5], undefined, 10, -3)).toEqual([0, 3]);
	expect(shifted([6, 9], undefined, 10, 3)).toEqual([7, 10]);
});
