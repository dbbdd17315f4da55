// SPDX-License-Identifier: MIT OR Apache-2.0
// What changed: from this recording to another one, or from one moment of it to another.
import { find, seconds, time, useAsked, useRecordings } from "../app/recordings";
import { programName } from "../app/program_name";
import { url, useAnswer } from "../app/api";
import { go, href, useRoute } from "../app/url";
import { adding, functionTerm } from "../parts/adding";
import { Card, Choice } from "../parts/card";
import { copy } from "../parts/clipboard";
import { abbreviate, shortName, type Frame, type FrameKind } from "../parts/frames";
import { MeasureChoice, useMeasure } from "../parts/measure";
import { openMenu } from "../parts/menu";
import { Nothing } from "../parts/nothing";
import { Bytes, Count } from "../parts/number";
import { Answered, Empty } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { withTerm } from "../parts/terms";
import {
	bytes,
	count,
	date,
	duration,
	exact,
	middle,
	percent,
	plural,
	signed,
} from "../parts/units";
import "../style/compare.css";
import { callersOf } from "./callers";
import type { ViewProps } from "./views";

interface Pair {
	status: "new" | "gone" | "grown" | "shrunk" | "same";
	before_bytes: number;
	after_bytes: number;
	before_count: number;
	after_count: number;
	bytes_delta: number;
	count_delta: number;
}
interface Row extends Pair {
	functions?: string[]; /* of a stack, outermost first */
	kinds?: FrameKind[]; /* whose they are */
	function?: string;
	before_self_bytes?: number;
	after_self_bytes?: number;
	before_self_count?: number;
	after_self_count?: number;
	before_own_bytes?: number;
	after_own_bytes?: number;
	before_own_count?: number;
	after_own_count?: number;
}
interface Diff {
	before: { name: string; at_ns?: number };
	after: { name: string; at_ns?: number };
	total: Pair;
	stack_counts: Record<string, number>;
	stacks?: Row[];
	functions?: Row[];
	stack_total: number;
	function_total: number;
}

const ROWS = 1000;
const WORDS: Record<string, string> = {
	new: "new",
	gone: "gone",
	grown: "grown",
	shrunk: "shrunk",
	same: "same",
};

/* The responsible function and the program's own outwards from it. */
const told = (r: Row): string[] =>
	(r.functions ?? []).length
		? abbreviate([
				...r.functions!.map((name, i): Frame => ({
					address: 0,
					address_s: "",
					count: 1,
					function: name,
					is_inline: false,
					kind: r.kinds?.[i] ?? "program",
				})),
				CALL,
			]).map(({ frame }) => frame.function!)
		: [];
const CALL: Frame = {
	address: 0,
	address_s: "",
	count: 1,
	is_inline: false,
	kind: "allocator",
}; /* which a comparison does not tell */

/* A change as a bar to the left (less) or to the right (more). */
export function Change({
	delta,
	most,
	children,
}: {
	delta: number;
	most: number;
	children: preact.ComponentChildren;
}) {
	const width = most ? (50 * Math.abs(delta)) / most : 0;
	return (
		<span class="share">
			{children}
			<span class="change">
				<span class={delta < 0 ? "less" : "more"} style={{ width: `${width}%` }} />
			</span>
		</span>
	);
}

function Chooser({
	id,
	against,
	at,
	atOther,
	ends,
}: {
	id: string;
	against: string;
	at: string;
	atOther: string;
	ends: readonly [string, string]; /* what is compared where no moment is said */
}) {
	const { list } = useRecordings();
	const ready = (list ?? []).filter(
		(r) => r.kind === "recording" && (r.state === "ready" || r.state === "live"),
	);
	const moment = (text: string): string =>
		Number.isFinite(Number(text)) ? String(Math.max(0, Number(text))) : "";
	return (
		<form class="compare-form" onSubmit={(event) => event.preventDefault()}>
			<label>
				before{" "}
				<select
					class="field"
					value={against}
					onChange={(event) => go({ against: event.currentTarget.value, at_other: "" })}>
					{!against && <option value="">choose a recording</option>}
					{ready.map((r) => (
						<option key={r.id} value={r.id}>
							{r.id === id
								? "this recording, at another time"
								: `${programName(r)}` +
									(r.timestamp ? `, ${date(seconds(r.timestamp))}` : "") +
									` (${r.name})`}
						</option>
					))}
				</select>
			</label>
			<label>
				at{" "}
				<input
					class="field moment"
					type="number"
					min="0"
					step="any"
					aria-label="Moment before, seconds"
					placeholder={against === id ? String(+Number(ends[0]).toFixed(3)) : "peak"}
					value={atOther}
					onChange={(event) => go({ at_other: moment(event.currentTarget.value) })}
				/>{" "}
				s
			</label>
			<span class="dim">after: this recording</span>
			<label>
				at{" "}
				<input
					class="field moment"
					type="number"
					min="0"
					step="any"
					aria-label="Moment after, seconds"
					placeholder={against === id ? String(+Number(ends[1]).toFixed(3)) : "peak"}
					value={at}
					onChange={(event) => go({ at: moment(event.currentTarget.value) })}
				/>{" "}
				s
			</label>
			{against && (
				<button
					type="button"
					class="button"
					onClick={() => {
						location.hash = href(
							{ id: against },
							{ against: id, at: atOther, at_other: at },
						);
					}}>
					Swap
				</button>
			)}
		</form>
	);
}

export function Compare({ id }: ViewProps) {
	const { parameters } = useRoute();
	const { list } = useRecordings();
	const measured = useMeasure();
	const asked = useAsked();
	const others = (list ?? []).filter(
		(r) => r.id !== id && r.kind === "recording" && (r.state === "ready" || r.state === "live"),
	);
	/* Who has chosen a range asks what changed from its one end to its other. */
	const { from, to } = parameters;
	const against =
		parameters["against"] ?? (others.length === 1 && !from && !to ? others[0]!.id : id);
	const same = against === id;
	const runtime = seconds(find(id)?.runtime);
	const ends = [from || "0", to || String(runtime)] as const;
	/* The range that keys have made begins or ends at the moment: nobody asks about that one. */
	const chosen = parameters["at"] ?? "";
	const at = chosen === from || chosen === to ? "" : chosen,
		atOther = parameters["at_other"] ?? "";
	const by = parameters["by"] === "stack" ? "stack" : "function";
	const weight = parameters["weight"] === "count" ? "count" : "bytes";
	/* Two moments are compared by what was alive; otherwise whatever the measure says. */
	const moments = same || at !== "" || atOther !== "";
	const query = moments
		? {
				at_a: time(atOther || (same ? ends[0] : "0")),
				at_b: time(at || (same ? ends[1] : String(runtime))),
			}
		: { measure: measured.measure };
	const { from: _from, to: _to, ...filters } = asked;
	const answer = useAnswer<Diff>(
		id && list
			? url(
					"/data/{id}/diff",
					{ id: against },
					{ b: id, ...filters, ...query, weight, by, count: ROWS },
				)
			: null,
	);
	const data = answer.data;
	const rows = (by === "stack" ? data?.stacks : data?.functions) ?? [];
	/* What changed in the stacks that a function leads: the change of what it calls is its callers'
	 * as well, up to where the program starts. */
	const own = (r: Row): number =>
		weight === "bytes"
			? (r.after_own_bytes ?? 0) - (r.before_own_bytes ?? 0)
			: (r.after_own_count ?? 0) - (r.before_own_count ?? 0);
	const sort = parameters["sort"] ?? (by === "function" ? "-own" : "-change");
	const name = (r: Row): string => r.function ?? told(r)[0] ?? "no stack";
	const value = (r: Row): Record<string, number | string> => ({
		change: Math.abs(weight === "bytes" ? r.bytes_delta : r.count_delta),
		own: Math.abs(own(r)),
		before: weight === "bytes" ? r.before_bytes : r.before_count,
		after: weight === "bytes" ? r.after_bytes : r.after_count,
		blocks: Math.abs(r.count_delta),
		who: name(r),
		status: r.status,
	});
	const key = sort.replace(/^-/, ""),
		sign = sort.startsWith("-") ? -1 : 1;
	const sorted = [...rows].sort((a, b) => {
		const x = value(a)[key] ?? 0,
			y = value(b)[key] ?? 0;
		return sign * (typeof x === "string" ? x.localeCompare(String(y)) : x - Number(y));
	});
	const most = Math.max(
		1,
		...rows.map((r) => Math.abs(weight === "bytes" ? r.bytes_delta : r.count_delta)),
	);
	const one = (r: Row): string =>
		adding(
			r.function
				? functionTerm(r.function)
				: (r.functions ?? []).map(functionTerm).join(" and "),
			"allocations",
		);
	/* What a function had on one side.  A stack here is one by its names, which no term chooses. */
	const side = (r: Row, which: "before" | "after"): string | undefined => {
		const at = data?.[which].at_ns,
			kind = moments ? "alive" : measured.measure;
		if (!r.function || ((kind === "alive" || kind === "peak") && at === undefined))
			return undefined;
		const terms = [
			functionTerm(r.function),
			kind === "alive" || kind === "peak"
				? `alive_at(${at}ns)`
				: kind === "allocated"
					? ""
					: kind,
		];
		return href(
			{ view: "allocations", id: which === "before" ? against : id },
			{
				filter: withTerm(parameters["filter"], terms.filter(Boolean).join(" and ")),
				from: "",
				to: "",
				at: "",
			},
		);
	};
	const figure = (r: Row, which: "before" | "after"): preact.ComponentChildren =>
		weight === "bytes" ? (
			<Bytes value={r[`${which}_bytes`]} to={side(r, which)} />
		) : (
			<Count value={r[`${which}_count`]} to={side(r, which)} />
		);
	const numbers = (r: Row): { before: number; after: number; delta: number } =>
		weight === "bytes"
			? { before: r.before_bytes, after: r.after_bytes, delta: r.bytes_delta }
			: { before: r.before_count, after: r.after_count, delta: r.count_delta };
	const say = weight === "bytes" ? bytes : count;
	const columns: Column<Row>[] = [
		{
			key: "who",
			label: by === "stack" ? "allocated in" : "function",
			width: "minmax(260px, 1fr)",
			sort: true,
			ascending: true,
			text: (r) => (r.functions ? [...r.functions].reverse().join(" ← ") : name(r)),
			cell: (r) => (
				<>
					<span
						class="who"
						title={(r.functions ? [...r.functions].reverse() : [name(r)]).join("\n")}>
						{name(r) === "no stack" ? (
							<strong>no stack</strong>
						) : (
							<a href={callersOf(name(r))}>
								<strong>{middle(shortName(name(r)), 90)}</strong>
							</a>
						)}
					</span>
					{r.functions && (
						<span class="who-below dim">
							{told(r)
								.slice(1)
								.map((f) => `← ${middle(shortName(f), 50)}`)
								.join(" ")}
						</span>
					)}
				</>
			),
		},
		{
			key: "change",
			label: "change",
			number: true,
			width: "minmax(132px, 0.35fr)",
			sort: true,
			text: (r) => String(numbers(r).delta),
			cell: (r) => (
				<Change delta={numbers(r).delta} most={most}>
					<span
						class={`number ${numbers(r).delta > 0 ? "worse" : ""}`}
						title={weight === "bytes" ? exact(r.bytes_delta) : undefined}>
						{signed(say(numbers(r).delta))}
					</span>
				</Change>
			),
		},
		...(by === "function"
			? [
					{
						key: "own",
						label: "own",
						title: "The change of the stacks that it is responsible for",
						number: true,
						width: "92px",
						sort: true,
						text: (r: Row) => String(own(r)),
						cell: (r: Row) =>
							own(r) ? signed(say(own(r))) : <span class="dim">–</span>,
					},
				]
			: []),
		{
			key: "before",
			label: "before",
			number: true,
			width: "92px",
			sort: true,
			text: (r) => String(numbers(r).before),
			cell: (r) => figure(r, "before"),
		},
		{
			key: "after",
			label: "after",
			number: true,
			width: "92px",
			sort: true,
			text: (r) => String(numbers(r).after),
			cell: (r) => figure(r, "after"),
		},
		{
			key: "blocks",
			label: weight === "bytes" ? "blocks" : "bytes",
			number: true,
			width: "92px",
			sort: weight === "bytes",
			text: (r) => String(weight === "bytes" ? r.count_delta : r.bytes_delta),
			cell: (r) => signed(weight === "bytes" ? count(r.count_delta) : bytes(r.bytes_delta)),
		},
		{
			key: "status",
			label: "is",
			width: "64px",
			sort: true,
			ascending: true,
			text: (r) => r.status,
			cell: (r) => (
				<span class={r.status === "new" || r.status === "grown" ? "tag bad" : "tag"}>
					{WORDS[r.status] ?? r.status}
				</span>
			),
		},
	];
	const total = data?.total;
	const counts = data?.stack_counts ?? {};
	const when = (side: Diff["before"] | undefined): string =>
		side?.at_ns !== undefined && moments
			? ` at ${duration(side.at_ns / 1e9)}`
			: moments
				? ""
				: ` ${measured.words}`;
	const shown = by === "stack" ? (data?.stack_total ?? 0) : (data?.function_total ?? 0);
	return (
		<Card
			name="compare"
			title="What changed"
			said={
				total ? (
					<>
						{signed(bytes(total.bytes_delta))} (
						{total.before_bytes
							? signed(percent(total.bytes_delta, total.before_bytes))
							: "from nothing"}
						): {bytes(total.before_bytes)}
						{when(data?.before)} → {bytes(total.after_bytes)}
						{when(data?.after)} · stacks:{" "}
						{["new", "gone", "grown", "shrunk"]
							.filter((k) => counts[k])
							.map((k) => `${count(counts[k]!)} ${k}`)
							.join(", ") || "all the same"}
					</>
				) : (
					""
				)
			}
			tools={
				<>
					<Choice
						label="Rows are"
						value={by}
						options={[
							["function", "functions"],
							["stack", "stacks"],
						]}
						onChange={(next) => go({ by: next === "function" ? "" : next })}
					/>
					<Choice
						label="Compared by"
						value={weight}
						options={[
							["bytes", "bytes"],
							["count", "blocks"],
						]}
						onChange={(next) => go({ weight: next === "bytes" ? "" : next })}
					/>
					{!moments && <MeasureChoice measured={measured} />}
					<a
						class="button"
						href={href(
							{ view: "flame" },
							same ? { against: atOther || ends[0], at: at || ends[1] } : { against },
						)}>
						Flame graph
					</a>
				</>
			}>
			<Chooser id={id} against={against} at={at} atOther={atOther} ends={ends} />
			<Answered what="The comparison" answer={answer} lines={10}>
				{() =>
					sorted.length === 0 ? (
						filters.filter ? (
							<Nothing title="Nothing that matches is in either" />
						) : (
							<Empty title="Nothing changed">
								Both sides hold the same. Choose another recording or another moment
								above.
							</Empty>
						)
					) : (
						<Table
							label="Differences"
							columns={columns}
							count={sorted.length}
							row={(i) => sorted[i]}
							rowHeight={by === "stack" ? 44 : 36}
							subject={`${by} ${weight} ${against}`}
							sort={sort}
							onSort={(next) => go({ sort: next })}
							nouns={
								shown > sorted.length
									? `of ${plural(shown, by)}, those that changed most`
									: sorted.length === 1
										? by
										: `${by}s`
							}
							onMenu={(r, _, x, y) =>
								openMenu(x, y, middle(shortName(name(r)), 40), [
									{ label: "Its allocations, after", href: one(r) },
									...(r.function
										? [
												{
													label: "Only what goes through it",
													href: adding(functionTerm(r.function)),
												},
												{
													label: "Callers and callees",
													href: callersOf(r.function),
												},
											]
										: []),
									{
										label: r.functions ? "Copy the stack" : "Copy the name",
										run: () =>
											void copy(
												(r.functions
													? [...r.functions].reverse()
													: [name(r)]
												).join("\n"),
												r.functions ? "Stack" : "Name",
											),
									},
								])
							}
						/>
					)
				}
			</Answered>
		</Card>
	);
}
