// SPDX-License-Identifier: MIT OR Apache-2.0
// Whose frames are: what a menu adds to the address, and what a label takes away.
import { describe, expect, test } from "vitest";
import {
	functionFrame,
	moduleFrame,
	namespaceFrame,
	nameOf,
	namespaceOf,
	whoseItems,
	withFrame,
	withoutFrame,
} from "../../web/src/parts/whose";
import { parse, setRoute } from "../../web/src/app/route";
import { alternatives } from "../../web/src/parts/terms";

test.each([
	["acme::Cache::put(int)", "acme"],
	["void acme::grow<std::string>(std::string&&)", "acme"],
	["std::vector<int>::push_back(int&&)", "std"],
	["<serde_json::Value as core::clone::Clone>::clone", ""],
	["hashbrown::raw::RawTable<T>::insert", "hashbrown"],
	["net/http.(*conn).serve", "net/http"],
	["main.(*pool).get", "main"],
	["sdsMakeRoomFor", ""],
	["operator new(unsigned long)", ""],
])("the namespace of %s", (name, namespace) => expect(namespaceOf(name)).toBe(namespace));

test("what a namespace's frames are called", () => {
	const fits = (namespace: string, name: string): boolean =>
		new RegExp(/"(.*)"/.exec(namespaceFrame(namespace))![1]!.replace(/\\\\/g, "\\")).test(name);
	expect(fits("acme", "acme::f()")).toBe(true);
	expect(fits("acme", "void acme::f<int>()")).toBe(true);
	expect(fits("acme", "<acme::T as core::Clone>::clone")).toBe(true);
	expect(fits("acme", "other::acme::f()")).toBe(false);
	expect(fits("acme", "acmes::f()")).toBe(false);
	expect(fits("net/http", "net/http.(*conn).serve")).toBe(true);
	expect(fits("net/http", "net/httptest.New")).toBe(false);
});

test("a module by the end of its path", () =>
	expect(moduleFrame("/usr/lib/libx.so.1")).toBe('module = "libx.so.1"'));

test("an address in a module is no name", () => {
	expect(nameOf("libx.so.1+0x12ab")).toBeUndefined();
	expect(nameOf("0x12ab")).toBeUndefined();
	expect(nameOf("operator+(acme::T, int)")).toBe("operator+(acme::T, int)");
});

describe("lists", () => {
	const f = functionFrame("f"),
		g = functionFrame("g or h");
	test("each condition stands once, in one of both", () => {
		const once = withFrame({ hide: f }, "hide", g);
		expect(once).toEqual({ hide: `${f} or ${g}`, own: "" });
		expect(withFrame(once, "hide", f).hide).toBe(`${g} or ${f}`);
		expect(withFrame(once, "own", f)).toEqual({ hide: g, own: f });
	});
	test("and can be taken away", () => {
		expect(alternatives(`${f} or ${g}`)).toEqual([f, g]);
		expect(withoutFrame(`${f} or ${g}`, 0)).toBe(g);
		expect(withoutFrame(f, 0)).toBe("");
		expect(alternatives("(function = a or function = b) or module = c")).toEqual([
			"(function = a or function = b)",
			"module = c",
		]);
	});
});

test("a menu hides what is the program's, and takes back what is not", () => {
	setRoute(parse("#/flame/1?hide=function+%3D+%22x%22&zoom=abc"));
	const mine = whoseItems({ name: "acme::f()", module: "libacme.so" }, true);
	expect(mine.map((i) => i.label)).toEqual([
		"Hide this function",
		"Hide this namespace",
		"Hide this module",
	]);
	expect(parse(mine[0]!.href!).parameters).toEqual({
		hide: 'function = "x" or function = "acme::f()"',
	});
	const other = whoseItems({ name: "x", module: "libc.so.6" }, false);
	expect(other.map((i) => i.label)).toEqual(["Treat as my own"]);
	expect(parse(other[0]!.href!).parameters).toEqual({ own: 'function = "x"' });
});
