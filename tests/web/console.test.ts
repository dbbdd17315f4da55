// SPDX-License-Identifier: MIT OR Apache-2.0
// The console without a browser: what completes, what comes from the server, what an address holds,
// views as scripts.
import { describe, expect, test } from "vitest";
import { asScript } from "../../web/src/console/as_script";
import { add, Lines, parts, type Block, type Item } from "../../web/src/console/lines";
import { pack, unpack } from "../../web/src/console/packed";
import { read, titleOf, withOne, type Past } from "../../web/src/console/past";
import { chainAt, Words, type Word } from "../../web/src/console/words";

const row = (of: string, name: string, more: Partial<Word> = {}): Word => ({
	of,
	name,
	arguments: "",
	help: `${name} of ${of}`,
	...more,
});
const words = new Words({
	words: [
		row("", "allocations", { gives: "list" }),
		row("", "data", { gives: "data" }),
		row("", "graph", { gives: "graph" }),
		row("", "h m s", { gives: "duration" }),
		row("data", "allocations", { gives: "list" }),
		row("list", "only_leaked", { gives: "list" }),
		row("list", "group_by", { gives: "groups" }),
		row("list", "iter", { each: "allocation" }),
		row("list", "len"),
		row("groups", "take", { gives: "groups" }),
		row("groups", "iter", { each: "list" }),
		row("groups", "ungroup", { gives: "list" }),
		row("graph", "add", { gives: "graph" }),
		row("graph", "trim", { gives: "graph" }),
		{ of: "allocation", name: "size", help: "bytes" },
		row("allocation", "backtrace", { gives: "backtrace" }),
		row("backtrace", "strip", { gives: "backtrace" }),
		{ of: "duration", name: "ns", help: "nanoseconds" },
	],
	group_by: [
		{ name: "responsible", help: "" },
		{ name: "thread", help: "" },
	],
	export: [{ name: "pprof", help: "" }],
	ask: [{ name: "overview", help: "" }],
});
const names = (text: string, language: "lua" | "rhai" = "lua", asked = false): string[] =>
	words.complete(text, language, asked)?.options.map((option) => option.name) ?? [];

describe("what a value is", () => {
	test.each([
		["allocations()", "list"],
		["data().allocations():only_leaked()", "list"],
		["allocations()\n  :only_leaked()\n  .group_by('a)(')", "groups"],
		['allocations():group_by("x"):take(3)[1]', "list"],
		["allocations()[1]", "allocation"],
		["allocations()[1]:backtrace():strip()", "backtrace"],
		["local a = allocations()\na", "list"],
		["local a = 5\na = graph()\nif x == a then\na", "graph"],
		['let a = allocations().only_leaked();\nlet b = a.group_by("x");\nb', "groups"],
		["for a in allocations():iter() do\n  a", "allocation"],
		["local all = allocations()\nfor a in all:iter() do\n  a", "allocation"],
		["for g in allocations():group_by('x'):iter() do\n g", "list"],
		['for group in allocations().group_by("x") { group', "list"],
		["ms", undefined],
		["s(1)", "duration"],
		["print(allocations():only_leaked()", "list"],
		["local a = a\na", undefined],
		["unknown():only_leaked()", undefined],
		["5", undefined],
		["", undefined],
	])("%s", (text, is) => expect(words.classOf(text)).toBe(is));
	test("what names itself in a circle ends", () => {
		expect(words.classOf("a = b\nb = a\na = b\nb = a\nb")).toBe(undefined);
	});
	test("brackets in texts are no brackets", () => {
		expect(chainAt('a("x)"):b')?.map((step) => step.name)).toEqual(["a", "b"]);
		expect(chainAt("a):b")).toBe(undefined);
	});
});

describe("what completes", () => {
	test("methods of what stands before", () => {
		expect(names("allocations():only_")).toEqual(["only_leaked"]);
		expect(names("allocations().")).toContain("group_by");
		expect(names("graph():add(allocations()).t")).toEqual(["trim"]);
		expect(names("for a in allocations():iter() do print(a.")).toEqual(["size", "backtrace"]);
	});
	test("of what is not known: everything, once a letter is there", () => {
		expect(names("x.")).toEqual([]);
		expect(names("x.on")).toEqual(["only_leaked"]);
	});
	test("functions, what the text has named, and words of the language", () => {
		expect(names("local graphs = 1\ngra")).toEqual(["graphs", "graph"]);
		expect(names("fn describe(x) {}\ndes", "rhai")).toEqual(["describe"]);
		expect(names("swi", "rhai")).toEqual(["switch"]);
		expect(names("swi")).toEqual([]);
	});
	test("what is there already, comments and numbers: nothing", () => {
		expect(names("local")).toEqual([]);
		expect(names("-- allocations():on")).toEqual([]);
		expect(names("1.")).toEqual([]);
		expect(names("a ..")).toEqual([]);
	});
	test("keys of groups, formats, questions", () => {
		expect(names('allocations():group_by("')).toEqual(["responsible", "thread"]);
		expect(names('x:save("a.pb.gz", "pp')).toEqual(["pprof"]);
		expect(names('data():ask("over')).toEqual(["overview"]);
	});
});

describe("what a script puts out", () => {
	const line = (value: string): Item => ({ kind: "println", value });
	test("pieces end anywhere", () => {
		const whole =
			'{"kind":"println","value":"a\\nb"}\n{"kind":"end","status":"ok","elapsed":1}\n';
		for (let cut = 0; cut <= whole.length; cut++) {
			const lines = new Lines();
			const said = [...lines.take(whole.slice(0, cut)), ...lines.take(whole.slice(cut))];
			expect(said.map((item) => item.kind)).toEqual(["println", "end"]);
		}
	});
	test("neighbouring lines are one text, and what was drawn is not changed", () => {
		const image: Item = { kind: "image", url: "/data/x", basename: "a.svg", size: 1 };
		const first = add([], [line("1"), line("2")]);
		const second = add(first, [line("3"), image, line("4")]);
		const lengths = (blocks: Block[]): number[] =>
			blocks.map((block) => (block.kind === "text" ? block.lines.length : 0));
		expect(lengths(first)).toEqual([2]);
		expect(lengths(second)).toEqual([3, 0, 1]);
		expect(second[0]).not.toBe(first[0]);
	});
	test("links stand where their texts do", () => {
		const one = { text: "1 allocation", filter: "leaked" };
		expect(parts("1 allocation of 1 allocation.", [one, one])).toEqual([one, " of ", one, "."]);
		expect(parts("none", [one])).toEqual(["none"]);
	});
});

describe("an address", () => {
	test("holds any text", async () => {
		for (const text of ["", "a", "-- ü 中 \u0000\n".repeat(1000), '"<>&?#%'])
			expect(await unpack(await pack(text))).toBe(text);
		expect(await pack("print(1)")).toMatch(/^[\w-]+$/);
	});
	test("that was cut has none", async () => {
		const whole = await pack("print('a rather long text to be cut')");
		expect(await unpack(whole.slice(0, -4))).toBe(undefined);
		expect(await unpack("%%%")).toBe(undefined);
	});
});

describe("what ran", () => {
	const one = (text: string): Past => ({ text, language: "lua", at: 1 });
	test("the latest first, each once, as many as there is room for", () => {
		let list: Past[] = [];
		for (const text of ["a", "b", "a"]) list = withOne(list, one(text));
		expect(list.map((p) => p.text)).toEqual(["a", "b"]);
		for (let i = 0; i < 100; i++) list = withOne(list, one(`${i}`));
		expect(list.length).toBe(50);
		for (let i = 0; i < 5; i++) list = withOne(list, one(`${i}`.repeat(150_000)));
		expect(list.length).toBe(2);
		expect(withOne([], one("x".repeat(1e6))).length).toBe(1);
	});
	test("what this browser keeps may be anything", () => {
		for (const text of ["", "{", "5", "[1,null]"]) expect(read(text)).toEqual([]);
	});
	test("a title is the first line that says something", () => {
		expect(titleOf("\n--\n-- Leaks: who\nlocal a")).toBe("Leaks: who");
		expect(titleOf("// In Rhai")).toBe("In Rhai");
		expect(titleOf(" \n")).toBe("an empty script");
	});
});

describe("a view as a script", () => {
	const of = (view: string, parameters = {}): string =>
		asScript({ view, id: "x", parameters }, "A view…", { code: "allocations()" });
	test("asks what the view asks", () => {
		expect(of("functions", { measure: "leaked", sort: "name", by: "module" })).toContain(
			'chosen:functions { measure = "leaked", by = "module", sort_by = "name", order = "asc"',
		);
		expect(of("flame", { at: "0.5" })).toContain('{ measure = "alive", at = "0.5s" }');
		expect(of("flame", { measure: "alive" })).toContain('{ measure = "peak" }');
		expect(of("allocations", { at: "1" })).toContain(':only_alive_at("1s")');
		expect(of("histograms", { measure: "peak" })).toContain("{ of = of, measure");
		expect(of("compare", { against: "y" })).toContain("= data(2):allocations()");
		expect(of("compare", { against: "x" })).not.toContain("data(2)");
	});
	test("other files are asked their own questions", () => {
		expect(of("heap", { base: "y", weight: "count" })).toContain(
			'data():dump_top { measure = "inuse_objects", count = 50, base = data(2) }',
		);
		expect(of("processes", { measure: "leaked" })).toContain('measure = "leaked" }');
		expect(of("fleet", { rows: "label", label: "zone" })).toContain('label_name = "zone"');
		expect(of("fleet", { show: "flame" })).toContain("at = latest }");
		expect(of("fleet", { show: "flame", to: "5" })).toContain("at = 5000");
		expect(of("fleet", { show: "growth" })).not.toContain("allocations()");
	});
	test("texts are quoted", () => {
		expect(of("functions", { function: 'a"b\\c' })).toContain('["function"] = "a\\"b\\\\c"');
		expect(of("tree", { hide: "x\ny" })).toContain('hide = "x\\ny"');
	});
});
