// SPDX-License-Identifier: MIT OR Apache-2.0
// The first view of a recording: how much, when, who, why.  First the sentences; then the figures
// that people came for, each leading to what it counts; then who holds the memory, with verdicts;
// then the graphs, which show the stretch that the brush of the strip chose.  All of them are of
// what the question and the brush choose, and their links keep both; only the process's own memory
// and the last card are of the recording itself.
import type { Answer } from "../app/api";
import { useFacts, useMatched, useVerdicts } from "../app/facts";
import type { Overview as Facts, Top, Verdict } from "../app/types";
import { go, href, route, useRoute } from "../app/url";
import { adding, alone } from "../parts/adding";
import { Card, Choice } from "../parts/card";
import { openMenu } from "../parts/menu";
import { Bytes, Count } from "../parts/number";
import { Answered, Banner, Empty } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { quote, withTerm } from "../parts/terms";
import {
	bytes,
	count,
	date,
	duration,
	exact,
	middle,
	percent,
	plural,
	short,
} from "../parts/units";
import { has } from "./names";
import { Graphs } from "./overview_graphs";
import { Sentences } from "./overview_sentences";
import { nameOf, whoseItems } from "../parts/whose";
import { VERDICT_WORDS } from "../parts/verdict";
import type { ViewProps } from "./views";

export function Overview({ id }: ViewProps) {
	const facts = useFacts(id),
		matched = useMatched(id);
	const verdicts = useVerdicts(id, facts.data);
	return (
		<Answered what="The overview" answer={facts} lines={10}>
			{(data) => (
				<div class="stack">
					{data.warnings
						.filter((w) => w.kind !== "no_symbols")
						.map((w) => (
							<Banner key={w.kind + w.text}>
								{w.text}
								{w.modules?.length ? (
									<span class="dim">
										{" "}
										{w.modules.slice(0, 8).join(", ")}
										{w.modules.length > 8
											? ` and ${w.modules.length - 8} more`
											: ""}
									</span>
								) : null}
							</Banner>
						))}
					<Sentences quick={matched.answer} whole={verdicts} />
					<Answered what="What matches" answer={matched.answer} lines={4}>
						{(of) => (
							<Glance
								facts={of}
								whole={data}
								part={matched.part}
								verdicts={verdicts}
							/>
						)}
					</Answered>
					<div class="pair">
						<Answered what="Who holds what matches" answer={matched.answer} lines={6}>
							{(of) => (
								<Who
									facts={of}
									part={matched.part}
									verdicts={verdicts.data?.verdicts ?? []}
								/>
							)}
						</Answered>
						<Graphs id={id} facts={data} />
					</div>
					<About facts={data} />
				</div>
			)}
		</Answered>
	);
}

/* What a row is about: all stacks of its function. */
const responsible = (r: { function: string; backtrace_id: number }): string =>
	r.backtrace_id ? `responsible = ${quote(r.function)}` : "backtrace = 0";

/* Six figures, each with the sentence that makes it mean something. */
function Glance({
	facts: f,
	whole,
	part,
	verdicts,
}: {
	facts: Facts;
	whole: Facts;
	part: boolean;
	verdicts: Answer<Facts>;
}) {
	const { from, to } = useRoute().parameters;
	const seconds = (to ? Number(to) : whole.runtime_ns / 1e9) - (from ? Number(from) : 0);
	const flame = (measure: string): string => href({ view: "flame" }, { measure });
	const counts = verdicts.data?.verdict_counts ?? {};
	const growing = counts["growing"] ?? 0;
	const grows = (verdicts.data?.verdicts ?? []).filter((v) => v.class === "growing");
	const rate = grows
		.filter((v) => v.bytes_per_second > 0 && (v.fit ?? 0) >= 0.8)
		.reduce((sum, v) => sum + v.bytes_per_second, 0);
	const others = Object.entries(counts)
		.filter(([key, n]) => n && key !== "growing")
		.map(([key, n]) => `${n} ${VERDICT_WORDS[key as Verdict["class"]] ?? key}`)
		.join(", ");
	return (
		<section class="glance" aria-label="At a glance">
			<Figure name="Peak" value={<Bytes value={f.peak.bytes} to={flame("peak")} />}>
				{plural(f.peak.count, "block")}
				{part ? " of it when the program had most," : ""} at{" "}
				<a class="number" href={href({}, { at: String(f.peak.at_ns / 1e9) })}>
					{duration(f.peak.at_ns / 1e9)}
				</a>
			</Figure>
			<Resident facts={whole} />
			<Figure
				name="Never freed"
				value={<Bytes value={f.leaked.bytes} to={flame("leaked")} />}
				bad={growing > 0}>
				{plural(f.leaked.count, "block")}, {percent(f.leaked.bytes, whole.peak.bytes)} of
				the {part ? "program's " : ""}peak
			</Figure>
			{verdicts.data ? (
				<Figure
					name="Leak verdicts"
					value={
						<a class="number" href={href({ view: "leaks" })}>
							{growing ? `${growing} growing` : "none growing"}
						</a>
					}
					bad={growing > 0}>
					{growing
						? rate && growing === grows.length
							? `${bytes(rate)}/s in all`
							: `${bytes(verdicts.data.verdict_bytes?.["growing"] ?? 0)} in all`
						: verdicts.data.small?.grows
							? `small ones grow together: ` +
								`${bytes(verdicts.data.small.late_bytes)} in the last half`
							: others || "nothing that matters was left"}
				</Figure>
			) : verdicts.error ? (
				<Figure name="Leak verdicts" value="–">
					{verdicts.error.message}
				</Figure>
			) : (
				<Figure
					name="Leak verdicts"
					value={
						<span class="dim" role="status">
							…
						</span>
					}>
					being worked out
				</Figure>
			)}
			<Figure
				name={part ? "Allocated" : "Allocated in all"}
				value={<Bytes value={f.allocated_bytes} to={flame("allocated")} />}>
				{plural(f.allocations, "allocation")}
				{seconds > 0 ? `, ${short(f.allocations / seconds)}/s` : ""}
			</Figure>
			<Figure name="Temporary" value={<Count value={f.temporary} to={flame("temporary")} />}>
				{percent(f.temporary, f.allocations)} of the allocations are freed by the next call
				of their thread
				{f.heaptrack_temporary
					? `; heaptrack counts ${f.heaptrack_temporary.toLocaleString("en")}`
					: ""}
			</Figure>
		</section>
	);
}

/* Of the whole process, whatever is asked; nothing where no sample was taken. */
function Resident({ facts: { memory, peak } }: { facts: Facts }) {
	const { rss, mapped } = memory;
	if (!rss) return null;
	return (
		<Figure
			name="Resident"
			value={
				<Bytes
					value={rss.bytes}
					to={href({}, { series: "rss", at: String(rss.at_ns / 1e9) })}
				/>
			}>
			most that was seen, at {duration(rss.at_ns / 1e9)}
			{mapped && mapped.bytes > peak.bytes / 100
				? `; ${bytes(mapped.bytes)} mapped by the program itself`
				: ""}
		</Figure>
	);
}

function Figure({
	name,
	value,
	bad,
	children,
}: {
	name: string;
	value: preact.ComponentChildren;
	bad?: boolean;
	children: preact.ComponentChildren;
}) {
	return (
		<div class="figure">
			<h2>{name}</h2>
			<p class={bad ? "figure-value bad" : "figure-value"}>{value}</p>
			<p class="dim">{children}</p>
		</div>
	);
}

type Kind = "leaked" | "peak" | "allocated" | "temporary";
const KINDS: readonly (readonly [Kind, string, string])[] = [
	["peak", "at the peak", "alive when the program had most"],
	["leaked", "never freed", "alive at the end"],
	["allocated", "allocated", "everything, freed or not"],
	["temporary", "temporary", "freed by the next call"],
];

interface Row extends Top {
	verdict?: Verdict;
}

/* The stacks that weigh most, with what is known about each. */
function Who({
	facts: f,
	part,
	verdicts: known,
}: {
	facts: Facts;
	part: boolean;
	verdicts: Verdict[];
}) {
	const { parameters } = useRoute();
	const kind =
		KINDS.find(([key]) => key === parameters["who"])?.[0] ??
		(f.leaked.bytes > f.peak.bytes / 2 ? "leaked" : "peak");
	/* The worst of a function's stacks: they come in that order. */
	const verdicts = new Map([...known].reverse().map((v) => [v.function, v]));
	const rows: Row[] = (f.top[kind] ?? []).map((t) => {
		const verdict = verdicts.get(t.function);
		return verdict ? { ...t, verdict } : t;
	});
	const whole = {
		peak: f.peak.bytes,
		leaked: f.leaked.bytes,
		allocated: f.allocated_bytes,
		temporary: rows.reduce((sum, r) => sum + r.bytes, 0),
	}[kind];
	const ask = (r: Row, view: string): string =>
		adding(responsible(r), view, view === "flame" ? { measure: kind } : {});
	const most = Math.max(1, ...rows.map((r) => r.bytes));
	const columns: Column<Row>[] = [
		{
			key: "function",
			label: "allocated in",
			width: "minmax(220px, 1fr)",
			cell: (r) => (
				<div class="two-lines">
					<a
						class="strong"
						href={ask(r, "flame")}
						title={r.function}
						onClick={(event) => event.stopPropagation()}>
						{middle(r.function, 110)}
					</a>
					<span class="dim" title={r.source}>
						{r.source
							? `${r.source.split("/").pop()}${r.line ? `:${r.line}` : ""}`
							: ""}
					</span>
				</div>
			),
		},
		{
			key: "bytes",
			label: "bytes",
			number: true,
			width: "136px",
			cell: (r) => (
				<div>
					<Bytes value={r.bytes} to={ask(r, "flame")} />
					<div class="bar" aria-hidden="true">
						<i style={{ width: `${(100 * r.bytes) / most}%` }} />
					</div>
				</div>
			),
		},
		{
			key: "share",
			label: "share",
			number: true,
			width: "72px",
			cell: (r) => percent(r.bytes, whole),
		},
		{
			key: "blocks",
			label: "blocks",
			number: true,
			width: "104px",
			cell: (r) => <Count value={r.count} to={ask(r, "flame")} />,
		},
		{
			key: "verdict",
			label: "verdict",
			width: "minmax(140px, 260px)",
			cell: (r) =>
				r.verdict && (
					<span
						class={
							r.verdict.class === "growing" && r.verdict.matters ? "tag bad" : "tag"
						}
						title={r.verdict.evidence}>
						{words(r.verdict)}
					</span>
				),
		},
	];
	return (
		<Card
			title="Who holds it"
			name="who"
			said={
				`${plural(f.stacks, "stack")} ` +
				`${part ? (f.stacks === 1 ? "matches" : "match") : "in all"}, the heaviest ` +
				plural(rows.length, "function")
			}
			tools={
				<>
					<Choice
						label="By"
						value={kind}
						options={KINDS}
						onChange={(key) => go({ who: key })}
					/>
				</>
			}>
			{rows.length ? (
				<Table
					label="Who holds it"
					columns={columns}
					count={rows.length}
					row={(i) => rows[i]}
					rowHeight={48}
					onOpen={(r) => {
						location.hash = ask(r, "flame");
					}}
					onMenu={(r, _i, x, y) =>
						openMenu(x, y, middle(r.function, 60), [
							{ label: "Flame graph of this stack", href: ask(r, "flame") },
							...(has("allocations")
								? [{ label: "Its allocations", href: ask(r, "allocations") }]
								: []),
							{
								label: "Ask about this function",
								href: href(
									{},
									{
										filter: withTerm(
											route().parameters["filter"],
											responsible(r),
										),
									},
								),
							},
							...(r.kind
								? whoseItems({ name: nameOf(r.function) }, r.kind === "program")
								: []),
							{
								label: "Everything but this function",
								href: href(
									{},
									{
										filter: withTerm(
											route().parameters["filter"],
											`not ${responsible(r)}`,
										),
									},
								),
							},
						])
					}
				/>
			) : (
				<Empty
					title={
						kind === "leaked"
							? part
								? "All that matches was freed"
								: "Everything was freed"
							: "There is nothing"
					}
				/>
			)}
		</Card>
	);
}

function words(v: Verdict): string {
	switch (v.class) {
		case "growing":
			return v.bytes_per_second > 0 ? `grows ${bytes(v.bytes_per_second)}/s` : "grows";
		case "unclear":
			return "unclear";
		case "bounded":
			return `bounded at ${bytes(v.most_bytes)}`;
		case "sawtooth":
			return "sawtooth";
		case "pool":
			return "kept on purpose";
		default:
			return "start-up";
	}
}

const SYMBOLS: Record<string, string> = {
	lines: "functions and lines",
	functions: "functions",
	exported: "exported names only",
	none: "no symbols",
};

/* Everything else that is known, at the end: it is read once. */
function About({ facts: f }: { facts: Facts }) {
	const end = f.exit_signal
		? `killed by signal ${f.exit_signal}`
		: f.exit_status !== undefined
			? `exit status ${f.exit_status}`
			: (f.end_reason ?? "");
	const rows: [string, preact.ComponentChildren][] = [
		["Command", <code key="c">{f.cmdline.join(" ")}</code>],
		["Executable", <code key="e">{f.executable}</code>],
		[
			"Process",
			`pid ${f.pid}${f.hostname ? ` on ${f.hostname}` : ""}, ${f.architecture}` +
				(f.allocator ? `, allocator in ${f.allocator.split("/").pop()}` : ""),
		],
		[
			"Started",
			`${date(f.start_ms / 1000)}, ran ${duration(f.runtime_ns / 1e9)}` +
				(end ? `, ${end}` : ""),
		],
		[
			"Threads",
			has("threads") ? (
				<a key="t" class="link" href={href({ view: "threads" })}>
					{count(f.threads)}
				</a>
			) : (
				count(f.threads)
			),
		],
		[
			"Events",
			<>
				{count(f.events)}:{" "}
				<a class="link" href={alone("", "allocations", { list: "flat" })}>
					{count(f.allocations)} allocations
				</a>
				{`, ${count(f.reallocations)} reallocations, ` +
					`${count(f.deallocations)} deallocations`}
			</>,
		],
		[
			"Stacks",
			<>
				<a class="link" href={alone("", "allocations")}>
					{count(f.stacks)} different
				</a>
				{`, at most ${f.deepest_stack} deep` +
					(f.without_stack ? `; ${count(f.without_stack)} allocations without one` : "")}
			</>,
		],
		[
			"File",
			<span key="f" title={exact(f.file_size)}>
				{f.name}, {bytes(f.file_size)}
				{f.recorded_by
					? `, recorded by memoir ${f.recorded_by.replace(/^memoir /, "")}`
					: ""}
			</span>,
		],
	];
	return (
		<Card title="This recording" name="about">
			<dl class="facts">
				{rows.map(([name, value]) => (
					<div key={name}>
						<dt>{name}</dt>
						<dd>{value}</dd>
					</div>
				))}
			</dl>
			<details class="modules">
				<summary>{plural(f.modules.length, "module")}</summary>
				<ul>
					{[...f.modules]
						.sort((a, b) => b.places - a.places)
						.map((m) => (
							<li key={m.name}>
								{m.places ? (
									<a
										class="link"
										href={alone(`module = ${quote(m.name)}`, "functions", {
											measure: "allocated",
										})}>
										{m.name}
									</a>
								) : (
									<span>{m.name}</span>
								)}
								<span class={m.symbols === "none" ? "bad" : "dim"}>
									{SYMBOLS[m.symbols] ?? m.symbols}
								</span>
								<span class="right dim">{plural(m.places, "place")}</span>
							</li>
						))}
				</ul>
			</details>
		</Card>
	);
}
