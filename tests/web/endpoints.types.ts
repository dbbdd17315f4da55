// SPDX-License-Identifier: MIT OR Apache-2.0
// What the compiler has to refuse; it is run by tests/policy/page_code.py, and an error that does
// not come is one.  Each line that is refused stands beside one that is not.
import { url } from "../../web/src/app/api";
import type { AllocationsQuery, GroupNumber } from "../../web/src/app/endpoints";
import { dataUrl } from "../../web/src/app/recordings";
import { usePages } from "../../web/src/parts/pages";
import type { Column } from "../../web/src/parts/table";

const id = "1",
	common = { filter: "leaked", measure: "peak" as const };

url("/data/{id}/flame", { id }, { measure: "peak", weight: "count" });
// @ts-expect-error a path that is not there
url("/data/{id}/flames", { id }, {});
// @ts-expect-error a parameter that is not there
url("/data/{id}/flame", { id }, { mesure: "peak" });
// @ts-expect-error a word that the parameter does not take
url("/data/{id}/flame", { id }, { measure: "peek" });
// @ts-expect-error a number where a switch is
url("/data/{id}/flame", { id }, { threads: 1 });
// @ts-expect-error a filter that is not there
url("/data/{id}/flame", { id }, { size_minimum: 1 });
// @ts-expect-error a word of the path that is missing
url("/data/{id}/export/{format}", { id });
url("/data/{id}/source", { id }, { file: "a.c" });
// @ts-expect-error a parameter that it must have
url("/data/{id}/source", { id }, {});
// @ts-expect-error the same, with nothing
url("/data/{id}/source", { id });

dataUrl(id, "/data/{id}/flame", { ...common });
// @ts-expect-error parameters of another question, spread into this one
dataUrl(id, "/data/{id}/overview", { ...common });
// @ts-expect-error parameters of a recording's flame graph, of a dump
dataUrl(id, "/dumps/{id}/flame", { weight: "count" });

const pick = (answer: number[]): { rows: number[]; count: number } => ({ rows: answer, count: 1 });
export const usePaged = (): unknown => [
	usePages(id, "/data/{id}/threads", { sort_by: "name" }, pick),
	// @ts-expect-error a column that threads do not have
	usePages(id, "/data/{id}/threads", { sort_by: "size" }, pick),
	// @ts-expect-error a question that has no pages
	usePages(id, "/data/{id}/matches", {}, pick),
];

type Sort = NonNullable<AllocationsQuery["sort_by"]>;
const cell = (): string => "";
export const columns: Column<object, Sort>[] = [
	{ key: "size", label: "", sort: true, cell },
	{ key: "who", label: "", cell },
	// @ts-expect-error a column that cannot be sorted by
	{ key: "who", label: "", sort: true, cell },
];
export const numbers: GroupNumber[] = [
	"peak_size",
	// @ts-expect-error a number that groups do not have
	"peak_bytes",
];
