// SPDX-License-Identifier: MIT OR Apache-2.0
// Processes as a tree, and as a flat list that is searched and sorted.
import { expect, test } from "vitest";
import { arranged, type Process } from "../../web/src/views/process_rows";

const row = (title: string, pid: number, peak_bytes: number, peak_rss: number | null): Process =>
	({ title, command: `app ${title}`, pid, peak_bytes, peak_rss }) as Process;
const ROWS = [row("main", 1, 10, 5), row("worker b", 2, 30, null), row("worker a", 33, 20, 7)];
const titles = (sort: string, search = ""): string[] =>
	arranged(ROWS, sort, search).map((p) => p.title);

test("the tree stays as it came", () => {
	expect(titles("")).toEqual(["main", "worker b", "worker a"]);
});

test("numbers and texts sort, what is not known is least", () => {
	expect(titles("-peak_bytes")).toEqual(["worker b", "worker a", "main"]);
	expect(titles("title")).toEqual(["main", "worker a", "worker b"]);
	expect(titles("peak_rss")).toEqual(["worker b", "main", "worker a"]);
	expect(ROWS.map((p) => p.pid)).toEqual([1, 2, 33]);
});

test("every word is looked for, in titles, commands and numbers", () => {
	expect(titles("", "WORKER a")).toEqual(["worker b", "worker a"]);
	expect(titles("title", "33")).toEqual(["worker a"]);
	expect(titles("", "none")).toEqual([]);
});
