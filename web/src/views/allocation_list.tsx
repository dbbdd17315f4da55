// SPDX-License-Identifier: MIT OR Apache-2.0
// Allocations one by one: when, how large, for how long, by which thread, and where.
import { useCallback } from "preact/hooks";
import type { AllocationNumbers, AllocationsQuery } from "../app/endpoints";
import { nsToSeconds, seconds, time, useAsked, type Timeval } from "../app/recordings";
import { go, href, useRoute } from "../app/url";
import { adding, rangeTerm, threadTerm } from "../parts/adding";
import { Card } from "../parts/card";
import { copy } from "../parts/clipboard";
import type { Frame } from "../parts/frames";
import { openMenu } from "../parts/menu";
import { Nothing } from "../parts/nothing";
import { Sum } from "../parts/number";
import { sortedBy, usePages } from "../parts/pages";
import { Two } from "../parts/spark";
import { Stack, stackHeight, stackText } from "../parts/stack";
import { Answered } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { bytes, count, duration, exact } from "../parts/units";
import { ROW, stackItems, Tools, useOpen, When, Who } from "./allocation_parts";
import { useMoreColumns } from "./more_columns";
import type { ViewProps } from "./views";

type Sort = NonNullable<AllocationsQuery["sort_by"]>;

interface End {
	timestamp_relative: Timeval;
	thread?: number;
	call?: string;
	backtrace_id?: number;
	backtrace?: Frame[];
}
interface Allocation extends AllocationNumbers {
	id: number;
	address_s: string;
	timestamp_relative: Timeval;
	timestamp_relative_p: number;
	thread_name?: string;
	call: string;
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

const allocatorOf = (a: Allocation): string =>
	a.is_jemalloc
		? "jemalloc"
		: a.is_mmaped
			? "system, mapping"
			: a.in_main_arena
				? "system"
				: "system, other arena";

function ends(a: Allocation): { title: string; frames: Frame[] }[] {
	const list = [{ title: "Allocated at", frames: a.backtrace }];
	if (a.deallocation?.backtrace)
		list.push({
			title: a.is_reallocated ? "Reallocated at" : "Freed at",
			frames: a.deallocation.backtrace,
		});
	if (a.chain_deallocation?.backtrace)
		list.push({
			title: "Its realloc chain was freed at",
			frames: a.chain_deallocation.backtrace,
		});
	return list;
}

export function AllocationList({ id }: ViewProps) {
	const { parameters } = useRoute();
	const asked = useAsked();
	const sort = parameters["sort"] || "timestamp";
	const full = parameters["full"] === "1";
	const open = useOpen(),
		unfolded = useOpen("unfold");
	const pages = usePages(
		id,
		"/data/{id}/allocations",
		{ ...asked, alive_at: time(parameters["at"]), ...sortedBy<Sort>(sort) },
		(answer: { allocations: Allocation[]; total_count: number; total_size: number }) => ({
			rows: answer.allocations,
			count: answer.total_count,
		}),
		50,
	);
	const clock = (t: Timeval): string => new Date(seconds(t) * 1000).toISOString().slice(11, 23);
	const columns: Column<Allocation, Sort>[] = [
		{
			key: "who",
			label: "allocated in",
			width: "minmax(200px, 3fr)",
			cell: (a) => <Who frames={a.backtrace} />,
			text: (a) => stackText(a.backtrace).replaceAll("\n", " ← "),
		},
		{
			key: "timestamp",
			label: "at",
			title:
				"When it was allocated: after the start, and how far into the run; in UTC " +
				"in the tooltip",
			width: "minmax(76px, 0.3fr)",
			number: true,
			sort: true,
			ascending: true,
			cell: (a) => (
				<span title={`${clock(a.timestamp)} UTC`}>
					<When
						at={a.timestamp_relative}
						part={a.timestamp_relative_p}
						to={href(
							{},
							{
								at: nsToSeconds(
									a.timestamp_relative.secs * 1e9 +
										a.timestamp_relative.fract_nsecs,
								),
							},
						)}
					/>
				</span>
			),
			text: (a) => String(seconds(a.timestamp_relative)),
		},
		{
			key: "size",
			label: "bytes",
			title: "Asked for, and what the allocator gave more",
			width: "minmax(88px, 0.3fr)",
			number: true,
			sort: true,
			cell: (a) => (
				<Two below={a.extra_space ? `+ ${bytes(a.extra_space)}` : "no slack"}>
					<a
						class="number"
						href={adding(`size = ${a.size}`, undefined, { open: "" })}
						title={exact(a.size)}>
						{bytes(a.size)}
					</a>
				</Two>
			),
			text: (a) => String(a.size),
		},
		{
			key: "lifetime",
			label: "lived",
			title: "From allocation to deallocation",
			width: "minmax(80px, 0.3fr)",
			number: true,
			sort: true,
			cell: (a) =>
				a.deallocation ? (
					<Two
						below={
							a.is_temporary
								? "freed at once"
								: a.is_reallocated
									? "realloc"
									: (a.deallocation.call ?? "free")
						}>
						{duration(seconds(a.lifetime))}
					</Two>
				) : (
					<Two
						below={<a href={adding("leaked", undefined, { open: "" })}>never freed</a>}>
						<span title="until the end of the recording">∞</span>
					</Two>
				),
			text: (a) => (a.deallocation ? String(seconds(a.lifetime)) : ""),
		},
		{
			key: "chain_length",
			label: "realloc",
			title: "Place in its realloc chain, and how long that lived",
			width: "minmax(80px, 0.3fr)",
			number: true,
			sort: true,
			cell: (a) =>
				a.chain_length > 1 ? (
					<Two below={duration(seconds(a.chain_lifetime))}>
						{a.position_in_chain + 1} of {count(a.chain_length)}
					</Two>
				) : (
					<span class="dim">–</span>
				),
			text: (a) => `${a.position_in_chain + 1}/${a.chain_length}`,
		},
		{
			key: "thread",
			label: "thread",
			width: "minmax(88px, 0.3fr)",
			sort: true,
			ascending: true,
			cell: (a) => (
				<Two below={a.thread_name ?? ""}>
					<a class="number" href={adding(threadTerm(a.thread), undefined, { open: "" })}>
						{a.thread}
					</a>
				</Two>
			),
			text: (a) => String(a.thread),
		},
		{
			key: "address",
			label: "address",
			width: "minmax(124px, 0.4fr)",
			sort: true,
			ascending: true,
			cell: (a) => (
				<Two below={allocatorOf(a)}>
					<a
						class="mono"
						href={href(
							{ view: "address_space" },
							{
								region:
									`${a.address.toString(16)}-` +
									`${(a.address + Math.max(1, a.size)).toString(16)}`,
							},
						)}>
						{a.address_s.replace(/^0+(?=.{12})/, "").toLowerCase()}
					</a>
				</Two>
			),
			text: (a) => `0x${a.address_s.toLowerCase()}`,
		},
	];
	const more = useMoreColumns<Allocation>(columns.map((c) => c.key));
	const detail = useCallback(
		(a: Allocation) => {
			if (!full && !open.has(a.id)) return undefined;
			const list = ends(a),
				all = full || unfolded.has(a.id);
			return {
				height: Math.max(...list.map((e) => stackHeight(e.frames, all, true))),
				content: (
					<div class="stacks">
						{list.map((e) => (
							<Stack
								key={e.title}
								title={e.title}
								frames={e.frames}
								all={all}
								onAll={() => unfolded.toggle(a.id)}
							/>
						))}
					</div>
				),
			};
		},
		[full, parameters["open"], parameters["unfold"], parameters["filter"]],
	);
	const menu = (a: Allocation, x: number, y: number): void => {
		const freed = a.deallocation?.backtrace_id;
		openMenu(x, y, `${bytes(a.size)} at ${duration(seconds(a.timestamp_relative))}`, [
			...stackItems(a.backtrace_id, a.backtrace),
			...(freed
				? [
						{
							label: "Only what this stack freed",
							href: adding(`deallocation_backtrace = ${freed}`, undefined, {
								open: "",
							}),
						},
					]
				: []),
			{
				label: "Only this thread",
				hint: String(a.thread),
				href: adding(threadTerm(a.thread), undefined, { open: "" }),
			},
			{
				label: "Only this size",
				hint: bytes(a.size),
				href: adding(`size = ${a.size}`, undefined, { open: "" }),
			},
			{
				label: "Only sizes like it",
				href: adding(
					rangeTerm(
						"size",
						2 ** Math.floor(Math.log2(Math.max(1, a.size))),
						2 ** (Math.floor(Math.log2(Math.max(1, a.size))) + 1),
					),
					undefined,
					{ open: "" },
				),
			},
			{
				label: "What was alive at that time",
				href: href({}, { at: String(seconds(a.timestamp_relative)), filter: "", open: "" }),
			},
			{
				label: "Who shares its page",
				href: href(
					{ view: "address_space" },
					{
						region:
							`${(a.address - (a.address % 4096)).toString(16)}-` +
							`${(a.address - (a.address % 4096) + 4096).toString(16)}`,
						at: String(seconds(a.timestamp_relative)),
					},
				),
			},
			{
				label: "The memory map that it is in",
				href: href(
					{ view: "maps" },
					{
						holds: `0x${a.address.toString(16)}`,
						at: String(seconds(a.timestamp_relative)),
						filter: "",
						from: "",
						to: "",
					},
				),
			},
			{
				label: "Copy the address",
				run: () => void copy(`0x${a.address_s.toLowerCase()}`, "Address"),
			},
		]);
	};
	return (
		<Card
			name="allocations"
			title="Allocations"
			said={
				pages.answer.data ? (
					<>
						<Sum bytes={pages.answer.data.total_size} blocks={pages.count} />
						{parameters["at"] ? ` alive at ${duration(Number(parameters["at"]))}` : ""}
					</>
				) : (
					""
				)
			}
			tools={
				<>
					{more.button}
					<Tools full={full} list="flat" figures="" />
				</>
			}>
			<Answered what="The allocations" answer={pages.answer} lines={12}>
				{() =>
					pages.count === 0 ? (
						<Nothing title="No allocation matches">
							This recording holds no allocations: the program made none, or all were
							culled.
						</Nothing>
					) : (
						<Table
							label="Allocations"
							columns={[...columns, ...more.columns]}
							{...pages.rows}
							subject={`${pages.subject} ${full}`}
							rowHeight={ROW}
							sort={sort}
							onSort={(next) => go({ sort: next })}
							nouns={pages.count === 1 ? "block" : "blocks"}
							detail={detail}
							onOpen={(a) => open.toggle(a.id)}
							onMenu={(a, _, x, y) => menu(a, x, y)}
						/>
					)
				}
			</Answered>
		</Card>
	);
}
