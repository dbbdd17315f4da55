// SPDX-License-Identifier: MIT OR Apache-2.0
// What is left of a stack in one line, and of a function's name.
import { describe, expect, test } from "vitest";
import {
	abbreviate,
	asker,
	callOf,
	frameName,
	framePlace,
	shortName,
	type Frame,
} from "../../web/src/parts/frames";

/* Outermost first, as the server has them; [name, count]. */
const stack = (...frames: (string | [string, number])[]): Frame[] =>
	frames.map((f, i) => {
		const [name, count] = typeof f === "string" ? ([f, 100] as const) : f;
		return { address: i, address_s: String(i), count, function: name, is_inline: false };
	});
const seen = (frames: Frame[]): string[] =>
	abbreviate(frames).map((l) => `${l.skipped ? `${l.skipped} ` : ""}${l.frame.function}`);

describe("abbreviate", () => {
	test("starts of threads and the allocator's wrappers say nothing", () => {
		const frames = stack(
			"start_thread",
			"worker",
			"serve",
			"std::vector<int>::push_back",
			"operator new",
			"malloc",
		);
		expect(seen(frames)).toEqual(["serve", "worker"]);
		expect(asker(frames)?.function).toBe("serve");
		expect(callOf(frames)).toBe("malloc");
	});
	test("wrappers by other names", () => {
		for (const name of ["xmalloc", "xcalloc", "zmalloc_usable", "ztrymalloc", "g_malloc0"]) {
			expect(asker(stack("main", "parse", name, "malloc"))?.function).toBe("parse");
		}
		expect(asker(stack("main", "zalloc_nothing", "malloc"))?.function).toBe("zalloc_nothing");
	});
	test("the two innermost, the outermost, and where paths part", () => {
		const frames = stack(
			["main", 100],
			["a", 100],
			["b", 100],
			["turn", 10],
			["c", 10],
			["d", 10],
			["e", 10],
			"malloc",
		);
		expect(seen(frames)).toEqual(["e", "d", "1 turn", "2 main"]);
	});
	test("of many places where paths part the sharpest two", () => {
		const frames = stack(
			["main", 1000],
			["a", 700],
			["b", 70],
			["c", 60],
			["d", 6],
			["e", 4],
			["f", 4],
			"malloc",
		);
		expect(seen(frames)).toEqual(["f", "e", "d", "1 b", "1 main"]);
	});
	test("where nothing else is there, plumbing is shown", () => {
		expect(seen(stack("_start", "std::thread::run", "operator new", "malloc"))).toEqual([
			"operator new",
			"std::thread::run",
		]);
		expect(seen(stack("_start", "malloc"))).toEqual(["_start"]);
		expect(seen(stack("malloc"))).toEqual(["malloc"]);
		expect(seen([])).toEqual([]);
	});
	test("every frame is shown or counted, up to the outermost that is shown", () => {
		const frames = stack("main", "a", "std::b", ["c", 5], "std::d", "e", "f", "malloc");
		const links = abbreviate(frames);
		const last = frames.indexOf(links[links.length - 1]!.frame),
			first = frames.indexOf(links[0]!.frame);
		expect(links.length + links.reduce((sum, l) => sum + l.skipped, 0)).toBe(first - last + 1);
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
	const frame = { address: 0x401000, address_s: "", count: 1, is_inline: false };
	expect(frameName(frame)).toBe("0x401000");
	expect(frameName({ ...frame, name: "libx.so+0x10" })).toBe("libx.so+0x10");
	expect(framePlace({ ...frame, function: "f", source: "/src/a.c", line: 7 })).toBe("a.c:7");
	expect(framePlace({ ...frame, function: "f", library: "/lib/libx.so" })).toBe("libx.so");
	expect(framePlace({ ...frame, library: "/lib/libx.so" })).toBe("");
});
