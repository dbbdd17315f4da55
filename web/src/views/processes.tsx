// SPDX-License-Identifier: MIT OR Apache-2.0
// A folder of recordings as one: the tree of processes with their sums, which functions hold the
// memory of all of them, and one flame graph.  A process leads to the Overview of its recording.
import { useMemo } from "preact/hooks";
import type { ProcessesFlameQuery, ProcessesQuery } from "../app/endpoints";
import { dataUrl, find, useData, useRecordings } from "../app/recordings";
import { go, goTo, href, useRoute } from "../app/url";
import { Card, Choice } from "../parts/card";
import { FlameTable } from "../parts/flame/table";
import { KIND, searchPattern, Tree, type FlameAnswer } from "../parts/flame/tree";
import { openMenu, type Item } from "../parts/menu";
import { Bytes, Count } from "../parts/number";
import { Search } from "../parts/search";
import { Share } from "../parts/spark";
import { Answered, Empty, Skeleton } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { bytes, duration, middle, percent, plural } from "../parts/units";
import { arranged, type ProcessesAnswer, type Process } from "./process_rows";
import { copyStack, foldItems, FramesChoice, Graph, togglePin, useTree } from "./flame";

const MEASURES = [
	["peak", "peak", "alive at each process's own peak"],
	["leaked", "never freed", "alive at each process's end"],
	["allocated", "allocated", "everything, freed or not"],
	["temporary", "temporary", "freed by the very next event of its thread"],
] as const;
const SHOWN = 20; /* functions */

const overview = (id: string): string => href({ view: "overview", id });

function ended(p: Process): string {
	if (p.running) return "still runs";
	if (p.exit_signal) return `signal ${p.exit_signal}`;
	if (p.exit_status) return `exit ${p.exit_status}`;
	return p.truncated ? "its end is missing" : "";
}

function Name({ process: p, flat }: { process: Process; flat: boolean }) {
	const how = p.became
		? "became "
		: p.origin === "fork" && p.title === p.command
			? "fork of "
			: "";
	return (
		<div
			class="process two-lines"
			style={{ paddingLeft: flat ? 0 : `${Math.min(p.depth, 12) * 18}px` }}>
			<span title={p.command}>
				{how && <span class="dim">{how}</span>}
				<a
					href={overview(p.id)}
					class="strong"
					onClick={(event) => event.stopPropagation()}>
					{middle(p.title, 120)}
				</a>
			</span>
			<span class={p.running ? "live" : p.exit_signal || p.exit_status ? "bad" : "dim"}>
				{[`pid ${p.pid}`, ended(p)].filter(Boolean).join(" · ")}
			</span>
		</div>
	);
}

function Rows({ answer }: { answer: ProcessesAnswer }) {
	const { parameters } = useRoute();
	const sort = parameters["sort"] ?? "",
		search = parameters["find"] ?? "";
	const rows = useMemo(() => arranged(answer.recordings, sort, search), [answer, sort, search]);
	const most = Math.max(1, ...answer.recordings.map((p) => p.peak_bytes));
	const number = (
		key: keyof Process & string,
		label: string,
		title: string,
		cell: (p: Process) => preact.ComponentChildren,
		width = "96px",
	): Column<Process> => ({
		key,
		label,
		title,
		number: true,
		sort: true,
		width,
		cell,
		text: (p) => String(p[key] ?? ""),
	});
	const columns: Column<Process>[] = [
		{
			key: "title",
			label: "process",
			width: "minmax(220px, 2fr)",
			sort: true,
			ascending: true,
			cell: (p) => <Name process={p} flat={sort !== "" || search !== ""} />,
			text: (p) => p.title,
		},
		number(
			"peak_bytes",
			"peak",
			"The most that was alive in it",
			(p) => (
				<Share part={p.peak_bytes} whole={most}>
					<Bytes
						value={p.peak_bytes}
						to={href({ view: "flame", id: p.id }, { measure: "peak" })}
					/>
				</Share>
			),
			"minmax(108px, 0.6fr)",
		),
		number("leaked_bytes", "never freed", "Alive at its end", (p) => (
			<Bytes
				value={p.leaked_bytes}
				to={href({ view: "flame", id: p.id }, { measure: "leaked" })}
			/>
		)),
		number("peak_rss", "RSS", "The most of it that was resident", (p) =>
			p.peak_rss === null ? <span class="dim">–</span> : <Bytes value={p.peak_rss} />,
		),
		number("allocations", "allocations", "All that it allocated", (p) => (
			<Count value={p.allocations} />
		)),
		number("start", "start", "After the first one's start", (p) =>
			duration(p.start - answer.total.start),
		),
		number("runtime_ns", "run time", "", (p) => duration(p.runtime_ns / 1e9)),
	];
	return (
		<>
			<div class="flame-tools">
				<Search label="Search processes" placeholder="Search processes" name="find" />
				{sort && (
					<a class="link" href={href({}, { sort: "" })}>
						Show the tree
					</a>
				)}
			</div>
			{rows.length ? (
				<Table
					label="Processes"
					columns={columns}
					count={rows.length}
					row={(i) => rows[i]}
					subject={`${sort} ${search}`}
					sort={sort}
					onSort={(next) => go({ sort: next })}
					rowHeight={44}
					height={Math.min(540, 60 + 44 * rows.length)}
					nouns={rows.length === 1 ? "recording" : "recordings"}
					onOpen={(p) => goTo(overview(p.id))}
					onMenu={(p, _i, x, y) =>
						openMenu(x, y, middle(p.title, 60), [
							{ label: "Open", href: overview(p.id) },
							{ label: "Flame graph", href: href({ view: "flame", id: p.id }) },
							{ label: "Allocations", href: href({ view: "allocations", id: p.id }) },
						])
					}
				/>
			) : (
				<Empty title={`No process fits “${search}”`}>
					<a class="link" href={href({}, { find: "" })}>
						Show all
					</a>
				</Empty>
			)}
		</>
	);
}

type Holder = NonNullable<ProcessesAnswer["held"]>["holders"][number];

function Holders({ answer }: { answer: ProcessesAnswer }) {
	const { held } = answer;
	const name = useMemo(() => new Map(answer.recordings.map((p) => [p.id, p] as const)), [answer]);
	if (!held?.holders.length) return <Empty title="Nothing was held">No block counts here.</Empty>;
	const columns: Column<Holder>[] = [
		{
			key: "function",
			label: "function",
			width: "minmax(200px, 2fr)",
			cell: (h) => (
				<div class="two-lines">
					<span title={h.function}>{middle(h.function, 100)}</span>
					<span class="dim">{h.module}</span>
				</div>
			),
			text: (h) => h.function,
		},
		{
			key: "bytes",
			label: "bytes",
			number: true,
			width: "minmax(108px, 0.6fr)",
			cell: (h) => (
				<Share part={h.bytes} whole={held.bytes}>
					<Bytes value={h.bytes} />
				</Share>
			),
			text: (h) => String(h.bytes),
		},
		{
			key: "count",
			label: "blocks",
			number: true,
			cell: (h) => <Count value={h.count} />,
			text: (h) => String(h.count),
		},
		{
			key: "processes",
			label: "processes",
			title: "That have any of it",
			number: true,
			cell: (h) => <Count value={h.processes} />,
			text: (h) => String(h.processes),
		},
		{
			key: "most_in",
			label: "most in",
			width: "minmax(160px, 1fr)",
			cell: (h) => (
				<a class="link" href={overview(h.most_in)}>
					{middle(name.get(h.most_in)?.title ?? "", 60)}
				</a>
			),
			text: (h) => h.most_in,
		},
	];
	return (
		<Table
			label="Who holds the memory"
			columns={columns}
			count={held.holders.length}
			row={(i) => held.holders[i]}
			rowHeight={44}
			height={Math.min(420, 60 + 44 * held.holders.length)}
			nouns={held.holders.length === 1 ? "function" : "functions"}
			onOpen={(h) => goTo(overview(h.most_in))}
		/>
	);
}

function Flame({ tree, rows }: { tree: Tree; rows: readonly Process[] }) {
	const { parameters } = useRoute();
	const search = parameters["search"];
	const menu = (of: Tree, box: number): Item[] => {
		const name = of.text(box);
		const opened = rows.filter((p) => p.title === name);
		return [
			...(of.kind(box) === KIND.process && opened.length
				? opened
						.slice(0, 5)
						.map((p) => ({ label: `Open process ${p.pid}`, href: overview(p.id) }))
				: []),
			...foldItems(of, box),
			{ label: "Zoom in", href: href({}, { zoom: of.key(box) }) },
			{ label: "Pin", hint: "p", run: () => togglePin(of, box) },
			{ label: "Copy the stack", hint: "c", run: () => copyStack(of, box) },
		];
	};
	if (tree.count < 2 || tree.width[0] === 0)
		return <Empty title="Nothing to show">No block counts here.</Empty>;
	return parameters["as"] === "table" ? (
		<FlameTable
			tree={tree}
			menu={(box, x, y) => openMenu(x, y, middle(tree.text(box), 60), menu(tree, box))}
		/>
	) : (
		<Graph
			tree={tree}
			search={search}
			zoomKey={parameters["zoom"]}
			pins={parameters["pin"]}
			menu={menu}
		/>
	);
}

function Folder({ id }: { id: string }) {
	const { parameters } = useRoute();
	const measure = (parameters["measure"] ?? "peak") as NonNullable<ProcessesQuery["measure"]>,
		weight = (parameters["weight"] ?? "bytes") as NonNullable<ProcessesFlameQuery["weight"]>;
	const answer = useData<ProcessesAnswer>(
		dataUrl(id, "/folders/{id}/processes", { top: SHOWN, measure }),
	);
	const flame = useData<FlameAnswer>(dataUrl(id, "/folders/{id}/flame", { measure, weight }));
	const tree = useTree(flame.data);
	const search = parameters["search"],
		pattern = searchPattern(search ?? "");
	const found = useMemo(
		() => (tree && pattern ? tree.search(pattern) : undefined),
		[tree, search],
	);
	const total = answer.data?.total;
	const when = MEASURES.find(([key]) => key === measure)?.[2];
	return (
		<>
			<Card
				title={middle(find(id)?.name ?? "Processes", 60)}
				name="processes"
				said={
					total &&
					[
						plural(total.processes, "process", "processes"),
						total.recordings > total.processes && plural(total.recordings, "program"),
						total.running > 0 && `${total.running} still running`,
						`peaks of ${bytes(total.peak_bytes)}, at most ` +
							`${bytes(total.together_bytes)} at once`,
						`${bytes(total.leaked_bytes)} never freed`,
						duration(total.runtime_ns / 1e9),
					]
						.filter(Boolean)
						.join(" · ")
				}>
				<Answered what="The processes" answer={answer} lines={8}>
					{(data) => <Rows answer={data} />}
				</Answered>
			</Card>
			<Card
				title="Who holds the memory"
				name="process-holders"
				said={
					answer.data?.held &&
					`${bytes(answer.data.held.bytes)} in ` +
						`${plural(answer.data.held.count, "block")} of all processes, ${when}`
				}
				tools={
					<Choice
						label="Measure"
						value={measure}
						options={MEASURES}
						onChange={(key) => go({ measure: key === "peak" ? "" : key })}
					/>
				}>
				<Answered what="Who holds the memory" answer={answer} lines={8}>
					{(data) => <Holders answer={data} />}
				</Answered>
			</Card>
			<Card
				title="All processes"
				name="process-flame"
				said={tree && `${bytes(tree.answer.total.bytes)}, ${when}`}
				tools={
					<>
						<Choice
							label="Weight"
							value={weight}
							options={[
								["bytes", "bytes"],
								["count", "blocks"],
							]}
							onChange={(key) => go({ weight: key === "bytes" ? "" : key })}
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
					</>
				}>
				<div class="flame-tools">
					<Search label="Search in the flame graph" placeholder="Search functions" />
					{found && tree && (
						<span class="dim" role="status">
							{found.boxes
								? `${percent(found.weight, tree.value(0))} in ` +
									plural(found.boxes, "box", "boxes")
								: "no function fits"}
						</span>
					)}
				</div>
				<Answered what="The flame graph" answer={flame} lines={12}>
					{() => tree && <Flame tree={tree} rows={answer.data?.recordings ?? []} />}
				</Answered>
			</Card>
		</>
	);
}

export function Processes() {
	const { id } = useRoute();
	const { list } = useRecordings();
	const folder = id ? find(id) : list?.find((r) => r.kind === "processes");
	if (!list) return <Skeleton />;
	if (folder?.kind !== "processes")
		return (
			<Card title="Processes" name="processes">
				<Empty title="The server has no folder of processes">
					<code>memoir run --children -o folder/ -- ./app</code> makes one,{" "}
					<code>memoir server folder/</code> opens it.{" "}
					<a class="link" href={href({ view: "recordings", id: "" })}>
						All recordings
					</a>
				</Empty>
			</Card>
		);
	return <Folder key={folder.id} id={folder.id} />;
}
