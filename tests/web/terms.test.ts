// SPDX-License-Identifier: MIT OR Apache-2.0
// The text of a question: what is found in it, and what adding and removing a term leaves.
import { describe, expect, test } from "vitest";
import {
	allOf,
	asRow,
	fieldOf,
	quote,
	terms,
	tokens,
	withTerm,
	withoutTerm,
} from "../../web/src/parts/terms";

const texts = (filter: string): string[] => terms(filter).map((t) => t.text);

describe("tokens", () => {
	test("every character of the text is in one of them, in order", () => {
		for (const text of [
			"size>=1M&&!leaked",
			'function ~ "a\\"b (c" or x',
			'"open',
			"a | b & c",
			"…é",
		]) {
			const found = tokens(text);
			expect(found.map((t) => t.text).join("")).toBe(text);
			expect(found.map((t) => t.at)).toEqual(
				found.map((_, i) => found.slice(0, i).reduce((sum, t) => sum + t.text.length, 0)),
			);
		}
	});
	test("kinds", () => {
		const kinds = Object.fromEntries(
			tokens('size >= 1M and not f ~ "and"').map((t) => [t.text, t.kind]),
		);
		expect(kinds).toEqual({
			" ": "space",
			and: "join",
			not: "join",
			">=": "sign",
			"~": "sign",
			size: "word",
			f: "word",
			"1M": "number",
			'"and"': "text",
		});
	});
});

describe("terms", () => {
	test("are what and joins, in any spelling", () => {
		expect(texts("a = 1 and b AND c && d")).toEqual(["a = 1", "b", "c", "d"]);
		expect(texts("")).toEqual([]);
		expect(texts(" and ")).toEqual([]);
	});
	test("an and in parentheses or in a text joins nothing", () => {
		expect(texts('(a and b) and f ~ "x and y"')).toEqual(["(a and b)", 'f ~ "x and y"']);
	});
	test("an or at the top makes it one", () => {
		expect(texts("a and b or c")).toEqual(["a and b or c"]);
		expect(texts("a and (b or c)")).toEqual(["a", "(b or c)"]);
	});
	test("from and to are where they stand", () => {
		const filter = "  leaked  and  size > 1 ";
		for (const t of terms(filter)) expect(filter.slice(t.from, t.to)).toBe(t.text);
	});
});

describe("withTerm, withoutTerm", () => {
	test("adds to nothing and to something", () => {
		expect(withTerm(undefined, "leaked")).toBe("leaked");
		expect(withTerm("leaked", "size > 1")).toBe("leaked and size > 1");
	});
	test("what is there already is not added again", () => {
		expect(withTerm("a and leaked", "leaked")).toBe("a and leaked");
	});
	test("an or keeps its meaning, on either side", () => {
		expect(withTerm("a or b", "c")).toBe("(a or b) and c");
		expect(withTerm("c", "a || b")).toBe("c and (a || b)");
		expect(withTerm("c", 'f = "x or y"')).toBe('c and f = "x or y"');
	});
	test("what the panel joins keeps an or together, and leaves one alone as it is", () => {
		expect(allOf(["a or b", "size_min(1)"])).toBe("(a or b) and size_min(1)");
		expect(allOf(["a or b"])).toBe("a or b");
		expect(allOf([])).toBe("");
	});
	test("removing what was added leaves what was there", () => {
		const filter = '(a or b) and f = "x and y"';
		expect(withoutTerm(withTerm(filter, "leaked"), 2)).toBe(filter);
		expect(withoutTerm("leaked", 0)).toBe("");
	});
});

describe("asRow", () => {
	test("a filter of the table, its text without quotation marks", () => {
		expect(asRow("size_min(1k)")).toEqual({ name: "size_min", value: "1k" });
		expect(asRow("only_leaked()")).toEqual({ name: "only_leaked", value: "" });
		expect(asRow(`function_regex(${quote('a"\\(b')})`)).toEqual({
			name: "function_regex",
			value: 'a"\\(b',
		});
	});
	test("nothing else is one", () => {
		for (const term of ["size > 1", "not (leaked)", 'frame(function = "f")', "(size_min(1))"]) {
			expect(asRow(term)).toBeUndefined();
		}
	});
	test("two filters with an or between them are not one", () => {
		expect(asRow("size_min(1k) or size_max(10)")).toBeUndefined();
		expect(asRow('function_regex("a") or function_regex("b")')).toBeUndefined();
	});
});

describe("fieldOf", () => {
	const rows = [
		{ name: "filter", type: "expression", meaning: "$" },
		{ name: "size_min", type: "size", meaning: "size >= $" },
		{ name: "alive_at", type: "time", meaning: "alive_at($)" },
		{ name: "alive_at_2", type: "time", meaning: "alive_at($)" },
		{ name: "backtraces", type: "ids", meaning: "backtrace = $" },
		{ name: "function_regex", type: "regex", meaning: "function ~ $" },
		{ name: "temporary", type: "yes_no", meaning: "temporary; not temporary" },
		{ name: "lifetime", type: "choice", meaning: "all: ; only_leaked: leaked" },
	];
	test.each([
		["size_min(1k)", "size_min", "1k"],
		["size>=1k", "size_min", "1k"],
		["alive_at(1.5s)", "alive_at", "1.5s"],
		["backtrace = 3,4", "backtraces", "3,4"],
		['function ~ "a \\"b"', "function_regex", 'a "b'],
		["temporary", "temporary", "yes"],
		["not temporary", "temporary", "no"],
		["leaked", "lifetime", "only_leaked"],
	])("%s", (term, name, value) => {
		expect(fieldOf(term, rows)).toEqual({ name, value });
	});
	test("each field once", () => {
		expect(fieldOf("alive_at(2s)", rows, { alive_at: "1s" })?.name).toBe("alive_at_2");
		expect(fieldOf("size >= 2k", rows, { size_min: "1k" })).toBeUndefined();
	});
	test("what no field can hold", () => {
		for (const term of [
			"size > 1k",
			"(size >= 1k or leaked)",
			"not size >= 1k",
			"size >= 1k 2",
		])
			expect(fieldOf(term, rows)).toBeUndefined();
	});
});

test("a quoted text is one token that ends where it ends", () => {
	for (const text of ['a"b', "a\\", '\\"', "x and y"]) {
		expect(tokens(`${quote(text)} x`).map((t) => t.kind)).toEqual(["text", "space", "word"]);
	}
});
