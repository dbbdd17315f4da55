// SPDX-License-Identifier: MIT OR Apache-2.0
// Allocations: by the stack that made them, or one by one.  The server filters, sorts and pages; the
// table holds what is in view, so that ten million rows scroll like ten.
import { useCallback, useMemo } from "preact/hooks";
import { useRecordings, nsToSeconds, seconds, time, useAsked, useData, type Timeval } from "../app/recordings";
import { go, href, useRoute } from "../app/url";
import { adding, alone, functionTerm, rangeTerm, stackTerm, threadTerm } from "../parts/adding";
import { Card, Choice } from "../parts/card";
import { copy } from "../parts/clipboard";
import { asker, frameName, framePlace, shortName, type Frame } from "../parts/frames";
import { openMenu, type Item } from "../parts/menu";
import { Nothing } from "../parts/nothing";
import { Bytes, Count, Sum } from "../parts/number";
import { usePages, useSettled } from "../parts/pages";
import { Share, Spark, Two } from "../parts/spark";
import { Chain, Stack, stackHeight, stackText } from "../parts/stack";
import { Answered } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { bytes, count, duration, exact, middle, percent, plural } from "../parts/units";
import type { ViewProps } from "./views";

interface Sums {
	size: number;
	usable_size: number;
	min_size: number;
	max_size: number;
	min_timestamp_relative: Timeval;
	min_timestamp_relative_p: number;
	max_timestamp_relative: Timeval;
	max_timestamp_relative_p: number;
	interval: Timeval;
	leaked_count: number;
	leaked_size: number;
	allocated_count: number;
	max_total_usage_first_seen_at_relative?: Timeval | null;
	max_total_usage_first_seen_at_relative_p?: number | null;
	peak_size?: number;
	peak_count?: number;
}
interface Group {
	all: Sums;
	only_matched: Sums;
	backtrace_id: number;
	backtrace: Frame[];
	spark?: number[];
}
interface End {
	timestamp_relative: Timeval;
	thread?: number;
	call?: string;
	backtrace_id?: number;
	backtrace?: Frame[];
}
interface Allocation {
	id: number;
	address: number;
	address_s: string;
	timestamp: Timeval;
	timestamp_relative: Timeval;
	timestamp_relative_p: number;
	thread: number;
	thread_name?: string;
	call: string;
	size: number;
	extra_space: number;
	lifetime: Timeval;
	chain_lifetime: Timeval;
	position_in_chain: number;
	chain_length: number;
	backtrace_id: number;
	backtrace: Frame[];
	deallocation?: End;
	chain_deallocation?: End;
	is_mmaped: boolean;
	is_jemalloc: boolean;
	in_main_arena: boolean;
	is_zeroed: boolean;
	is_temporary: boolean;
	is_reallocated: boolean;
}
interface Answer {
	allocations: Group[];
	total_count: number;
}
type Part = "only_matched" | "all";

const ROW = 44;

function Who({ frames }: { frames: readonly Frame[] }) {
	const frame = asker(frames);
	return (
		<>
			<span class="who">
				<strong>{frame ? middle(shortName(frameName(frame)), 90) : "no stack"}</strong>
				{frame && framePlace(frame) && <> <span class="place">{framePlace(frame)}</span></>}
			</span>
			<span class="who-below"><Chain frames={frames} from={1} /></span>
		</>
	);
}

/* When something was: seconds since the start, and how far into the run. */
const When = ({ at, part, to }: { at: Timeval | null | undefined; part: number | null | undefined; to?: string }) =>
	at ? <Two below={percent(part ?? 0, 1)}>{to ? <a class="number" href={to}>{duration(seconds(at))}</a> : duration(seconds(at))}</Two> : <span class="dim">–</span>;

const allocatorOf = (a: Allocation): string => (a.is_jemalloc ? "jemalloc" : a.is_mmaped ? "system, mapping" : a.in_main_arena ? "system" : "system, other arena");

/* Rows that are open: in the address, as numbers. */
function useOpen(): { has: (id: number) => boolean; toggle: (id: number) => void } {
	const said = useRoute().parameters["open"] ?? "";
	const ids = useMemo(() => new Set(said.split(",").filter(Boolean).map(Number)), [said]);
	return {
		has: (id) => ids.has(id),
		toggle: (id) => {
			const next = new Set(ids);
			if (!next.delete(id)) next.add(id);
			go({ open: [...next].join(",") }, true);
		},
	};
}

const FLAT = { list: "flat", open: "", sort: "" };
const blocksOf = (id: number): string => adding(stackTerm(id), "allocations", FLAT);

function stackItems(id: number, frames: readonly Frame[]): Item[] {
	const frame = asker(frames);
	const name = frame?.function;
	return [
		{ label: "Only this stack", href: adding(stackTerm(id), undefined, { open: "" }) },
		{ label: "Without this stack", href: adding(`backtrace != ${id}`, undefined, { open: "" }) },
		...(name ? [
			{ label: "Only through", hint: middle(shortName(name), 36), href: adding(functionTerm(name), undefined, { open: "" }) },
			{ label: "Without", hint: middle(shortName(name), 36), href: adding(`function != ${functionTerm(name).slice("function = ".length)}`, undefined, { open: "" }) },
		] : []),
		{ label: "Flame graph of this stack", href: adding(stackTerm(id), "flame") },
		...(frame?.source ? [{ label: "Source", hint: framePlace(frame), href: href({ view: "source" }, { file: frame.source, line: String(frame.line ?? "") }) }] : []),
		{ label: "Copy the stack", run: () => void copy(stackText(frames), "Stack") },
	];
}

function Groups({ id }: ViewProps) {
	const { parameters } = useRoute();
	const asked = useAsked();
	const figures = parameters["figures"] ?? "matched";
	const parts: Part[] = figures === "both" ? ["only_matched", "all"] : figures === "whole" ? ["all"] : ["only_matched"];
	const sort = parameters["sort"] || `-${parts[0]}.size`;
	const full = parameters["full"] === "1";
	const open = useOpen();
	const query = { ...asked, alive_at: time(parameters["at"]) };
	const total = useData<{ ok: boolean; bytes: number; count: number }>(id, "check", query);
	const order = { ...query, sort_by: sort.replace(/^-/, ""), order: sort.startsWith("-") ? "dsc" : "asc" };
	const pick = (answer: Answer): { rows: Group[]; count: number } => ({ rows: answer.allocations, count: answer.total_count });
	/* Whole stacks are most of an answer: no more of them than a screen or so. */
	const pages = usePages<Answer, Group>(id, "allocation_groups", order, pick, 30);
	/* Curves take the server longer than all the rest, so they come when the rows are there, and stay. */
	const looking = useSettled(pages.answer.fresh, 200);
	const curves = usePages<Answer, Group>(id, looking ? "allocation_groups" : null, { ...order, spark: 60, stacks: "false" }, pick, 60, true);
	const spark = (g: Group, index: number): number[] | undefined => {
		const curve = curves.row(index);
		return curve?.backtrace_id === g.backtrace_id ? curve.spark : undefined;
	};
	const onRange = useCallback((from: number, to: number): void => {
		pages.onRange(from, to);
		curves.onRange(from, to);
	}, [pages.onRange, curves.onRange]);
	const whole = total.data?.bytes ?? 0;
	const columns: Column<Group>[] = [
		{ key: "who", label: "allocated in", width: "minmax(232px, 1.4fr)", cell: (g) => <Who frames={g.backtrace} />, text: (g) => stackText(g.backtrace).replaceAll("\n", " ← ") },
		{ key: "curve", label: "over the run", title: "Bytes alive over the run", width: "minmax(96px, 1fr)", cell: (g, index) => <Spark values={spark(g, index)} label={`bytes alive over the run, at most ${bytes(g.all.peak_size ?? 0)}`} /> },
		...parts.flatMap((part): Column<Group>[] => {
			const sums = (g: Group): Sums => g[part];
			const band = figures === "both" ? { group: part === "all" ? "the whole stack" : "what matches" } : {};
			const column = (key: string, label: string, width: string, title: string, cell: (s: Sums, g: Group) => preact.ComponentChildren, text: (s: Sums) => string, ascending = false): Column<Group> =>
				({ key: `${part}.${key}`, label, width, title, number: true, sort: true, ascending, ...band, cell: (g) => cell(sums(g), g), text: (g) => text(sums(g)) });
			const mine = (g: Group): string => (part === "all" ? alone(stackTerm(g.backtrace_id), "allocations", FLAT) : blocksOf(g.backtrace_id));
			const never = (g: Group): string => (part === "all" ? alone : adding)(`${stackTerm(g.backtrace_id)} and leaked`, "allocations", FLAT);
			return [
				column("size", "bytes", "100px", part === "all" ? "Bytes that were asked for, and what the allocator gave more" : "Bytes that were asked for, and their share", (s, g) => (part === "all"
					? <Two below={s.usable_size > s.size ? `+ ${bytes(s.usable_size - s.size)}` : ""}><Bytes value={s.size} to={mine(g)} /></Two>
					: <Share part={s.size} whole={whole}><Bytes value={s.size} to={mine(g)} /></Share>), (s) => String(s.size)),
				column("allocated_count", "blocks", "84px", "How many, and how large", (s, g) => <Two below={s.min_size === s.max_size ? `${bytes(s.min_size)} each` : `${bytes(s.min_size)}–${bytes(s.max_size)}`}><Count value={s.allocated_count} to={mine(g)} /></Two>, (s) => String(s.allocated_count)),
				column("leaked_count", "never freed", "84px", "Blocks that were never freed, and their bytes", (s, g) => (s.leaked_count ? <Two below={bytes(s.leaked_size)}><Count value={s.leaked_count} to={never(g)} /></Two> : <span class="dim">0</span>), (s) => String(s.leaked_count)),
				column("min_timestamp", "first", "72px", "The first allocation, after the start", (s) => <When at={s.min_timestamp_relative} part={s.min_timestamp_relative_p} to={href({}, { at: String(seconds(s.min_timestamp_relative)) })} />, (s) => String(seconds(s.min_timestamp_relative)), true),
				column("max_timestamp", "last", "72px", "The last allocation", (s) => <When at={s.max_timestamp_relative} part={s.max_timestamp_relative_p} to={href({}, { at: String(seconds(s.max_timestamp_relative)) })} />, (s) => String(seconds(s.max_timestamp_relative))),
				column("interval", "interval", "72px", "From the first to the last", (s) => duration(seconds(s.interval)), (s) => String(seconds(s.interval))),
				...(part === "all" ? [column("max_total_usage_first_seen_at", "most at", "88px", "When this stack had most alive, and how much", (s) => (s.max_total_usage_first_seen_at_relative
					? <Two below={s.peak_size === undefined ? percent(s.max_total_usage_first_seen_at_relative_p ?? 0, 1) : bytes(s.peak_size)}><a class="number" href={href({}, { at: String(seconds(s.max_total_usage_first_seen_at_relative)) })}>{duration(seconds(s.max_total_usage_first_seen_at_relative))}</a></Two>
					: <span class="dim">–</span>), (s) => String(seconds(s.max_total_usage_first_seen_at_relative ?? undefined)), true)] : []),
			];
		}),
	];
	const detail = useCallback((g: Group) => (full || open.has(g.backtrace_id) ? { height: stackHeight(g.backtrace), content: <Stack frames={g.backtrace} /> } : undefined), [full, parameters["open"], parameters["filter"]]);
	return (
		<Card name="allocations" title="Allocations"
			said={total.data?.ok && pages.answer.data ? <><Sum bytes={total.data.bytes} blocks={total.data.count} /> of {plural(pages.count, "stack")}{parameters["at"] ? ` alive at ${duration(Number(parameters["at"]))}` : ""}</> : ""}
			tools={<Tools full={full} list="grouped" figures={figures} />}>
			<Answered what="The allocations" answer={pages.answer} lines={12}>
				{() => pages.count === 0
					? <Nothing title="No allocation matches">This recording holds no allocations: the program made none, or all were culled.</Nothing>
					: <Table label="Allocations by stack" columns={columns} count={pages.count} row={pages.row} load={pages.load} onRange={onRange} subject={`${pages.subject} ${full}`} rowHeight={ROW}
						sort={sort} onSort={(next) => go({ sort: next })} nouns={pages.count === 1 ? "stack" : "stacks"} detail={detail}
						onOpen={(g) => open.toggle(g.backtrace_id)}
						onMenu={(g, _, x, y) => openMenu(x, y, "This stack", [{ label: "Its allocations one by one", href: blocksOf(g.backtrace_id) }, ...stackItems(g.backtrace_id, g.backtrace)])} />}
			</Answered>
		</Card>
	);
}

function ends(a: Allocation): { title: string; frames: Frame[] }[] {
	const list = [{ title: "Allocated at", frames: a.backtrace }];
	if (a.deallocation?.backtrace) list.push({ title: a.is_reallocated ? "Reallocated at" : "Freed at", frames: a.deallocation.backtrace });
	if (a.chain_deallocation?.backtrace) list.push({ title: "Its realloc chain was freed at", frames: a.chain_deallocation.backtrace });
	return list;
}

function Flat({ id }: ViewProps) {
	const { parameters } = useRoute();
	const asked = useAsked();
	const sort = parameters["sort"] || "timestamp";
	const full = parameters["full"] === "1";
	const open = useOpen();
	const pages = usePages<{ allocations: Allocation[]; total_count: number; total_size: number }, Allocation>(id, "allocations",
		{ ...asked, alive_at: time(parameters["at"]), sort_by: sort.replace(/^-/, ""), order: sort.startsWith("-") ? "dsc" : "asc" },
		(answer) => ({ rows: answer.allocations, count: answer.total_count }), 50);
	const clock = (t: Timeval): string => new Date(seconds(t) * 1000).toISOString().slice(11, 23);
	const columns: Column<Allocation>[] = [
		{ key: "who", label: "allocated in", width: "minmax(200px, 3fr)", cell: (a) => <Who frames={a.backtrace} />, text: (a) => stackText(a.backtrace).replaceAll("\n", " ← ") },
		{ key: "timestamp", label: "at", title: "When it was allocated: after the start, and how far into the run; in UTC in the tooltip", width: "minmax(76px, 0.3fr)", number: true, sort: true, ascending: true,
			cell: (a) => <span title={`${clock(a.timestamp)} UTC`}><When at={a.timestamp_relative} part={a.timestamp_relative_p} to={href({}, { at: nsToSeconds(a.timestamp_relative.secs * 1e9 + a.timestamp_relative.fract_nsecs) })} /></span>, text: (a) => String(seconds(a.timestamp_relative)) },
		{ key: "size", label: "bytes", title: "Asked for, and what the allocator gave more", width: "minmax(88px, 0.3fr)", number: true, sort: true,
			cell: (a) => <Two below={a.extra_space ? `+ ${bytes(a.extra_space)}` : "no slack"}><a class="number" href={adding(`size = ${a.size}`, undefined, { open: "" })} title={exact(a.size)}>{bytes(a.size)}</a></Two>, text: (a) => String(a.size) },
		{ key: "lifetime", label: "lived", title: "From allocation to deallocation", width: "minmax(80px, 0.3fr)", number: true, sort: true,
			cell: (a) => (a.deallocation ? <Two below={a.is_temporary ? "freed at once" : a.is_reallocated ? "realloc" : (a.deallocation.call ?? "free")}>{duration(seconds(a.lifetime))}</Two> : <Two below={<a href={adding("leaked", undefined, { open: "" })}>never freed</a>}><span title="until the end of the recording">∞</span></Two>), text: (a) => (a.deallocation ? String(seconds(a.lifetime)) : "") },
		{ key: "chain_length", label: "realloc", title: "Place in its realloc chain, and how long that lived", width: "minmax(80px, 0.3fr)", number: true, sort: true,
			cell: (a) => (a.chain_length > 1 ? <Two below={duration(seconds(a.chain_lifetime))}>{a.position_in_chain + 1} of {count(a.chain_length)}</Two> : <span class="dim">–</span>), text: (a) => `${a.position_in_chain + 1}/${a.chain_length}` },
		{ key: "thread", label: "thread", width: "minmax(88px, 0.3fr)", sort: true, ascending: true,
			cell: (a) => <Two below={a.thread_name ?? ""}><a class="number" href={adding(threadTerm(a.thread), undefined, { open: "" })}>{a.thread}</a></Two>, text: (a) => String(a.thread) },
		{ key: "address", label: "address", width: "minmax(124px, 0.4fr)", sort: true, ascending: true,
			cell: (a) => <Two below={allocatorOf(a)}><a class="mono" href={href({ view: "address_space" }, { region: `${a.address.toString(16)}-${(a.address + Math.max(1, a.size)).toString(16)}` })}>{a.address_s.replace(/^0+(?=.{12})/, "").toLowerCase()}</a></Two>, text: (a) => `0x${a.address_s.toLowerCase()}` },
	];
	const detail = useCallback((a: Allocation) => {
		if (!full && !open.has(a.id)) return undefined;
		const list = ends(a);
		return { height: Math.max(...list.map((e) => stackHeight(e.frames, true))), content: <div class="stacks">{list.map((e) => <Stack key={e.title} title={e.title} frames={e.frames} />)}</div> };
	}, [full, parameters["open"], parameters["filter"]]);
	const menu = (a: Allocation, x: number, y: number): void => {
		const freed = a.deallocation?.backtrace_id;
		openMenu(x, y, `${bytes(a.size)} at ${duration(seconds(a.timestamp_relative))}`, [
			...stackItems(a.backtrace_id, a.backtrace),
			...(freed ? [{ label: "Only what this stack freed", href: adding(`deallocation_backtrace = ${freed}`, undefined, { open: "" }) }] : []),
			{ label: "Only this thread", hint: String(a.thread), href: adding(threadTerm(a.thread), undefined, { open: "" }) },
			{ label: "Only this size", hint: bytes(a.size), href: adding(`size = ${a.size}`, undefined, { open: "" }) },
			{ label: "Only sizes like it", href: adding(rangeTerm("size", 2 ** Math.floor(Math.log2(Math.max(1, a.size))), 2 ** (Math.floor(Math.log2(Math.max(1, a.size))) + 1)), undefined, { open: "" }) },
			{ label: "What was alive at that time", href: href({}, { at: String(seconds(a.timestamp_relative)), filter: "", open: "" }) },
			{ label: "Who shares its page", href: href({ view: "address_space" }, { region: `${(a.address - (a.address % 4096)).toString(16)}-${(a.address - (a.address % 4096) + 4096).toString(16)}`, at: String(seconds(a.timestamp_relative)) }) },
			{ label: "Copy the address", run: () => void copy(`0x${a.address_s.toLowerCase()}`, "Address") },
		]);
	};
	return (
		<Card name="allocations" title="Allocations"
			said={pages.answer.data ? <><Sum bytes={pages.answer.data.total_size} blocks={pages.count} />{parameters["at"] ? ` alive at ${duration(Number(parameters["at"]))}` : ""}</> : ""}
			tools={<Tools full={full} list="flat" figures="" />}>
			<Answered what="The allocations" answer={pages.answer} lines={12}>
				{() => pages.count === 0
					? <Nothing title="No allocation matches">This recording holds no allocations: the program made none, or all were culled.</Nothing>
					: <Table label="Allocations" columns={columns} count={pages.count} row={pages.row} load={pages.load} onRange={pages.onRange} subject={`${pages.subject} ${full}`} rowHeight={ROW}
						sort={sort} onSort={(next) => go({ sort: next })} nouns={pages.count === 1 ? "block" : "blocks"} detail={detail}
						onOpen={(a) => open.toggle(a.id)} onMenu={(a, _, x, y) => menu(a, x, y)} />}
			</Answered>
		</Card>
	);
}

function Tools({ full, list, figures }: { full: boolean; list: "grouped" | "flat"; figures: string }) {
	return (
		<>
			{list === "grouped" && <Choice label="Figures" value={figures} options={[["matched", "matching", "Figures of what matches the question"], ["whole", "whole stack", "Figures of all that each stack allocated"], ["both", "both"]]} onChange={(value) => go({ figures: value === "matched" ? "" : value, sort: "" })} />}
			<Choice label="Stacks" value={full ? "full" : "short"} options={[["short", "short stacks", "Only the frames that tell stacks apart; click a row for all of them"], ["full", "full"]]} onChange={(value) => go({ full: value === "full" ? "1" : "", open: "" })} />
			<Choice label="List" value={list} options={[["grouped", "by stack"], ["flat", "one by one"]]} onChange={(value) => go({ list: value === "flat" ? "flat" : "", sort: "", open: "" })} />
		</>
	);
}

export function Allocations({ id }: ViewProps) {
	useRecordings();
	return useRoute().parameters["list"] === "flat" ? <Flat id={id} /> : <Groups id={id} />;
}
