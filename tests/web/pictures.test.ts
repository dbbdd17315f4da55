// SPDX-License-Identifier: MIT OR Apache-2.0
// Where things are drawn: the boxes of a flame graph, the rows of a long table, curves that move.
import { describe, expect, test } from "vitest";
import { patternOf } from "../../web/src/heap/data";
import { CURVES, join, type Series } from "../../web/src/live/data";
import { pathKey, searchPattern, Tree, type FlameAnswer } from "../../web/src/parts/flame/tree";
import { Heights } from "../../web/src/parts/heights";

/* all 100: main 100: a 60 (c 20), b 40; before, where it is said. */
const answer = (before?: number[]): FlameAnswer => ({
	measure: "peak",
	at_ns: null,
	weight: "bytes",
	direction: "down",
	total: { bytes: 100, count: 10 },
	node_count: 5,
	hidden_count: 0,
	names: {
		text: ["all", "main", "a", "c", "b"],
		kind: [0, 1, 1, 1, 1],
		module: [0, 0, 0, 0, 0],
		file: [0, 0, 0, 0, 0],
		line: [0, 1, 0, 0, 0],
		colour: [-1, 1, 1, 1, 1],
		whose: [0, 6, 6, 6, 6],
	},
	modules: ["prog"],
	files: ["x.c"],
	nodes: {
		name: [0, 1, 2, 3, 4],
		parent: [-1, 0, 1, 2, 1],
		depth: [0, 1, 2, 3, 2],
		value: [100, 100, 60, 20, 40],
		other: [10, 10, 6, 2, 4],
		self: [0, 0, 40, 20, 40],
		...(before ? { before } : {}),
	},
});

describe("flame graph", () => {
	const tree = new Tree(answer());
	test("children lie side by side below their parent", () => {
		expect([...tree.left]).toEqual([0, 0, 0, 0, 60]);
		expect([...tree.width]).toEqual([100, 100, 60, 20, 40]);
		expect([tree.at(2, 59), tree.at(2, 60), tree.at(3, 30), tree.at(9, 0)]).toEqual([
			2, 4, -1, -1,
		]);
	});
	test("arrows: child, sibling, and nothing beyond the last", () => {
		expect([tree.child(1), tree.child(3), tree.sibling(2, 1), tree.sibling(4, 1)]).toEqual([
			2, -1, 4, -1,
		]);
	});
	test("a box is found again by the names above it", () => {
		expect(tree.find(tree.key(3))).toBe(3);
		expect(tree.key(3)).toBe(pathKey(["all", "main", "a", "c"]));
		expect(tree.find("nothing")).toBe(0);
		expect(tree.stack(3)).toEqual(["main", "a", "c"]);
		expect(tree.place(1)).toBe("x.c:1");
	});
	test("a search counts each stack once", () => {
		expect(tree.search(/^[ac]$/)).toMatchObject({ boxes: 2, weight: 60 });
	});
	test("in a difference what is gone is as wide as it was", () => {
		const difference = new Tree(answer([80, 80, 10, 30, 70]));
		expect([...difference.width]).toEqual([130, 130, 60, 30, 70]);
		expect(difference.largest).toBe(50);
	});
	test("a text that is no regular expression is searched as it stands", () => {
		expect(searchPattern("operator(")!.test("operator(int)")).toBe(true);
		expect(searchPattern("main")!.test("MAIN")).toBe(true);
		expect(searchPattern("Main")!.test("main")).toBe(false);
	});
});

test("the pattern of a name finds that name only", () => {
	const fits = (pattern: string, text: string): boolean => new RegExp(pattern).test(text);
	expect(fits(patternOf("function", "f(a*)"), "f(a*)")).toBe(true);
	expect(fits(patternOf("function", "f(a*)"), "f(aaa)")).toBe(false);
	expect(fits(patternOf("file", "a.c"), "a.c:7")).toBe(true);
	expect(fits(patternOf("line", "f a.c:7"), "a.c:77")).toBe(false);
});

describe("rows of a long table", () => {
	test("what is open moves what is below", () => {
		const heights = new Heights(1_000_000, 20);
		expect(heights.set(10, 100)).toBe(true);
		expect(heights.set(10, 100)).toBe(false);
		expect([heights.top(10), heights.top(11), heights.total]).toEqual([200, 320, 20_000_100]);
		for (const row of [0, 9, 10, 11, 999_999]) expect(heights.at(heights.top(row))).toBe(row);
		expect([heights.at(319), heights.at(1e12)]).toEqual([10, 999_999]);
		heights.set(10, 0);
		expect(heights.total).toBe(20_000_000);
	});
	test("a table without rows", () =>
		expect([new Heights(0, 20).at(5), new Heights(0, 20).total]).toEqual([0, 0]));
});

describe("curves that move", () => {
	const points = (first: number, values: number[], arenas: Series["arenas"] = {}) => ({
		first,
		next: first + values.length,
		time_ms: values,
		arenas,
		...(Object.fromEntries(CURVES.map((c) => [c, values])) as Series["curves"]),
	});
	test("a stretch is put behind the one before", () => {
		const series = join(
			join(undefined, points(1, [10, 20])),
			points(3, [30], { "0": { dirty: [7], muzzy: [8] } }),
		);
		expect(series).toMatchObject({ first: 1, next: 4, time_ms: [10, 20, 30] });
		expect(series.curves.active).toEqual([10, 20, 30]);
		expect(series.arenas["0"]).toEqual({ dirty: [null, null, 7], muzzy: [null, null, 8] });
	});
	test("one that does not follow begins anew", () => {
		expect(join(join(undefined, points(1, [10, 20])), points(9, [90])).time_ms).toEqual([90]);
	});
	test("an hour is kept", () => {
		const series = join(
			join(
				undefined,
				points(
					1,
					Array.from({ length: 3600 }, (_, i) => i),
				),
			),
			points(3601, [1, 2]),
		);
		expect([series.first, series.time_ms.length, series.curves.active.length]).toEqual([
			3, 3600, 3600,
		]);
	});
});
