// SPDX-License-Identifier: MIT OR Apache-2.0
// One flame graph of all recordings that the question leaves, and the difference of two parts of
// the fleet: builds, releases, hosts, labels, days.
import { useMemo } from "preact/hooks";
import { useAnswer } from "../app/api";
import { dataUrl, useData } from "../app/recordings";
import { go, href, route, useRoute } from "../app/url";
import { Card, Choice, FillButton } from "../parts/card";
import { FlameTable } from "../parts/flame/table";
import { KIND, type FlameAnswer, type Tree } from "../parts/flame/tree";
import { openMenu, type Item } from "../parts/menu";
import { Bytes, Sum } from "../parts/number";
import { Answered, Empty } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { quote, withTerm } from "../parts/terms";
import { bytes, count, date, middle, plural, signed } from "../parts/units";
import { FramesChoice, Graph, copyStack, foldItems, togglePin, useTree } from "../views/flame";
import { LabelName } from "./list";
import { ROWS, fleetAsked, stacksAsked, sumUrl, termOf, type Groups, type Rows } from "./data";

type Measure = "alive" | "peak" | "leaked" | "allocated" | "temporary";
const MEASURES: readonly (readonly [Measure, string, string])[] = [
	["alive", "alive", "alive at the moment, or at the end, of the curve above"],
	["peak", "peaks", "alive when each recording had most"],
	["leaked", "leaked", "never freed"],
	["allocated", "allocated", "everything, freed or not"],
	["temporary", "temporary", "freed by the next call of the same thread"],
];

/* What is weighed: alive at the end, unless something else is chosen. */
function useFleetMeasure(until: number): { measure: Measure; query: object; words: string } {
	const { parameters } = useRoute();
	const measure = MEASURES.find(([key]) => key === parameters["measure"])?.[0] ?? "alive";
	const asked = stacksAsked(measure);
	if (measure === "alive") {
		const at = asked.at ?? String(until * 1000);
		return {
			measure,
			query: { filter: asked.filter, measure, at },
			words: `alive at ${date(Number(at) / 1000)}`,
		};
	}
	return {
		measure,
		query: { ...asked, measure },
		words: {
			peak: "at each recording's peak",
			leaked: "never freed",
			allocated: "allocated",
			temporary: "temporary",
		}[measure],
	};
}

const MeasureButtons = ({ measure }: { measure: Measure }) => (
	<Choice
		label="Which bytes"
		value={measure}
		options={MEASURES}
		onChange={(key) => go({ measure: key === "alive" ? "" : key, at: "" })}
	/>
);

function boxMenu(tree: Tree, box: number): Item[] {
	const { filter } = route().parameters,
		name = tree.text(box);
	const items: Item[] = [];
	if (tree.kind(box) === KIND.function) {
		const term = `function = ${quote(name)}`,
			into = (label: string, more: Record<string, string>, text = term): Item => ({
				label,
				href: href({}, { filter: withTerm(filter, text), zoom: "", ...more }),
			});
		items.push(
			into("Only stacks through this function", {}),
			into("Without this function", {}, `not ${term}`),
			into("Services that have it", { show: "", rows: "" }),
			into("Hosts that have it", { show: "", rows: "host" }),
			into("Recordings that have it", { show: "", rows: "recording" }),
		);
	}
	items.push(
		...foldItems(tree, box),
		{ label: "Zoom in", href: href({}, { zoom: tree.key(box) }) },
		{ label: "Pin", hint: "p", run: () => togglePin(tree, box) },
		{ label: "Copy the stack", hint: "c", run: () => copyStack(tree, box) },
	);
	return items;
}

function Picture({ tree }: { tree: Tree }) {
	const { parameters } = useRoute();
	return parameters["as"] === "table" ? (
		<FlameTable
			tree={tree}
			menu={(box, x, y) => openMenu(x, y, tree.text(box), boxMenu(tree, box))}
		/>
	) : (
		<Graph
			tree={tree}
			search={parameters["search"]}
			zoomKey={parameters["zoom"]}
			pins={parameters["pin"]}
			menu={boxMenu}
		/>
	);
}

function PictureTools() {
	const { parameters } = useRoute();
	return (
		<div class="flame-tools">
			<input
				class="field search"
				type="search"
				aria-label="Search in the flame graph"
				placeholder="Search functions"
				value={parameters["search"] ?? ""}
				spellcheck={false}
				onInput={(event) => go({ search: event.currentTarget.value }, true)}
			/>
			<span class="grow" />
			<Choice
				label="Shape"
				value={parameters["shape"] === "up" ? "up" : "down"}
				options={[
					["down", "top-down", "from where threads start"],
					["up", "bottom-up", "from the functions that allocate"],
				]}
				onChange={(key) => go({ shape: key === "up" ? key : "", zoom: "" })}
			/>
			<FramesChoice />
			<Choice
				label="Shown as"
				value={parameters["as"] === "table" ? "table" : "graph"}
				options={[
					["graph", "graph"],
					["table", "table"],
				]}
				onChange={(key) => go({ as: key === "graph" ? "" : key })}
			/>
			<FillButton on={parameters["fill"] === "1"} />
		</div>
	);
}

const direction = (): "up" | undefined => (route().parameters["shape"] === "up" ? "up" : undefined);

export function FleetFlame({ id }: { id: string }) {
	const { parameters } = useRoute();
	const until = useAnswer<Groups>(sumUrl(id)).data?.until ?? 0;
	const { measure, query, words } = useFleetMeasure(until);
	const answer = useData<FlameAnswer>(
		until ? dataUrl(id, "/data/{id}/flame", { ...query, direction: direction() }) : null,
	);
	const tree = useTree(answer.data);
	return (
		<Card
			title="Flame graph"
			name="fleet-flame"
			fill={parameters["fill"] === "1"}
			said={
				answer.data && (
					<>
						<Sum bytes={answer.data.total.bytes} blocks={answer.data.total.count} />{" "}
						{words}
					</>
				)
			}
			tools={<MeasureButtons measure={measure} />}>
			<PictureTools />
			<Answered what="The flame graph" answer={answer} lines={12}>
				{() =>
					tree &&
					(tree.count < 2 ? (
						<Empty title={`Nothing ${words}`}>
							Remove a term of the question, or choose another measure or moment.
						</Empty>
					) : (
						<Picture tree={tree} />
					))
				}
			</Answered>
		</Card>
	);
}

interface Changed {
	function: string;
	status: string;
	before_bytes: number;
	after_bytes: number;
	bytes_delta: number;
	before_own_bytes: number;
	after_own_bytes: number;
}
interface Difference {
	total: { before_bytes: number; after_bytes: number; bytes_delta: number };
	functions: Changed[];
	function_total: number;
}

/* One side: which row of the list. */
function Side({
	id,
	name,
	rows,
	label,
}: {
	id: string;
	name: "a" | "b";
	rows: Rows;
	label: string;
}) {
	const { parameters } = useRoute();
	const groups = useData<Groups>(
		rows === "label" && !label
			? null
			: dataUrl(id, "/fleets/{id}/groups", {
					...fleetAsked(),
					by: rows,
					label_name: rows === "label" ? label : undefined,
					sort_by: "ended",
					order: "dsc",
					count: 500,
				}),
	);
	const said = parameters[name] ?? "";
	const options = (groups.data?.groups ?? [])
		.map((g) => [termOf(rows, g.name, label), g] as const)
		.filter(([term]) => term);
	return (
		<label class="fleet-side">
			<span class="dim">{name === "a" ? "before" : "after"}</span>
			<select
				class="field"
				value={said}
				aria-label={name === "a" ? "Before" : "After"}
				onChange={(event) => go({ [name]: event.currentTarget.value })}>
				<option value="">choose…</option>
				{said && !options.some(([term]) => term === said) && (
					<option value={said}>{middle(said, 60)}</option>
				)}
				{options.map(([term, g]) => (
					<option key={term} value={term}>
						{middle(g.name, 48)} · {bytes(g.peak_bytes)}
					</option>
				))}
			</select>
		</label>
	);
}

export function FleetCompare({ id }: { id: string }) {
	const { parameters } = useRoute();
	const rows = ROWS.find(([key]) => key === (parameters["rows"] || "release"))![0],
		label = parameters["label"] ?? "";
	const { a = "", b = "", filter } = parameters;
	const measure =
		MEASURES.find(([key]) => key === parameters["measure"] && key !== "alive")?.[0] ?? "peak";
	const ready = a && b;
	const flame = useData<FlameAnswer>(
		ready
			? dataUrl(id, "/data/{id}/flame", {
					filter,
					measure,
					a: b,
					against: a,
					direction: direction(),
				})
			: null,
	);
	const changes = useData<Difference>(
		ready
			? dataUrl(id, "/data/{id}/diff", { filter, measure, a, b, by: "function", count: 1000 })
			: null,
	);
	const tree = useTree(flame.data);
	const changed = useMemo(
		() =>
			changes.data?.functions
				.filter((f) => f.bytes_delta)
				.sort((x, y) => Math.abs(y.bytes_delta) - Math.abs(x.bytes_delta)) ?? [],
		[changes.data],
	);
	const total = changes.data?.total;
	const columns: Column<Changed>[] = [
		{
			key: "function",
			label: "function",
			width: "minmax(220px, 1fr)",
			text: (f) => f.function,
			cell: (f) => (
				<span class="who" title={f.function}>
					<strong>{middle(f.function, 80)}</strong>
				</span>
			),
		},
		{
			key: "status",
			label: "",
			width: "88px",
			text: (f) => f.status,
			cell: (f) => <span class={f.bytes_delta > 0 ? "tag bad" : "tag"}>{f.status}</span>,
		},
		{
			key: "change",
			label: "change",
			number: true,
			width: "112px",
			text: (f) => String(f.bytes_delta),
			cell: (f) => <span class="number">{signed(bytes(f.bytes_delta))}</span>,
		},
		{
			key: "before",
			label: "before",
			number: true,
			width: "112px",
			text: (f) => String(f.before_bytes),
			cell: (f) => <Bytes value={f.before_bytes} />,
		},
		{
			key: "after",
			label: "after",
			number: true,
			width: "112px",
			text: (f) => String(f.after_bytes),
			cell: (f) => <Bytes value={f.after_bytes} />,
		},
	];
	return (
		<>
			<Card
				title="Comparison"
				name="fleet-compare"
				said={
					total && ready
						? `${signed(bytes(total.bytes_delta))}: ` +
							`${bytes(total.before_bytes)} before, ` +
							`${bytes(total.after_bytes)} after`
						: "two builds, days, hosts or labels beside each other"
				}
				tools={
					<Choice
						label="Which bytes"
						value={measure}
						options={MEASURES.filter(([key]) => key !== "alive")}
						onChange={(key) => go({ measure: key === "peak" ? "" : key })}
					/>
				}>
				<div class="fleet-sides">
					<Choice
						label="Sides are"
						value={rows}
						options={ROWS.map(([key, many]) => [key, many] as const)}
						onChange={(key) => go({ rows: key, a: "", b: "" })}
					/>
					{rows === "label" && <LabelName />}
					<Side id={id} name="a" rows={rows} label={label} />
					<Side id={id} name="b" rows={rows} label={label} />
					{ready && (
						<button type="button" class="button" onClick={() => go({ a: b, b: a })}>
							Swap
						</button>
					)}
				</div>
				{ready ? (
					<>
						<PictureTools />
						<Answered what="The difference" answer={flame} lines={12}>
							{() =>
								tree &&
								(tree.count < 2 ? (
									<Empty title="There is nothing on either side" />
								) : (
									<Picture tree={tree} />
								))
							}
						</Answered>
					</>
				) : (
					<Empty title="Choose both sides">
						A side is what one build, release, host, label or day held, in everything
						that the question above leaves.
					</Empty>
				)}
			</Card>
			{ready && (
				<Card
					title="What changed"
					name="fleet-changed"
					said={changes.data ? plural(changed.length, "function") : ""}>
					<Answered what="What changed" answer={changes} lines={8}>
						{(d) =>
							changed.length ? (
								<Table
									label="What changed"
									columns={columns}
									count={changed.length}
									row={(i) => changed[i]}
									subject={`${a} ${b} ${measure}`}
									nouns={
										d.function_total > changed.length
											? `functions, of ${count(d.function_total)}`
											: "functions"
									}
									height={420}
								/>
							) : (
								<Empty title="Both sides hold the same" />
							)
						}
					</Answered>
				</Card>
			)}
		</>
	);
}
