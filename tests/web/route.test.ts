// SPDX-License-Identifier: MIT OR Apache-2.0
// Addresses of the page: read, written, and what stays in one when another view is opened.
import { beforeEach, describe, expect, test } from "vitest";
import { format, href, parse, setRoute } from "../../web/src/app/route";
import { adding, addressTerm, alone, rangeTerm } from "../../web/src/parts/adding";

describe("parse, format", () => {
	test("nothing is the list of recordings", () => {
		for (const hash of ["", "#", "#/"]) {
			expect(parse(hash)).toEqual({ view: "recordings", id: "", parameters: {} });
		}
	});
	test("what is written is read", () => {
		const route = {
			view: "flame",
			id: "a/b?c#d%",
			parameters: { filter: 'function ~ "a&b=c?d" and size >= 1', at: "0.5" },
		};
		expect(parse(format(route))).toEqual(route);
	});
	test("a question mark in the question stays there", () => {
		expect(parse("#/tree/x?filter=a%3Fb").parameters).toEqual({ filter: "a?b" });
	});
	test("empty keys are not written", () => {
		expect(format({ view: "tree", id: "x", parameters: { at: "", from: "1" } })).toBe(
			"#/tree/x?from=1",
		);
	});
	test("an address that somebody cut is read as it stands", () => {
		expect(parse("#/overview/a%")).toEqual({ view: "overview", id: "a%", parameters: {} });
		expect(parse("#/overview/%zz?at=%").id).toBe("%zz");
	});
});

describe("href", () => {
	beforeEach(() => setRoute(parse("#/flame/one?filter=leaked&at=1&zoom=k&units=decimal")));
	test("the present view keeps its own keys", () => {
		expect(href({}, { at: "2" })).toBe("#/flame/one?filter=leaked&at=2&zoom=k&units=decimal");
		expect(href({}, { at: "" })).toBe("#/flame/one?filter=leaked&zoom=k&units=decimal");
	});
	test("another view takes what all share", () => {
		expect(href({ view: "tree" })).toBe("#/tree/one?filter=leaked&at=1&units=decimal");
	});
	test("another recording takes the units only", () => {
		expect(href({ id: "two" })).toBe("#/flame/two?units=decimal");
	});
	test("links that ask further", () => {
		const filter = (address: string): string | undefined => parse(address).parameters["filter"];
		expect(filter(adding("size > 1", "tree"))).toBe("leaked and size > 1");
		expect(parse(alone("size > 1", "tree")).parameters).toEqual({
			filter: "size > 1",
			units: "decimal",
		});
		expect(addressTerm(4096, 8192)).toBe("address >= 0x1000 and address < 0x2000");
		expect(rangeTerm("size", 16, 32)).toBe("size >= 16 and size < 32");
	});
});
