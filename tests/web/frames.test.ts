// SPDX-License-Identifier: MIT OR Apache-2.0
// What is left of a stack in one line, and of a function's name.
import { describe, expect, test } from "vitest";
import {
	abbreviate,
	asker,
	callOf,
	frameName,
	framePlace,
	insideOf,
	runs,
	shortName,
	type Frame,
	type FrameKind,
} from "../../web/src/parts/frames";

/* Outermost first, as the server has them; names in front of a colon are kinds, numbers behind a
 * blank are counts; the call is the last. */
const stack = (...frames: string[]): Frame[] =>
	frames.map((text, i) => {
		const [, kind, name, count] = /^(?:(\w+):)?(\S+)(?: (\d+))?$/.exec(text)!;
		return {
			address: i,
			address_s: String(i),
			count: Number(count ?? 100),
			function: name!,
			is_inline: false,
			kind: (kind ?? "program") as FrameKind,
		};
	});
const seen = (frames: Frame[]): string[] =>
	abbreviate(frames).map((l) => `${l.skipped ? `${l.skipped} ` : ""}${l.frame.function}`);

describe("abbreviate", () => {
	test("the responsible frame leads, and what is inside it is counted", () => {
		const frames = stack(
			"start:start_thread",
			"worker",
			"serve",
			"library:push_back",
			"allocator:new",
			"allocator:malloc",
		);
		expect(seen(frames)).toEqual(["serve", "worker"]);
		expect(asker(frames)?.function).toBe("serve");
		expect(insideOf(frames)).toBe(2);
		expect(callOf(frames)).toBe("malloc");
	});
	test("a frame that is hidden leads no row, one that is the user's own does", () => {
		expect(asker(stack("main", "parse", "hidden:grow", "malloc"))?.function).toBe("parse");
		expect(asker(stack("main", "parse", "grow", "malloc"))?.function).toBe("grow");
	});
	test("the two innermost, the outermost, and where paths part", () => {
		const frames = stack("main", "a", "b", "turn 10", "c 10", "d 10", "e 10", "malloc");
		expect(seen(frames)).toEqual(["e", "d", "1 turn", "2 main"]);
	});
	test("of many places where paths part the sharpest two", () => {
		const frames = stack(
			...["main 1000", "a 700", "b 70", "c 60", "d 6", "e 4", "f 4", "malloc"],
		);
		expect(seen(frames)).toEqual(["f", "e", "d", "1 b", "1 main"]);
	});
	test("without the program's own frames what says most leads", () => {
		expect(seen(stack("start:_start", "library:run", "wrapper:xmalloc", "malloc"))).toEqual([
			"run",
		]);
		expect(seen(stack("runtime:eval", "library:append", "malloc"))).toEqual(["eval"]);
		expect(seen(stack("start:_start", "malloc"))).toEqual(["_start"]);
		expect(seen(stack("malloc"))).toEqual(["malloc"]);
		expect(seen([])).toEqual([]);
	});
	test("every frame is shown or counted, up to the outermost that is shown", () => {
		const frames = stack("main", "a", "library:b", "c 5", "library:d", "e", "f", "malloc");
		const links = abbreviate(frames);
		const last = frames.indexOf(links[links.length - 1]!.frame),
			first = frames.indexOf(links[0]!.frame);
		expect(links.length + links.reduce((sum, l) => sum + l.skipped, 0)).toBe(first - last + 1);
	});
});

describe("runs", () => {
	const folded = (frames: Frame[]): string[] =>
		runs(frames).map((r) => r.frame?.function ?? `+${r.hidden!.length}`);
	test("what is not the program's own is counted, but for one alone and the call", () => {
		expect(
			folded(
				stack(
					"start:_start",
					"start:libc",
					"main",
					"library:sort",
					"less",
					"library:grow",
					"allocator:new",
					"malloc",
				),
			),
		).toEqual(["malloc", "+2", "less", "sort", "main", "+2"]);
	});
	test("the responsible frame is never hidden", () => {
		expect(folded(stack("start:_start", "runtime:eval", "runtime:call", "malloc"))).toEqual([
			"malloc",
			"call",
			"+2",
		]);
	});
});

describe("shortName", () => {
	test.each([
		["main", "main"],
		["ns::f(int, char const*)", "ns::f"],
		["std::vector<int, std::allocator<int>>::push_back(int&&)", "std::vector<…>::push_back"],
		["(anonymous namespace)::f(int)", "(anonymous namespace)::f(int)"],
		["operator<<(std::ostream&, T const&)", "operator<<(std::ostream&, T const&)"],
		["a::operator->()", "a::operator->()"],
	])("%s", (name, text) => expect(shortName(name)).toBe(text));
});

test("a frame without a function has a name, and its place is its file or library", () => {
	const frame = {
		address: 0x401000,
		address_s: "",
		count: 1,
		is_inline: false,
		kind: "program",
	} as const;
	expect(frameName(frame)).toBe("0x401000");
	expect(frameName({ ...frame, name: "libx.so+0x10" })).toBe("libx.so+0x10");
	expect(framePlace({ ...frame, function: "f", source: "/src/a.c", line: 7 })).toBe("a.c:7");
	expect(framePlace({ ...frame, function: "f", library: "/lib/libx.so" })).toBe("libx.so");
	expect(framePlace({ ...frame, library: "/lib/libx.so" })).toBe("");
});
