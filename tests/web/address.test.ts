// SPDX-License-Identifier: MIT OR Apache-2.0
import { expect, test } from "vitest";
import { url } from "../../web/src/app/api";

test("an address has its words and parameters, but empty ones", () => {
	expect(url("/api")).toBe("/api");
	expect(url("/data/{id}/flame", { id: "a b" }, { filter: "", at: undefined, limit: 0 })).toBe(
		"/data/a%20b/flame?limit=0",
	);
	expect(url("/data/{id}/overview", { id: 1 }, { verdicts: false, filter: "size > 1" })).toBe(
		"/data/1/overview?verdicts=false&filter=size+%3E+1",
	);
});

test("only a word with a star keeps its slashes", () => {
	expect(url("/data/{id}/export/{format}/{name}", { id: 1, format: "csv", name: "a/b" })).toBe(
		"/data/1/export/csv/a%2Fb",
	);
	expect(url("/agents/{agent}/control/{name*}", { agent: "h:1/2", name: "arena/purge" })).toBe(
		"/agents/h%3A1%2F2/control/arena/purge",
	);
});
