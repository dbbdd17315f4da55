// SPDX-License-Identifier: MIT OR Apache-2.0
// Where resident memory goes: from the kernel's figure down to the bytes that were asked for, at
// the moment of the timeline and over the run.  A step opens to the stacks, maps or files that it
// consists of.
import { useCallback, useMemo } from "preact/hooks";
import type { Answer } from "../app/api";
import { dataUrl, nsToSeconds, time, useData } from "../app/recordings";
import { useFacts } from "../app/facts";
import { go, href, useRoute } from "../app/url";
import { adding, alone, stackTerm } from "../parts/adding";
import { Card, Choice } from "../parts/card";
import { copy } from "../parts/clipboard";
import { fileName } from "../parts/frames";
import { openMenu, type Item } from "../parts/menu";
import { momentMenu } from "../parts/moments";
import { Bytes, Count } from "../parts/number";
import { usePages } from "../parts/pages";
import { Plot, type Line } from "../parts/plot";
import {
	bytesOf,
	FREE,
	layers,
	steps,
	type Moment,
	type Part,
	type Resident,
	type Step,
	type Term,
} from "../parts/resident";
import { Share } from "../parts/spark";
import { Stack, stackHeight, stackText } from "../parts/stack";
import { Answered, Empty } from "../parts/states";
import { seconds } from "../parts/strip";
import { Table, type Column } from "../parts/table";
import { bytes, count, duration, exact, percent, plural } from "../parts/units";
import "../style/resident.css";
import { ROW, stackItems, useOpen, Who } from "./allocation_parts";
import type { ViewProps } from "./views";

const POINTS = 400;

export function ResidentMemory({ id }: ViewProps) {
	const { parameters } = useRoute();
	const at = time(parameters["at"]);
	const answer = useData<Resident>(dataUrl(id, "/data/{id}/rss", { at, count: 0 }));
	const series = useData<Resident>(
		dataUrl(id, "/data/{id}/rss", { series: true, points: POINTS, count: 0 }),
	);
	const now = answer.data;
	const most = mostOf(series.data?.series ?? []);
	const open = now?.terms.find((t) => t.name === parameters["term"]);
	if (now && now.sampled_ns === null)
		return (
			<Card name="waterfall" title="Where resident memory goes">
				<Empty title="Nobody looked at this process’s memory maps">
					<p>
						The recording was made without them; memoir run records them unless it is
						told not to.
					</p>
				</Empty>
			</Card>
		);
	return (
		<>
			<div class="rss-two">
				<Card
					name="waterfall"
					title="Where resident memory goes"
					said={now && <Said now={now} />}
					tools={
						<button
							type="button"
							class="button"
							disabled={!most}
							title="Look at the moment at which most was resident"
							onClick={() => most && go({ at: nsToSeconds(most.at_ns) })}>
							At its most
						</button>
					}>
					<Answered what="What is resident" answer={answer} lines={12}>
						{(data) => <Waterfall now={data} open={open?.name ?? ""} />}
					</Answered>
				</Card>
				<OverTime id={id} answer={series} most={most} />
			</div>
			{open && <Parts id={id} term={open} rss={now!.rss ?? 0} at={now!.sampled_ns!} />}
		</>
	);
}

function Said({ now }: { now: Resident }) {
	const rss = now.rss ?? 0,
		free = bytesOf(now.terms, FREE),
		unknown = bytesOf(now.terms, ["unknown"]);
	return (
		<>
			{bytes(rss)} resident, seen at{" "}
			<a class="number" href={href({}, { at: nsToSeconds(now.sampled_ns!) })}>
				{duration(now.sampled_ns! / 1e9)}
			</a>
			{" · "}
			{percent(bytesOf(now.terms, ["requested"]), rss)} of it was asked for
			{free > 0 && ` · ${bytes(free)} free, but kept`}
			{!!now.swap && ` · ${bytes(now.swap)} swapped out`}
			{!!now.huge_pages && ` · ${bytes(now.huge_pages)} in huge pages`}
			{` · ${percent(unknown, rss)} unknown`}
		</>
	);
}

/* Each bar hangs where the one above it ended. */
function Waterfall({ now, open }: { now: Resident; open: string }) {
	const rows = steps(now),
		whole = Math.max(1, ...rows.map((r) => r.from + r.bytes));
	const share = (value: number): string => `${(100 * value) / whole}%`;
	const keys = (event: KeyboardEvent): void => {
		const buttons = [
			...(event.currentTarget as Element).querySelectorAll<HTMLElement>("button"),
		];
		const at = buttons.indexOf(document.activeElement as HTMLElement);
		const next: Record<string, number> = {
			ArrowDown: at + 1,
			ArrowUp: at - 1,
			Home: 0,
			End: buttons.length - 1,
		};
		if (at < 0 || !(event.key in next)) return;
		buttons[Math.max(0, Math.min(buttons.length - 1, next[event.key]!))]?.focus();
		event.preventDefault();
	};
	return (
		<table class="rss-steps" onKeyDown={keys}>
			<caption class="hidden">
				From what is resident down to what was asked for; a step opens to what it consists
				of
			</caption>
			<tbody>
				{rows.map((r) => (
					<tr
						key={r.key}
						data-step={r.key}
						data-bytes={r.bytes}
						class={`${r.kind}${r.term && r.term.name === open ? " open" : ""}`}
						onClick={(event) => {
							if (r.term && !(event.target as Element).closest("button"))
								toggle(r.term, open);
						}}>
						<th scope="row">
							<StepName step={r} open={open} />
						</th>
						<td class="rss-bar">
							<div class="rss-track">
								{r.key === "rss" ? (
									[...now.terms]
										.reverse()
										.map((t) => (
											<i
												key={t.name}
												style={{
													width: share(t.bytes),
													background: `var(--rss-${t.name})`,
												}}
											/>
										))
								) : (
									<i
										style={{
											marginLeft: share(r.from),
											width: share(r.bytes),
											...(r.term
												? { background: `var(--rss-${r.term.name})` }
												: {}),
										}}
									/>
								)}
							</div>
						</td>
						<td class="rss-value">
							<Bytes value={r.bytes} />
						</td>
						<td class="rss-value dim">{percent(r.bytes, now.rss ?? 0)}</td>
					</tr>
				))}
			</tbody>
		</table>
	);
}

const toggle = (term: Term, open: string): void =>
	go({ term: term.name === open ? "" : term.name, open: "", unfold: "" });

function StepName({ step, open }: { step: Step; open: string }) {
	const sign = step.kind === "minus" ? "− " : step.kind === "plus" ? "+ " : "";
	if (!step.term)
		return (
			<span title={step.help}>
				{sign}
				{step.label}
			</span>
		);
	const { term } = step,
		mine = term.name === open;
	return (
		<button
			type="button"
			class="rss-open"
			title={`${step.help}\n${plural(term.part_total, "part")}`}
			aria-expanded={mine}
			onClick={() => toggle(term, open)}>
			<span aria-hidden="true" class="rss-twig">
				{mine ? "▾" : "▸"}
			</span>
			{sign}
			{step.label}
		</button>
	);
}

const NONE: readonly Moment[] = [];
const mostOf = (series: readonly Moment[]): Moment | undefined =>
	series.reduce<Moment | undefined>(
		(best, m) => (!best || m.rss > best.rss ? m : best),
		undefined,
	);

function OverTime({
	id,
	answer,
	most,
}: {
	id: string;
	answer: Answer<Resident>;
	most: Moment | undefined;
}) {
	const { parameters } = useRoute();
	const facts = useFacts(id).data;
	const as = parameters["as"] === "table" ? "table" : "graph";
	const series = answer.data?.series ?? NONE;
	const end = (facts?.runtime_ns ?? series.at(-1)?.at_ns ?? 0) / 1e9;
	const { from, to, at } = parameters;
	/* What did not change was not sampled again. */
	const last = series.at(-1),
		drawn = useMemo(
			() =>
				last && last.at_ns < end * 1e9
					? [...series, { ...last, at_ns: end * 1e9 }]
					: series,
			[series, end],
		);
	return (
		<Card
			name="over-time"
			title="Over time"
			said={
				most && (
					<>
						most {bytes(most.rss)} at{" "}
						<a class="number" href={href({}, { at: nsToSeconds(most.at_ns) })}>
							{duration(most.at_ns / 1e9)}
						</a>
						{` · ${plural(series.length, "sample")}`}
					</>
				)
			}
			tools={
				<Choice
					label="Over time as"
					value={as}
					options={[
						["graph", "graph"],
						["table", "table"],
					]}
					onChange={(value) => go({ as: value === "graph" ? "" : value })}
				/>
			}>
			<Answered what="What was resident over time" answer={answer} lines={10}>
				{(data) =>
					series.length < 2 ? (
						<Empty title="There is one sample only">
							<p>Memory maps are looked at about once a second.</p>
						</Empty>
					) : as === "table" ? (
						<Samples terms={data.terms} series={series} />
					) : (
						<Plot
							label="Resident memory by what it is for"
							xs={drawn.map((m) => m.at_ns / 1e9)}
							lines={layers(data.terms, drawn).map((layer): Line => ({
								label: layer.title,
								values: layer.upTo,
								said: layer.own,
								tone: "curve",
								colour: `rss-${layer.name}`,
							}))}
							stacked
							legend={false}
							from={from ? Number(from) : 0}
							to={to ? Number(to) : end}
							height={350}
							format={bytes}
							binary
							moment={at ? Number(at) : undefined}
							group={id}
							onMoment={(s) => go({ at: seconds(s) })}
							onZoom={(a, b) => go({ from: seconds(a), to: seconds(b) })}
							onMenu={(x, y, s) =>
								openMenu(x, y, `At ${duration(s)}`, momentMenu(s, [0, end]))
							}
						/>
					)
				}
			</Answered>
		</Card>
	);
}

/* The same as rows; a row is a moment to look at. */
function Samples({ terms, series }: { terms: readonly Term[]; series: readonly Moment[] }) {
	const shown = terms
		.map((t, i) => ({ ...t, place: i }))
		.filter((t) => series.some((m) => m.terms[t.place]));
	const columns: Column<Moment>[] = [
		{
			key: "at",
			label: "at",
			number: true,
			width: "100px",
			cell: (m) => (
				<a class="number" href={href({}, { at: nsToSeconds(m.at_ns) })}>
					{duration(m.at_ns / 1e9)}
				</a>
			),
			text: (m) => nsToSeconds(m.at_ns),
		},
		{
			key: "rss",
			label: "resident",
			number: true,
			cell: (m) => <Bytes value={m.rss} />,
			text: (m) => String(m.rss),
		},
		...[...shown]
			.reverse()
			.map((t): Column<Moment> => ({
				key: t.name,
				label: t.title,
				title: t.help,
				number: true,
				width: "96px",
				cell: (m) => <Bytes value={m.terms[t.place]!} />,
				text: (m) => String(m.terms[t.place]),
			})),
	];
	return (
		<Table
			label="Resident memory over time"
			columns={columns}
			count={series.length}
			row={(i) => series[i]}
			height={340}
			nouns="samples"
			onOpen={(m) => go({ at: nsToSeconds(m.at_ns) })}
		/>
	);
}

/* Where more is to be had of a part. */
function placeOf(p: Part, at: number): string {
	if (p.kind === "blocks")
		return adding(stackTerm(p.backtrace_id), "allocations", {
			list: "flat",
			at: nsToSeconds(at),
			from: "",
			to: "",
		});
	if (p.kind === "stack")
		return alone(stackTerm(p.backtrace_id), "maps", { at: nsToSeconds(at) });
	if (p.kind === "file") return alone("", "maps", { name: p.name, at: nsToSeconds(at) });
	return alone(`address = 0x${(p.address ?? 0).toString(16)}`, "maps", { at: nsToSeconds(at) });
}

const WORDS: Record<Part["kind"], string> = {
	blocks: "blocks of one stack",
	stack: "maps of one stack",
	file: "a file’s maps",
	map: "a map",
};
const nameOf = (p: Part): string =>
	p.kind === "file" ? fileName(p.name) : p.name === "" ? "anonymous" : p.name;

function Parts({ id, term, rss, at }: { id: string; term: Term; rss: number; at: number }) {
	const { parameters } = useRoute();
	const open = useOpen(),
		unfolded = useOpen("unfold");
	const pages = usePages(
		id,
		"/data/{id}/rss",
		{ at: time(parameters["at"]), open: term.name },
		(answer: Resident) => {
			const mine = answer.terms.find((t) => t.name === term.name);
			return { rows: mine?.parts ?? [], count: mine?.part_total ?? 0 };
		},
		200,
	);
	const detail = useCallback(
		(p: Part, index: number) => {
			if (!open.has(index) || !p.backtrace) return undefined;
			const all = unfolded.has(index);
			return {
				height: stackHeight(p.backtrace, all),
				content: (
					<div class="stacks">
						<Stack
							frames={p.backtrace}
							all={all}
							onAll={() => unfolded.toggle(index)}
						/>
					</div>
				),
			};
		},
		[parameters["open"], parameters["unfold"], term.name],
	);
	const blocks = term.name === "requested" || term.name === "rounding";
	const columns: Column<Part>[] = [
		{
			key: "who",
			label: blocks ? "allocated in" : "what",
			width: "minmax(260px, 1fr)",
			cell: (p) =>
				p.backtrace ? (
					<Who frames={p.backtrace} />
				) : (
					<>
						<span class="who" title={p.name}>
							<strong>{nameOf(p)}</strong>
						</span>
						<span class="who-below dim">
							{p.address !== undefined
								? `at 0x${p.address.toString(16)}`
								: plural(p.maps, "map")}
						</span>
					</>
				),
			text: (p) =>
				p.backtrace
					? stackText(p.backtrace).replaceAll("\n", " ← ")
					: p.name || "anonymous",
		},
		{
			key: "bytes",
			label: "resident",
			number: true,
			width: "minmax(130px, 0.35fr)",
			cell: (p) => (
				<Share part={p.bytes} whole={term.bytes}>
					<Bytes value={p.bytes} />
				</Share>
			),
			text: (p) => String(p.bytes),
		},
		{
			key: "rss",
			label: "of RSS",
			number: true,
			width: "72px",
			cell: (p) => <span class="number">{percent(p.bytes, rss)}</span>,
			text: (p) => String(p.bytes / Math.max(1, rss)),
		},
		{
			key: "size",
			label: blocks ? "asked for" : "size",
			title: blocks ? "Of its live blocks, resident or not" : "Of its maps, resident or not",
			number: true,
			width: "96px",
			cell: (p) => <Bytes value={p.size} to={blocks ? placeOf(p, at) : undefined} />,
			text: (p) => String(p.size),
		},
		{
			key: "number",
			label: blocks ? "blocks" : "maps",
			number: true,
			width: "80px",
			cell: (p) =>
				blocks ? (
					<Count value={p.blocks} to={placeOf(p, at)} />
				) : (
					<a class="number" href={placeOf(p, at)}>
						{count(p.maps)}
					</a>
				),
			text: (p) => String(blocks ? p.blocks : p.maps),
		},
		...(blocks
			? []
			: ([
					{
						key: "kind",
						label: "is",
						width: "128px",
						cell: (p) => (
							<>
								<span class="who">{WORDS[p.kind]}</span>
								<span class="who-below dim" title={p.name}>
									{p.allocator ?? (p.backtrace ? nameOf(p) : "")}
								</span>
							</>
						),
						text: (p) => `${WORDS[p.kind]} ${p.allocator ?? p.name}`,
					},
				] satisfies Column<Part>[])),
	];
	const menu = (p: Part, x: number, y: number): void => {
		const items: Item[] =
			p.kind === "blocks"
				? [
						{ label: "Its blocks then", href: placeOf(p, at) },
						...stackItems(p.backtrace_id, p.backtrace ?? []),
					]
				: [
						{
							label: p.kind === "map" ? "This map" : "These maps",
							href: placeOf(p, at),
						},
						...(p.address !== undefined
							? [
									{
										label: "Address space",
										href: href(
											{ view: "address_space" },
											{
												region:
													`${p.address.toString(16)}-` +
													(p.address + p.size).toString(16),
												at: nsToSeconds(at),
											},
										),
									},
								]
							: []),
						...(p.backtrace
							? [
									{
										label: "Copy the stack",
										run: () => void copy(stackText(p.backtrace!), "Stack"),
									},
								]
							: [{ label: "Copy the name", run: () => void copy(p.name, "Name") }]),
					];
		openMenu(x, y, p.backtrace ? WORDS[p.kind] : nameOf(p), items);
	};
	return (
		<Card
			name="parts"
			title={`Parts of “${term.title}”`}
			said={
				<>
					<span title={exact(term.bytes)}>{bytes(term.bytes)}</span>,{" "}
					{percent(term.bytes, rss)} of what is resident: {term.help}
				</>
			}
			tools={
				<button
					type="button"
					class="button"
					onClick={() => go({ term: "", open: "", unfold: "" })}>
					Close
				</button>
			}>
			<Answered what="The parts" answer={pages.answer} lines={6}>
				{() =>
					pages.count === 0 ? (
						<Empty title="Nothing of that at this moment" />
					) : (
						<Table
							label={`Parts of ${term.title}`}
							columns={columns}
							{...pages.rows}
							rowHeight={ROW}
							height={480}
							nouns={pages.count === 1 ? "part" : "parts"}
							detail={detail}
							onOpen={(p, i) => {
								if (p.backtrace) open.toggle(i);
								else location.hash = placeOf(p, at);
							}}
							onMenu={(p, _, x, y) => menu(p, x, y)}
						/>
					)
				}
			</Answered>
		</Card>
	);
}
