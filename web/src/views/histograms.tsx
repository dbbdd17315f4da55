// SPDX-License-Identifier: MIT OR Apache-2.0
// How large blocks are, and how long they live.  A bar is a link to what it counts.
import type { HistogramQuery } from "../app/endpoints";
import { dataUrl, useAsked, useData } from "../app/recordings";
import { go, useRoute } from "../app/url";
import { adding, rangeTerm } from "../parts/adding";
import { Bars, type Bar } from "../parts/bars";
import { Card, Choice } from "../parts/card";
import { MeasureChoice, useMeasure, type Measured } from "../parts/measure";
import { Nothing } from "../parts/nothing";
import { Bytes, Count } from "../parts/number";
import { Share } from "../parts/spark";
import { Answered } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { bytes, count, duration, exact, percent, plural } from "../parts/units";
import type { ViewProps } from "./views";

interface Bin {
	from: number | null;
	to: number | null;
	never_freed: boolean;
	count: number;
	bytes: number;
	slack_bytes: number;
}
interface Size {
	size: number;
	count: number;
	bytes: number;
	slack_bytes: number;
}
interface Answer {
	count: number;
	bytes: number;
	bins: Bin[];
	sizes?: Size[];
	size_total?: number;
}
type Weight = "bytes" | "count";

const binary = (value: number): string =>
	value < 1024
		? `${value}`
		: value < 2 ** 20
			? `${value / 1024}K`
			: value < 2 ** 30
				? `${value / 2 ** 20}M`
				: `${value / 2 ** 30}G`;
const decimal = (ns: number): string =>
	ns < 1e3
		? `${ns}ns`
		: ns < 1e6
			? `${ns / 1e3}µs`
			: ns < 1e9
				? `${ns / 1e6}ms`
				: ns < 1e12
					? `${ns / 1e9}s`
					: `${ns / 1e12}ks`;

function bars(of: "size" | "lifetime", answer: Answer, weight: Weight, measured: Measured): Bar[] {
	return answer.bins.map((bin) => {
		const term = bin.never_freed
			? "leaked"
			: of === "size"
				? rangeTerm("size", bin.from, bin.to)
				: [rangeTerm("lifetime", bin.from, bin.to, "ns"), "not leaked"]
						.filter(Boolean)
						.join(" and ");
		const words = bin.never_freed
			? "never freed"
			: of === "size"
				? bin.to === null
					? `${bytes(bin.from ?? 0)} and more`
					: bin.to - (bin.from ?? 0) <= 1
						? bytes(bin.from ?? 0)
						: bin.to > 1024
							? `${bytes(bin.from ?? 0)} to under ${bytes(bin.to)}`
							: `${bytes(bin.from ?? 0)} to ${bytes(bin.to - 1)}`
				: bin.to === null
					? `${duration((bin.from ?? 0) / 1e9)} and longer`
					: `${bin.from ? duration(bin.from / 1e9) : "0"} to ${duration(bin.to / 1e9)}`;
		return {
			label: bin.never_freed
				? "never"
				: of === "size"
					? binary(bin.from ?? 0)
					: bin.from
						? decimal(bin.from)
						: "0",
			value: weight === "bytes" ? bin.bytes : bin.count,
			words,
			tip: [
				words,
				`${bytes(bin.bytes)} (${percent(bin.bytes, answer.bytes)})`,
				`${plural(bin.count, "block")} (${percent(bin.count, answer.count)})`,
				...(bin.slack_bytes ? [`${bytes(bin.slack_bytes)} of slack`] : []),
			],
			href: adding([term, measured.term].filter(Boolean).join(" and "), "allocations", {
				at: "",
			}),
			accent: bin.never_freed,
			bin,
		};
	});
}

/* Everything about sizes is one question. */
const question = (of: "size" | "lifetime", weight: Weight): HistogramQuery =>
	of === "size" ? { of, weight, top: 1000 } : { of };

/* The bin with most of it, in words. */
function most(list: readonly Bar[]): string {
	const total = list.reduce((sum, b) => sum + b.value, 0);
	const top = [...list].sort((a, b) => b.value - a.value)[0];
	return top && total ? `${percent(top.value, total)} is ${top.words}` : "";
}

function Histogram({
	id,
	of,
	measured,
	weight,
}: {
	id: string;
	of: "size" | "lifetime";
	measured: Measured;
	weight: Weight;
}) {
	const asked = useAsked();
	const answer = useData<Answer>(
		dataUrl(id, "/data/{id}/histogram", {
			...asked,
			...measured.query,
			...question(of, weight),
		}),
	);
	const table = useRoute().parameters["table"] === of;
	const title = of === "size" ? "Sizes" : "Lifetimes";
	const list = answer.data ? bars(of, answer.data, weight, measured) : [];
	const columns: Column<Bar>[] = [
		{
			key: "range",
			label: of === "size" ? "size" : "lived",
			width: "minmax(120px, 1fr)",
			cell: (b) => b.words,
			text: (b) => b.words,
		},
		{
			key: "bytes",
			label: "bytes",
			number: true,
			width: "104px",
			cell: (b) => (
				<Share part={(b.bin as Bin).bytes} whole={answer.data?.bytes ?? 0}>
					<Bytes value={(b.bin as Bin).bytes} to={b.href} />
				</Share>
			),
			text: (b) => String((b.bin as Bin).bytes),
		},
		{
			key: "count",
			label: "blocks",
			number: true,
			width: "104px",
			cell: (b) => (
				<Share part={(b.bin as Bin).count} whole={answer.data?.count ?? 0}>
					<Count value={(b.bin as Bin).count} to={b.href} />
				</Share>
			),
			text: (b) => String((b.bin as Bin).count),
		},
		{
			key: "slack",
			label: "slack",
			title: "What the allocator gave more than was asked for",
			number: true,
			width: "72px",
			cell: (b) => <Bytes value={(b.bin as Bin).slack_bytes} />,
			text: (b) => String((b.bin as Bin).slack_bytes),
		},
	];
	return (
		<Card
			name={of}
			title={title}
			said={answer.data?.count ? most(list) : ""}
			tools={
				<Choice
					label={`${title} as`}
					value={table ? "table" : "picture"}
					options={[
						["picture", "picture"],
						["table", "table"],
					]}
					onChange={(value) => go({ table: value === "table" ? of : "" })}
				/>
			}>
			<Answered what={title} answer={answer} lines={8}>
				{(data) =>
					!data.count ? (
						<Nothing title="Nothing matches">No allocation is left to count.</Nothing>
					) : table ? (
						<Table
							label={title}
							columns={columns}
							count={list.length}
							row={(i) => list[i]}
							rowHeight={44}
							height={420}
							nouns="bars"
						/>
					) : (
						<Bars
							label={
								`${title}: ${weight === "bytes" ? "bytes" : "blocks"} by ` +
								(of === "size" ? "size" : "lifetime")
							}
							bars={list}
							said={weight === "bytes" ? bytes : count}
						/>
					)
				}
			</Answered>
		</Card>
	);
}

function Exact({ id, measured, weight }: { id: string; measured: Measured; weight: Weight }) {
	const asked = useAsked();
	const sort = useRoute().parameters["sort"] ?? (weight === "bytes" ? "-bytes" : "-count");
	const answer = useData<Answer>(
		dataUrl(id, "/data/{id}/histogram", {
			...asked,
			...measured.query,
			...question("size", weight),
		}),
	);
	const key = sort.replace(/^-/, "") as keyof Size,
		sign = sort.startsWith("-") ? -1 : 1;
	const sizes = [...(answer.data?.sizes ?? [])].sort((a, b) => sign * (a[key] - b[key]));
	const to = (s: Size): string =>
		adding([`size = ${s.size}`, measured.term].filter(Boolean).join(" and "), "allocations", {
			at: "",
		});
	const columns: Column<Size>[] = [
		{
			key: "size",
			label: "size",
			number: true,
			width: "104px",
			sort: true,
			ascending: true,
			cell: (s) => (
				<a class="number" href={to(s)} title={exact(s.size)}>
					{count(s.size)} B
				</a>
			),
			text: (s) => String(s.size),
		},
		{
			key: "bytes",
			label: "bytes",
			number: true,
			width: "minmax(120px, 1fr)",
			sort: true,
			cell: (s) => (
				<Share part={s.bytes} whole={answer.data?.bytes ?? 0}>
					<Bytes value={s.bytes} to={to(s)} />
				</Share>
			),
			text: (s) => String(s.bytes),
		},
		{
			key: "count",
			label: "blocks",
			number: true,
			width: "minmax(120px, 1fr)",
			sort: true,
			cell: (s) => (
				<Share part={s.count} whole={answer.data?.count ?? 0}>
					<Count value={s.count} to={to(s)} />
				</Share>
			),
			text: (s) => String(s.count),
		},
		{
			key: "slack_bytes",
			label: "slack",
			title: "What the allocator gave more than was asked for",
			number: true,
			width: "96px",
			sort: true,
			cell: (s) => <Bytes value={s.slack_bytes} />,
			text: (s) => String(s.slack_bytes),
		},
	];
	if (answer.data && !answer.data.count) return null;
	return (
		<Card
			name="sizes"
			title="Exact sizes"
			said={
				answer.data?.size_total !== undefined
					? `${plural(answer.data.size_total, "size")}` +
						(answer.data.size_total > sizes.length
							? `, the ${count(sizes.length)} with most ` +
								(weight === "bytes" ? "bytes" : "blocks")
							: "")
					: ""
			}>
			<Answered what="The sizes" answer={answer} lines={6}>
				{() => (
					<Table
						label="Exact sizes"
						columns={columns}
						count={sizes.length}
						row={(i) => sizes[i]}
						rowHeight={44}
						height={420}
						sort={sort}
						onSort={(next) => go({ sort: next })}
						nouns="sizes"
					/>
				)}
			</Answered>
		</Card>
	);
}

function Total({ id, measured, weight }: { id: string; measured: Measured; weight: Weight }) {
	const { data } = useData<Answer>(
		dataUrl(id, "/data/{id}/histogram", {
			...useAsked(),
			...measured.query,
			...question("size", weight),
		}),
	);
	return (
		<span class="said dim" data-card="total">
			{data ? `${bytes(data.bytes)} ${measured.words} in ${plural(data.count, "block")}` : ""}
		</span>
	);
}

export function Histograms({ id }: ViewProps) {
	const { parameters } = useRoute();
	const measured = useMeasure("allocated");
	const weight: Weight = parameters["weight"] === "count" ? "count" : "bytes";
	return (
		<>
			<div class="view-tools">
				<Total id={id} measured={measured} weight={weight} />
				<Choice
					label="Bars are"
					value={weight}
					options={[
						["bytes", "bytes"],
						["count", "blocks"],
					]}
					onChange={(value) => go({ weight: value === "bytes" ? "" : value })}
				/>
				<MeasureChoice measured={measured} />
			</div>
			<div class="side-by-side">
				<Histogram id={id} of="size" measured={measured} weight={weight} />
				<Histogram id={id} of="lifetime" measured={measured} weight={weight} />
				<Exact id={id} measured={measured} weight={weight} />
			</div>
		</>
	);
}
