// SPDX-License-Identifier: MIT OR Apache-2.0
// What each function (line, module) weighs wherever it stands: itself, and with all that it calls.
import type { FunctionsQuery } from "../app/endpoints";
import { useAsked } from "../app/recordings";
import { go, href, useRoute } from "../app/url";
import { adding, functionTerm, lineTerm, sourceTerm } from "../parts/adding";
import { Card, Choice } from "../parts/card";
import { pathKey } from "../parts/flame/tree";
import { copy } from "../parts/clipboard";
import { fileName, shortName, type FrameKind } from "../parts/frames";
import { MeasureChoice, useMeasure } from "../parts/measure";
import { openMenu, type Item } from "../parts/menu";
import { Nothing } from "../parts/nothing";
import { Bytes, Count } from "../parts/number";
import { sortedBy, usePages } from "../parts/pages";
import { Search } from "../parts/search";
import { Share } from "../parts/spark";
import { Answered } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { quote } from "../parts/terms";
import { bytes, middle, plural } from "../parts/units";
import { whoseItems } from "../parts/whose";
import { Callers, callersOf } from "./callers";
import type { ViewProps } from "./views";

type Sort = NonNullable<FunctionsQuery["sort_by"]>;

interface Weighed {
	name: string;
	function?: string;
	file?: string;
	line?: number;
	module?: string;
	bytes: number;
	count: number;
	kind: FrameKind;
	own_bytes: number; /* of stacks whose responsible function it is */
	own_count: number;
	self_bytes: number;
	self_count: number;
	places: number;
}
interface Answer {
	total: { bytes: number; count: number };
	total_count: number;
	functions: Weighed[];
}

/* The term that chooses a row; "" where there is none. */
function termOf(by: string, row: Weighed): string {
	if (by === "module") return row.module ? `module = ${quote(row.module)}` : "";
	if (by === "line" && row.file)
		return row.line ? lineTerm(row.file, row.line) : sourceTerm(row.file);
	return row.function ? functionTerm(row.function) : "";
}

export function Functions({ id }: ViewProps) {
	const name = useRoute().parameters["function"];
	return name ? <Callers id={id} name={name} /> : <List id={id} />;
}

function List({ id }: ViewProps) {
	const { parameters } = useRoute();
	const measured = useMeasure();
	const asked = useAsked();
	const by = (parameters["by"] ?? "function") as NonNullable<FunctionsQuery["by"]>;
	const sort = parameters["sort"] ?? "-own";
	const pages = usePages(
		id,
		"/data/{id}/functions",
		{ ...asked, ...measured.query, by, search: parameters["search"], ...sortedBy<Sort>(sort) },
		(answer: Answer) => ({ rows: answer.functions, count: answer.total_count }),
		100,
	);
	const total = pages.answer.data?.total ?? { bytes: 0, count: 0 };
	/* What stands in no module and has no name cannot be asked for. */
	const one = (row: Weighed): string | undefined => {
		const term = termOf(by, row);
		return term
			? adding([term, measured.term].filter(Boolean).join(" and "), "allocations", { at: "" })
			: undefined;
	};
	/* What a function asks for itself is a box of the graph from those that allocate. */
	const self = (row: Weighed): string | undefined =>
		by === "function" && row.function
			? adding(functionTerm(row.function), "flame", {
					measure: measured.measure,
					shape: "up",
					zoom: pathKey(["all", row.function]),
					frames: "all",
				})
			: undefined;
	const own = (row: Weighed): string | undefined =>
		by === "function"
			? adding(
					[`responsible = ${quote(row.name)}`, measured.term]
						.filter(Boolean)
						.join(" and "),
					"allocations",
					{ at: "" },
				)
			: undefined;
	const where = (row: Weighed): string =>
		row.file
			? `${fileName(row.file)}${row.line ? `:${row.line}` : ""}`
			: row.module
				? fileName(row.module)
				: "";
	const columns: Column<Weighed, Sort>[] = [
		{
			key: "name",
			label: by,
			width: "minmax(240px, 1fr)",
			sort: true,
			ascending: true,
			text: (f) => f.name,
			cell: (f) => (
				<>
					<Name row={f} by={by} />
					<span class="who-below dim" title={f.file ?? f.module}>
						{where(f)}
					</span>
				</>
			),
		},
		{
			key: "own",
			label: "own",
			title: "Bytes of the stacks that it is responsible for",
			number: true,
			width: "minmax(120px, 0.35fr)",
			sort: true,
			cell: (f) =>
				f.own_bytes ? (
					<Share part={f.own_bytes} whole={total.bytes}>
						<Bytes value={f.own_bytes} to={own(f)} />
					</Share>
				) : (
					<span class="dim">–</span>
				),
			text: (f) => String(f.own_bytes),
		},
		{
			key: "self",
			label: "self",
			title: "Bytes of the stacks that end in it, whosever function it is",
			number: true,
			width: "minmax(120px, 0.35fr)",
			sort: true,
			cell: (f) =>
				f.self_bytes ? (
					<Share part={f.self_bytes} whole={total.bytes}>
						<Bytes value={f.self_bytes} to={self(f)} />
					</Share>
				) : (
					<span class="dim">–</span>
				),
			text: (f) => String(f.self_bytes),
		},
		{
			key: "total",
			label: "total",
			title: "Bytes of this and all that it calls",
			number: true,
			width: "minmax(120px, 0.35fr)",
			sort: true,
			cell: (f) => (
				<Share part={f.bytes} whole={total.bytes}>
					<Bytes value={f.bytes} to={one(f)} />
				</Share>
			),
			text: (f) => String(f.bytes),
		},
		{
			key: "total_count",
			label: "blocks",
			title: "Blocks of this and all that it calls",
			number: true,
			width: "96px",
			sort: true,
			cell: (f) => <Count value={f.count} to={one(f)} />,
			text: (f) => String(f.count),
		},
		{
			key: "self_count",
			label: "self blocks",
			title: "Blocks that this asked for itself",
			number: true,
			width: "96px",
			sort: true,
			cell: (f) =>
				f.self_count ? (
					<Count value={f.self_count} to={self(f)} />
				) : (
					<span class="dim">–</span>
				),
			text: (f) => String(f.self_count),
		},
	];
	const menu = (row: Weighed, x: number, y: number): void => {
		const term = termOf(by, row);
		const items: Item[] = [];
		if (by === "function")
			items.push({ label: "Callers and callees", href: callersOf(row.name) });
		if (term) {
			items.push(
				{ label: "Only what goes through it", href: adding(term) },
				{ label: "Without it", href: adding(`not ${term}`) },
				{ label: "Allocations", href: one(row)! },
				{ label: "Flame graph", href: adding(term, "flame") },
				{ label: "Call tree", href: adding(term, "tree") },
			);
		}
		if (by !== "line")
			items.push(
				...whoseItems(
					{ name: by === "function" ? row.function : undefined, module: row.module },
					row.kind === "program",
				),
			);
		if (row.file)
			items.push({
				label: "Source",
				hint: where(row),
				href: href({ view: "source" }, { file: row.file, line: String(row.line ?? "") }),
			});
		items.push({ label: "Copy the name", run: () => void copy(row.name, "Name") });
		openMenu(x, y, middle(shortName(row.name), 40), items);
	};
	return (
		<Card
			name="functions"
			title="Functions"
			said={
				pages.answer.data
					? `${bytes(total.bytes)} ${measured.words} in ` +
						`${plural(total.count, "block")} · ${plural(pages.count, by)}`
					: ""
			}
			tools={
				<>
					<Search label="Search functions" placeholder="part of a name" />
					<Choice
						label="Rows are"
						value={by}
						options={[
							["function", "functions"],
							["line", "lines"],
							["module", "modules"],
						]}
						onChange={(value) => go({ by: value === "function" ? "" : value })}
					/>
					<MeasureChoice measured={measured} />
				</>
			}>
			<Answered what="The functions" answer={pages.answer} lines={12}>
				{() =>
					pages.count === 0 ? (
						parameters["search"] ? (
							<Empty search={parameters["search"]} />
						) : (
							<Nothing title="Nothing matches">
								No allocation is left to weigh.
							</Nothing>
						)
					) : (
						<Table
							label="Functions"
							columns={columns}
							{...pages.rows}
							rowHeight={44}
							sort={sort}
							onSort={(next) => go({ sort: next })}
							nouns={pages.count === 1 ? by : `${by}s`}
							onOpen={(row) => {
								const term = termOf(by, row);
								if (by === "function") location.hash = callersOf(row.name);
								else if (term) location.hash = adding(term);
							}}
							onMenu={(row, _, x, y) => menu(row, x, y)}
						/>
					)
				}
			</Answered>
		</Card>
	);
}

function Name({ row, by }: { row: Weighed; by: string }) {
	const text = by === "module" ? fileName(row.name) : shortName(row.function ?? row.name);
	const said = <strong>{middle(text, 100)}</strong>;
	return by === "function" ? (
		<a class="who" href={callersOf(row.name)} title={row.name}>
			{said}
		</a>
	) : (
		<span class="who" title={row.name}>
			{said}
		</span>
	);
}

function Empty({ search }: { search: string }) {
	return (
		<div class="empty" role="status">
			<p class="empty-title">No name contains “{search}”</p>
			<p>
				<button type="button" class="button" onClick={() => go({ search: "" })}>
					Show all
				</button>
			</p>
		</div>
	);
}
