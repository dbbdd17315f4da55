// SPDX-License-Identifier: MIT OR Apache-2.0
// Samples beside a curve.
import { describe, expect, test } from "vitest";
import { atMoments } from "../../web/src/parts/sampled";

describe("a value at each moment", () => {
	test("is the last that was seen, and none before", () => {
		expect(atMoments([0, 1, 2, 3, 4], [1.5, 3], [10, 20])).toEqual([null, null, 10, 20, 20]);
	});
	test("is that of the same moment", () => {
		expect(atMoments([1, 2], [1, 1, 2], [5, 6, 7])).toEqual([6, 7]);
	});
	test("is none where nothing was seen", () => {
		expect(atMoments([0, 1], [], [])).toEqual([null, null]);
	});
});
