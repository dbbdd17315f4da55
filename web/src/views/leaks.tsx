// SPDX-License-Identifier: MIT OR Apache-2.0
// Is it a leak?  What each function with blocks that were not freed did over the run: what grows
// first, with its curve, its rate and the figures that made the verdict.  What libraries keep on
// purpose, and what is too small to matter, is folded away with its figure.
import type { LeaksQuery } from "../app/endpoints";
import { useFacts } from "../app/facts";
import { nsToSeconds, useAsked } from "../app/recordings";
import type { Verdict } from "../app/types";
import { go, href, useRoute } from "../app/url";
import { adding } from "../parts/adding";
import { Card } from "../parts/card";
import { copy } from "../parts/clipboard";
import { asker, shortName, type Frame } from "../parts/frames";
import { openMenu, type Item } from "../parts/menu";
import { Nothing } from "../parts/nothing";
import { Bytes, Count } from "../parts/number";
import { usePages } from "../parts/pages";
import { Share, Spark, Two } from "../parts/spark";
import { Chain, stackText } from "../parts/stack";
import { Answered } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { bytes, count, duration, middle, percent, plural } from "../parts/units";
import { whoseItems } from "../parts/whose";
import { callersOf } from "./callers";
import type { ViewProps } from "./views";
import { VERDICT_WORDS } from "../parts/verdict";
import "../style/leaks.css";

interface Leak extends Verdict {
	reason?: "stopped" | "level" | "slowing";
	pool?: string;
	filter?: string;
	function: string;
	source?: string;
	line?: number;
	freed_at_exit: boolean;
	kept_count: number;
	first_ns: number;
	grown_ns: number;
	fit: number;
	rate_is_late: boolean;
	drops: number;
	backtrace: Frame[];
	spark?: number[];
}

/* Whose the function that leads shall be. */
function whoseOf(v: Leak): Item[] {
	const frame = asker(v.backtrace);
	return frame
		? whoseItems({ name: frame.function, module: frame.library }, frame.kind === "program")
		: [];
}

interface Answer {
	work_end_ns: number;
	verdict_counts: Record<string, number>;
	verdict_bytes: Record<string, number>;
	small: { functions: number; stacks: number; bytes: number; count: number; grows: boolean };
	held: { bytes: number; count: number; matters: boolean };
	total_count: number;
	verdicts: Leak[];
}

const sizeOf = (v: Leak): number => (v.freed_at_exit ? v.kept_bytes : v.leaked_bytes);
const blocksOf = (v: Leak): number => (v.freed_at_exit ? v.kept_count : v.leaked_count);
/* A line through it says something: as the evidence has it. */
const isSteady = (v: Leak): boolean => v.bytes_per_second > 0 && v.fit >= 0.8;
/* Red is for what should be looked at, amber for what may have to be. */
const tone = (v: Leak): string =>
	!v.matters
		? "tag"
		: v.class === "growing"
			? "tag bad"
			: v.class === "unclear"
				? "tag warn"
				: "tag";

/* The frames from the responsible one outwards, and the call, which stays the last. */
function outwards(v: Leak): Frame[] {
	const at = v.backtrace.map((f) => f.function).lastIndexOf(v.function);
	const call = v.backtrace[v.backtrace.length - 1];
	return at < 0 || !call ? v.backtrace : [...v.backtrace.slice(0, at + 1), call];
}

/* What is most worth knowing about its growth, and since when. */
function pace(v: Leak): [preact.ComponentChildren, preact.ComponentChildren] {
	const moment = (ns: number) => (
		<a class="number" href={href({}, { at: nsToSeconds(ns) })}>
			{duration(ns / 1e9)}
		</a>
	);
	switch (v.class) {
		case "growing":
			return [
				isSteady(v) ? `${bytes(v.bytes_per_second)}/s` : "unsteadily",
				v.rate_is_late ? "in the last half" : <>since {moment(v.first_ns)}</>,
			];
		case "unclear":
			return ["grew until", v.kept_count ? moment(v.grown_ns) : "the end"];
		case "bounded":
			return v.reason === "level"
				? ["no higher", "than before"]
				: v.reason === "slowing"
					? ["slows down", `at ${bytes(v.most_bytes)}`]
					: ["bounded from", moment(v.grown_ns)];
		case "sawtooth":
			return [`emptied ${count(v.drops)} times`, `at most ${bytes(v.most_bytes)}`];
		case "pool":
			return ["", ""];
		default:
			return ["complete after", moment(v.grown_ns)];
	}
}

function Heading({ answer, shown }: { answer: Answer; shown: readonly Leak[] }) {
	const counts = answer.verdict_counts;
	const growing = counts["growing"] ?? 0;
	const rate = shown
		.filter((v) => v.class === "growing" && v.matters && isSteady(v))
		.reduce((sum, v) => sum + v.bytes_per_second, 0);
	const others = (["unclear", "bounded", "sawtooth", "start-up"] as const)
		.filter((key) => counts[key])
		.map((key) => `${count(counts[key]!)} ${VERDICT_WORDS[key]}`);
	return (
		<>
			{growing ? (
				<span class="bad">
					{growing === 1 ? "1 function grows" : `${count(growing)} functions grow`}
					{`, ${bytes(answer.verdict_bytes["growing"] ?? 0)}`}
					{rate > 0 ? `, ${bytes(rate)}/s steadily` : ""}
				</span>
			) : (
				<span>
					{answer.small.grows
						? "No single function that matters grows"
						: "Nothing that matters grows"}
				</span>
			)}
			{answer.small.grows && <span class="leaks-warn"> · small ones grow together</span>}
			{others.length ? ` · ${others.join(" · ")}` : ""}
		</>
	);
}

/* What is not in the rows, each a switch. */
function Folded({ answer }: { answer: Answer }) {
	const { parameters } = useRoute();
	const pools = answer.verdict_counts["pool"] ?? 0;
	const { small, held } = answer;
	const rows: [key: string, there: boolean, text: string, title: string][] = [
		[
			"all",
			small.functions > 0,
			`Small: ${bytes(small.bytes)} in ${plural(small.functions, "function")}`,
			"Too little beside the program's peak to matter",
		],
		[
			"pools",
			pools > 0,
			`On purpose: ${bytes(answer.verdict_bytes["pool"] ?? 0)} in ${plural(pools, "pool")}`,
			"Kept on purpose by libraries: no leaks",
		],
		[
			"held",
			held.count > 0,
			`Held: ${bytes(held.bytes)} in ${plural(held.count, "block")}`,
			"Alive until the program's work was done, and freed at exit",
		],
	];
	const shown = rows.filter(([key, there]) => there || parameters[key]);
	return (
		<div class="leaks-folded" role="group" aria-label="Shown, too">
			{shown.length > 0 && <span class="dim">Show, too:</span>}
			{shown.map(([key, , text, title]) => (
				<button
					type="button"
					class="button"
					key={key}
					data-fold={key}
					title={title}
					aria-pressed={Boolean(parameters[key])}
					onClick={() => go({ [key]: parameters[key] ? "" : "1" })}>
					{text}
				</button>
			))}
		</div>
	);
}

export function Leaks({ id }: ViewProps) {
	const { parameters } = useRoute();
	const asked = useAsked();
	const peak = useFacts(id).data?.peak.bytes ?? 0;
	const query: LeaksQuery = { spark: 80 };
	if (parameters["all"]) query.all = true;
	if (parameters["held"]) query.held = true;
	const pages = usePages(
		id,
		"/data/{id}/leaks",
		{ ...asked, ...query },
		(answer: Answer) => ({ rows: answer.verdicts, count: answer.total_count }),
		60,
		true,
	);
	const answer = pages.answer.data;
	/* They come last. */
	const rows = parameters["pools"]
		? pages.count
		: pages.count - (answer?.verdict_counts["pool"] ?? 0);
	const ask = (v: Leak, view: string): string =>
		adding(
			[
				v.freed_at_exit ? `alive_at(${answer?.work_end_ns ?? 0}ns)` : "leaked",
				v.filter ?? `backtrace = ${v.backtrace_id}`,
			].join(" and "),
			view,
			view === "flame" ? { measure: "allocated", at: "" } : { at: "" },
		);
	const columns: Column<Leak>[] = [
		{
			key: "function",
			label: "function",
			width: "minmax(260px, 1fr)",
			text: (v) => v.function,
			cell: (v) => (
				<>
					<span class="who">
						<a
							class="strong"
							href={ask(v, "flame")}
							title={v.function}
							onClick={(event) => event.stopPropagation()}>
							{middle(shortName(v.function), 90)}
						</a>{" "}
						{v.stacks > 1 && <span class="dim">in {plural(v.stacks, "stack")}</span>}
					</span>
					<span class="who-below">
						<Chain frames={outwards(v)} from={1} />
					</span>
					<span class="who-below dim" title={v.evidence}>
						{v.evidence}
					</span>
				</>
			),
		},
		{
			key: "class",
			label: "verdict",
			width: "120px",
			text: (v) => v.class,
			cell: (v) => (
				<Two
					below={
						v.class === "unclear" || v.class === "pool"
							? ""
							: `${Math.round(v.confidence * 100)} % sure`
					}>
					<span class={tone(v)}>{VERDICT_WORDS[v.class]}</span>
				</Two>
			),
		},
		{
			key: "spark",
			label: "over the run",
			title: "Bytes alive over the run",
			width: "minmax(88px, 0.22fr)",
			cell: (v) => (
				<div class={v.class === "growing" && v.matters ? "leaks-curve bad" : "leaks-curve"}>
					<Spark values={v.spark} label={`bytes of ${v.function} alive over the run`} />
				</div>
			),
		},
		{
			key: "pace",
			label: "growth",
			title: "How fast it grows, or when it stopped",
			number: true,
			width: "108px",
			text: (v) => String(v.bytes_per_second),
			cell: (v) => {
				const [first, below] = pace(v);
				return <Two below={below}>{first}</Two>;
			},
		},
		{
			key: "bytes",
			label: "bytes",
			title: "Not freed, and as a share of the program's peak",
			number: true,
			width: "108px",
			text: (v) => String(sizeOf(v)),
			cell: (v) => (
				<Share part={sizeOf(v)} whole={peak}>
					<Bytes value={sizeOf(v)} to={ask(v, "allocations")} />
				</Share>
			),
		},
		{
			key: "blocks",
			label: "blocks",
			number: true,
			width: "88px",
			text: (v) => String(blocksOf(v)),
			cell: (v) => <Count value={blocksOf(v)} to={ask(v, "allocations")} />,
		},
	];
	const menu = (v: Leak, x: number, y: number): void =>
		openMenu(x, y, middle(shortName(v.function), 60), [
			{ label: "Its allocations", hint: bytes(sizeOf(v)), href: ask(v, "allocations") },
			{ label: "Its flame graph", href: ask(v, "flame") },
			{ label: "Callers and callees", href: callersOf(v.function) },
			...(v.filter
				? [
						{ label: "Only this", href: adding(v.filter) },
						{ label: "Without this", href: adding(`not (${v.filter})`) },
					]
				: []),
			...whoseOf(v),
			...(v.source
				? [
						{
							label: "Source",
							href: href(
								{ view: "source" },
								{ file: v.source, line: String(v.line ?? "") },
							),
						},
					]
				: []),
			{ label: "Copy the stack", run: () => void copy(stackText(v.backtrace), "Stack") },
		]);
	return (
		<Card
			name="leaks"
			title="Leaks"
			said={answer && <Heading answer={answer} shown={answer.verdicts} />}>
			<Answered what="The verdicts" answer={pages.answer} lines={10}>
				{(of) => (
					<>
						<Folded answer={of} />
						{rows > 0 ? (
							<Table
								label="Leaks"
								columns={columns}
								count={rows}
								row={pages.row}
								load={pages.load}
								onRange={pages.onRange}
								subject={pages.subject}
								rowHeight={64}
								nouns={rows === 1 ? "verdict" : "verdicts"}
								rowClass={(v) => (v.matters ? "" : "leaks-small")}
								onOpen={(v) => {
									location.hash = ask(v, "allocations");
								}}
								onMenu={(v, _, x, y) => menu(v, x, y)}
							/>
						) : (
							<Nothing
								title={
									of.small.functions || of.verdict_counts["pool"]
										? "Nothing that was not freed matters"
										: "Everything was freed"
								}>
								{of.held.matters && !parameters["held"]
									? `${bytes(of.held.bytes)}, ` +
										`${percent(of.held.bytes, peak)} of the peak, were ` +
										"held until the end and freed at exit."
									: of.small.functions || of.verdict_counts["pool"]
										? "The buttons above show the rest."
										: ""}
							</Nothing>
						)}
					</>
				)}
			</Answered>
		</Card>
	);
}
