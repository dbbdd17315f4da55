// SPDX-License-Identifier: MIT OR Apache-2.0
// A flame graph in the user's own names: which boxes are folded, and that no byte is lost by it.
import { describe, expect, test } from "vitest";
import { fold } from "../../web/src/parts/flame/fold";
import { Tree, type FlameAnswer } from "../../web/src/parts/flame/tree";
import { KINDS, type FrameKind } from "../../web/src/parts/frames";

type Branch = [
	string,
	number,
	...Branch[],
]; /* KIND:NAME or a name of the program; what ends here */

/* An answer of such a tree, as the server would have it. */
function answer(tops: Branch[], direction: "down" | "up" = "down", half = false): FlameAnswer {
	const names: string[] = [],
		nodes: FlameAnswer["nodes"] = {
			name: [],
			parent: [],
			depth: [],
			value: [],
			other: [],
			self: [],
		};
	const add = ([text, self, ...below]: Branch, parent: number, depth: number): number => {
		const i = nodes.name.length;
		if (!names.includes(text)) names.push(text);
		nodes.name.push(names.indexOf(text));
		nodes.parent.push(parent);
		nodes.depth.push(depth);
		nodes.self.push(self);
		nodes.value.push(self);
		nodes.other.push(1);
		for (const b of below) nodes.value[i]! += add(b, i, depth + 1);
		return nodes.value[i]!;
	};
	add(["all", 0, ...tops], 0, 0);
	const parts = names.map((n) => n.split(":"));
	return {
		measure: "peak",
		at_ns: null,
		weight: "bytes",
		direction,
		total: { bytes: nodes.value[0]!, count: 1 },
		node_count: nodes.name.length,
		hidden_count: 0,
		names: {
			text: parts.map((p) => p.at(-1)!),
			kind: names.map((n) => (n === "all" ? 0 : n === "others" ? 3 : 1)),
			module: names.map(() => 0),
			file: names.map(() => 0),
			line: names.map(() => 0),
			colour: names.map(() => 1),
			whose: parts.map((p) => KINDS.indexOf((p.length > 1 ? p[0] : "program") as FrameKind)),
		},
		modules: ["prog"],
		files: [""],
		nodes: half ? { ...nodes, before: nodes.value.map((v) => v / 2) } : nodes,
	};
}

const treeOf = (of: FlameAnswer, ...open: string[]): Tree => {
	const folded = fold(of, new Set(open));
	return new Tree(folded.answer, folded);
};
/* Names with what they weigh, two blanks a level. */
const drawn = (tree: Tree): string[] =>
	Array.from(
		{ length: tree.count },
		(_, i) => `${"  ".repeat(tree.depth(i))}${tree.text(i)} ${tree.value(i)}`,
	);

const TWO_WAYS: Branch[] = [
	[
		"start:_start",
		0,
		[
			"start:libc",
			0,
			[
				"main",
				5,
				["library:map", 0, ["library:grow", 0, ["load", 30, ["allocator:new", 10]]]],
				["library:vector", 0, ["load", 40], ["wrapper:zalloc", 7, ["allocator:new", 8]]],
			],
		],
	],
];

describe("fold", () => {
	test("runs of others' frames are one box, and what they lead to is put together", () => {
		expect(drawn(treeOf(answer(TWO_WAYS)))).toEqual(
			[
				"all 100",
				"  +2 outside 100",
				"    main 100",
				"      +5 between 95",
				"        load 80",
				"          new 10",
			].map((line) => line.replace("new 10", "+1 inside 10")),
		);
	});
	test("what ends in a box is its own: nothing is lost", () => {
		const of = answer(TWO_WAYS),
			{ self } = treeOf(of).answer.nodes;
		expect(self.reduce((a, b) => a + b, 0)).toBe(100);
		expect(self).toEqual([0, 0, 5, 15, 70, 10]);
	});
	test("a box that is opened shows its frames, the others stay", () => {
		const closed = treeOf(answer(TWO_WAYS)),
			key = closed.key(3);
		const open = treeOf(answer(TWO_WAYS), key);
		expect(drawn(open)).toEqual([
			"all 100",
			"  +2 outside 100",
			"    main 100",
			"      vector 55",
			"        load 40",
			"        zalloc 15",
			"          new 8",
			"      map 40",
			"        grow 40",
			"          load 40",
			"            +1 inside 10",
		]);
		expect(open.folded!.opened.filter((k) => k === key).length).toBe(5);
	});
	test("a stack without the program's frames keeps its responsible one", () => {
		const of: Branch[] = [
			["start:_start", 0, ["runtime:eval", 0, ["runtime:call", 0, ["library:list", 9]]]],
			["main", 1, ["library:list", 2]],
		];
		expect(drawn(treeOf(answer(of)))).toEqual([
			"all 12",
			"  +2 outside 9",
			"    call 9",
			"      +1 inside 9",
			"  main 3",
			"    +1 inside 2",
		]);
	});
	test("from the inside outwards, too", () => {
		const of: Branch[] = [
			[
				"allocator:new",
				0,
				["library:grow", 0, ["load", 0, ["main", 0, ["start:_start", 6]]]],
			],
			["wrapper:zalloc", 0, ["load", 0, ["main", 3]]],
			["library:list", 0, ["runtime:call", 0, ["runtime:eval", 2]]],
		];
		expect(drawn(treeOf(answer(of, "up")))).toEqual([
			"all 11",
			"  +4 inside 11",
			"    load 9",
			"      main 9",
			"        +1 outside 6",
			"    call 2",
			"      +1 outside 2",
		]);
	});
	test("of a difference both sides are folded", () => {
		const { nodes } = treeOf(answer(TWO_WAYS, "down", true)).answer;
		expect(nodes.before).toEqual(nodes.value.map((v) => v / 2));
	});
	test("a search finds what a box holds, and counts each stack once", () => {
		const tree = treeOf(answer(TWO_WAYS)),
			found = tree.search(/^(grow|new)$/);
		expect([...found.hits]).toEqual([0, 0, 0, 1, 0, 1]);
		expect([found.boxes, found.weight]).toEqual([2, 48]);
		expect(tree.heldNames(3)).toEqual(["map", "grow", "vector", "zalloc", "new"]);
	});
});
