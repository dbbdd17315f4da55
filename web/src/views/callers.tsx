// SPDX-License-Identifier: MIT OR Apache-2.0
// One function with its neighbours: who calls it and what it calls, each a way to go on.  The view
// of functions shows it when the address names one (function=NAME).
import { dataUrl, useAsked, useData } from "../app/recordings";
import { go, href, useRoute } from "../app/url";
import { adding, functionTerm } from "../parts/adding";
import { Card, Choice } from "../parts/card";
import { copy } from "../parts/clipboard";
import { fileName, shortName, type FrameKind } from "../parts/frames";
import { openMenu } from "../parts/menu";
import { whoseItems } from "../parts/whose";
import { MeasureChoice, useMeasure } from "../parts/measure";
import { Nothing } from "../parts/nothing";
import { Bytes, Count } from "../parts/number";
import { Share } from "../parts/spark";
import { Answered } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { bytes, middle, percent, plural } from "../parts/units";

interface Row {
	name: string;
	function?: string;
	file?: string;
	module?: string;
	kind: FrameKind;
	bytes: number;
	count: number;
	self_bytes: number;
	self_count: number;
}
interface Answer {
	total: { bytes: number; count: number };
	function: Row | null;
	no_caller: { bytes: number; count: number };
	caller_count: number;
	callee_count: number;
	callers: Row[];
	callees: Row[];
}

/* The neighbours of a function, from any view. */
export const callersOf = (name: string): string =>
	href({ view: "functions" }, { function: name, by: "", search: "", sort: "" });

function Side({
	label,
	rows,
	whole,
	self,
	selfTitle,
}: {
	label: string;
	rows: Row[];
	whole: { bytes: number; count: number };
	self: string;
	selfTitle: string;
}) {
	const blocks = useRoute().parameters["weight"] === "count";
	const number = (value: number) => (blocks ? <Count value={value} /> : <Bytes value={value} />);
	const total = (r: Row): number => (blocks ? r.count : r.bytes);
	const own = (r: Row): number => (blocks ? r.self_count : r.self_bytes);
	const columns: Column<Row>[] = [
		{
			key: "name",
			label: "function",
			width: "minmax(150px, 1fr)",
			text: (r) => r.name,
			cell: (r) => (
				<>
					<a class="who" href={callersOf(r.name)} title={r.name}>
						<strong>{middle(shortName(r.name), 80)}</strong>
					</a>
					<span class="who-below dim" title={r.file ?? r.module}>
						{fileName(r.file ?? r.module ?? "")}
					</span>
				</>
			),
		},
		{
			key: "total",
			label: blocks ? "blocks" : "bytes",
			title: "What passes between the two",
			number: true,
			width: "112px",
			text: (r) => String(total(r)),
			cell: (r) => (
				<Share part={total(r)} whole={blocks ? whole.count : whole.bytes}>
					{number(total(r))}
				</Share>
			),
		},
		{
			key: "self",
			label: self,
			title: selfTitle,
			number: true,
			width: "80px",
			text: (r) => String(own(r)),
			cell: (r) => (own(r) ? number(own(r)) : <span class="dim">–</span>),
		},
		{
			key: "other",
			label: blocks ? "bytes" : "blocks",
			number: true,
			width: "80px",
			text: (r) => String(blocks ? r.bytes : r.count),
			cell: (r) => (blocks ? <Bytes value={r.bytes} /> : <Count value={r.count} />),
		},
	];
	return (
		<Table
			label={label}
			columns={columns}
			count={rows.length}
			row={(i) => rows[i]}
			rowHeight={44}
			nouns={rows.length === 1 ? "function" : "functions"}
			onOpen={(r) => {
				location.hash = callersOf(r.name);
			}}
			onMenu={(r, _, x, y) =>
				openMenu(x, y, middle(shortName(r.name), 40), [
					{ label: "Callers and callees", href: callersOf(r.name) },
					...(r.function
						? [
								{
									label: "Only what goes through it",
									href: adding(functionTerm(r.function)),
								},
							]
						: []),
					...whoseItems({ name: r.function, module: r.module }, r.kind === "program"),
					{ label: "Copy the name", run: () => void copy(r.name, "Name") },
				])
			}
		/>
	);
}

export function Callers({ id, name }: { id: string; name: string }) {
	const { parameters } = useRoute();
	const measured = useMeasure();
	const weight = parameters["weight"] === "count" ? "count" : "bytes";
	const answer = useData<Answer>(
		dataUrl(id, "/data/{id}/callers", {
			...useAsked(),
			...measured.query,
			weight,
			function: name,
		}),
	);
	const data = answer.data,
		here = data?.function;
	const listed = (shown: Row[], all: number): string =>
		`${plural(all, "function")}${shown.length < all ? `, the heaviest ${shown.length}` : ""}`;
	return (
		<div class="stack">
			<Card
				name="callers"
				title={middle(shortName(name), 60)}
				said={
					here && data ? (
						<span title={name}>
							{bytes(here.bytes)} {measured.words} in {plural(here.count, "block")},{" "}
							{percent(here.bytes, data.total.bytes)} of what matches ·{" "}
							{bytes(here.self_bytes)} by itself
						</span>
					) : (
						""
					)
				}
				tools={
					<>
						<a class="button" href={href({}, { function: "" })}>
							All functions
						</a>
						<a class="button" href={adding(functionTerm(name), "flame")}>
							Flame graph
						</a>
						<a class="button" href={adding(functionTerm(name), "allocations")}>
							Allocations
						</a>
						<Choice
							label="Ordered by"
							value={weight}
							options={[
								["bytes", "bytes"],
								["count", "blocks"],
							]}
							onChange={(value) => go({ weight: value === "bytes" ? "" : value })}
						/>
						<MeasureChoice measured={measured} />
					</>
				}
			/>
			<Answered what="Callers and callees" answer={answer} lines={8}>
				{(found) =>
					found.function ? (
						<div class="side-by-side">
							<Card
								title="Called by"
								name="called-by"
								said={
									listed(found.callers, found.caller_count) +
									(found.no_caller.count
										? ` · ${bytes(found.no_caller.bytes)} of stacks that ` +
											"begin with it"
										: "")
								}>
								{found.callers.length > 0 && (
									<Side
										label="Called by"
										rows={found.callers}
										whole={found.function}
										self="by itself"
										selfTitle="What the function itself takes when called so"
									/>
								)}
							</Card>
							<Card
								title="Calls"
								name="calls"
								said={
									found.callees.length
										? listed(found.callees, found.callee_count)
										: "only the allocator"
								}>
								{found.callees.length > 0 && (
									<Side
										label="Calls"
										rows={found.callees}
										whole={found.function}
										self="its own"
										selfTitle="What this one itself takes when called so"
									/>
								)}
							</Card>
						</div>
					) : (
						<section class="card">
							<Nothing title="Nothing goes through it">
								No allocation that matches was made by {middle(name, 80)} or below
								it.
							</Nothing>
						</section>
					)
				}
			</Answered>
		</div>
	);
}
