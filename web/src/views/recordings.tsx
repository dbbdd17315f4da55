// SPDX-License-Identifier: MIT OR Apache-2.0
// All recordings that the server has open: a table to search in; a file that is dropped is sent and
// opened; two that are ticked can be compared.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { forget, send, url, useApi } from "../app/api";
import { find, refresh, seconds, useRecordings, type Recording } from "../app/recordings";
import { programName } from "../app/program_name";
import { go, goTo, href, useRoute } from "../app/url";
import { Card } from "../parts/card";
import { notice } from "../parts/clipboard";
import { openMenu } from "../parts/menu";
import { Bytes, Count } from "../parts/number";
import { Empty, Skeleton } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { bytes, date, duration, middle, percent, plural } from "../parts/units";
import { upload, type Upload } from "../app/upload";

const ORDER: Record<string, (r: Recording) => number | string> = {
	name: (r) => programName(r).toLowerCase(),
	started: (r) => seconds(r.timestamp),
	runtime: (r) => seconds(r.runtime),
	peak: (r) => r.peak_allocated ?? -1,
	leaked: (r) => r.final_allocated ?? -1,
	allocations: (r) => r.allocated_count ?? -1,
	file: (r) => r.name.toLowerCase(),
};

export function Recordings() {
	const { parameters } = useRoute();
	const { list } = useRecordings();
	const search = parameters["search"] ?? "",
		sort = parameters["sort"] ?? "-started";
	const ticked = (parameters["tick"] ?? "").split(",").filter(Boolean);
	const rows = useMemo(() => {
		const words = search.toLowerCase().split(/\s+/).filter(Boolean);
		const found = (list ?? []).filter((r) =>
			words.every((w) =>
				(
					`${r.name} ${r.executable || r.heap?.program} ${about(r)} ${r.cmdline} ` +
					`${r.hostname} ${r.pid}`
				)
					.toLowerCase()
					.includes(w),
			),
		);
		const by = ORDER[sort.replace("-", "")] ?? ORDER["started"]!,
			sign = sort.startsWith("-") ? -1 : 1;
		/* A folder stands above what is in it. */
		const folder = (r: Recording): number => Number(r.kind === "processes");
		return found.sort(
			(a, b) => folder(b) - folder(a) || (by(a) < by(b) ? -sign : by(a) > by(b) ? sign : 0),
		);
	}, [list, search, sort]);
	const open = (r: Recording): string => opened(r, r.id);
	const tick = (r: Recording): void => {
		/* Two of a kind. */
		const alike = ticked.filter((id) => find(id)?.kind === r.kind);
		const next = ticked.includes(r.id)
			? ticked.filter((id) => id !== r.id)
			: [...alike, r.id].slice(-2);
		go({ tick: next.join(",") }, true);
	};
	const remove = async (r: Recording): Promise<void> => {
		await send(url("/data/{id}", { id: r.id }), { method: "DELETE" }).catch((error: Error) =>
			notice(error.message),
		);
		forget(`/data/${r.id}`);
		await refresh();
	};
	const columns: Column<Recording>[] = [
		{
			key: "tick",
			label: "",
			width: "24px",
			title: "Compare two",
			cell: (r) =>
				(r.kind === "recording" || r.kind === "heap") &&
				r.state !== "error" && (
					<input
						type="checkbox"
						aria-label={`Compare ${r.name}`}
						checked={ticked.includes(r.id)}
						onClick={(event) => event.stopPropagation()}
						onChange={() => tick(r)}
					/>
				),
		},
		{
			key: "name",
			label: "program",
			sort: true,
			width: "minmax(180px, 2fr)",
			cell: (r) => <Name recording={r} to={open(r)} />,
		},
		{
			key: "file",
			label: "file",
			sort: true,
			width: "minmax(120px, 1fr)",
			cell: (r) => (
				<span class="dim" title={`${r.name}, ${bytes(r.file_size)}`}>
					{middle(r.name, 40)}
				</span>
			),
		},
		{
			key: "started",
			label: "started",
			sort: true,
			width: "136px",
			cell: (r) =>
				r.timestamp ? (
					date(seconds(r.timestamp))
				) : (
					<span class="across dim">{facts(r)}</span>
				),
		},
		{
			key: "runtime",
			label: "run time",
			sort: true,
			number: true,
			width: "88px",
			cell: (r) => (r.runtime ? duration(seconds(r.runtime)) : ""),
		},
		{
			key: "allocations",
			label: "allocations",
			sort: true,
			number: true,
			width: "104px",
			cell: (r) =>
				r.allocated_count !== undefined && <Count value={r.allocated_count} to={open(r)} />,
		},
		{
			key: "peak",
			label: "peak",
			sort: true,
			number: true,
			width: "88px",
			cell: (r) =>
				r.peak_allocated !== undefined && (
					<Bytes
						value={r.peak_allocated}
						to={href({ view: "flame", id: r.id }, { measure: "peak" })}
					/>
				),
		},
		{
			key: "leaked",
			label: "never freed",
			sort: true,
			number: true,
			width: "96px",
			cell: (r) =>
				r.final_allocated !== undefined && (
					<Bytes
						value={r.final_allocated}
						to={href({ view: "flame", id: r.id }, { measure: "leaked" })}
					/>
				),
		},
	];
	const [first, second] = [...ticked].sort((a, b) => stamp(list, a) - stamp(list, b));
	const several = rows.filter((r) => r.state === "loading").length;
	return (
		<Drop>
			{(choose) => (
				<Card
					title="Recordings"
					name="recordings"
					said={
						list &&
						`${plural(list.length, "file")}${several ? `, ${several} being read` : ""}`
					}
					tools={
						<>
							<input
								class="field search"
								type="search"
								aria-label="Search recordings"
								placeholder="Search"
								value={search}
								onInput={(event) => go({ search: event.currentTarget.value }, true)}
							/>
							{first && second ? (
								find(second)?.kind === "heap" ? (
									<a
										class="button primary"
										href={href({ view: "heap", id: second }, { base: first })}>
										Compare
									</a>
								) : (
									<>
										<a
											class="button primary"
											href={href(
												{ view: "compare", id: second },
												{ against: first },
											)}>
											Compare
										</a>
										<a
											class="button"
											href={href(
												{ view: "flame", id: second },
												{ against: first },
											)}>
											Flame difference
										</a>
									</>
								)
							) : (
								<span class="dim">tick two to compare</span>
							)}
							<button type="button" class="button" onClick={choose}>
								Open a file…
							</button>
						</>
					}>
					{!list ? (
						<Skeleton />
					) : !list.length ? (
						<Empty title="Nothing is open yet">
							Drop a recording here, or start the server with files:{" "}
							<code>memoir server app.dat</code>. A recording is made by{" "}
							<code>memoir run -o app.dat -- ./app</code>.
						</Empty>
					) : !rows.length ? (
						<Empty title={`No recording fits “${search}”`}>
							<a class="link" href={href({}, { search: "" })}>
								Show all
							</a>
						</Empty>
					) : (
						<Table
							label="Recordings"
							columns={columns}
							count={rows.length}
							row={(i) => rows[i]}
							sort={sort}
							onSort={(next) => go({ sort: next })}
							rowHeight={48}
							height={720}
							onOpen={(r) => goTo(open(r))}
							onMenu={(r, _i, x, y) =>
								openMenu(x, y, r.name, [
									{ label: "Open", href: open(r) },
									...(r.kind === "recording"
										? [
												{
													label: "Flame graph",
													href: href({ view: "flame", id: r.id }),
												},
											]
										: []),
									...(r.uploaded
										? [{ label: "Forget this file", run: () => void remove(r) }]
										: []),
								])
							}
						/>
					)}
					<p class="dim drop-hint">
						Drop a file anywhere on this page to open it; it stays on this computer's
						server.
					</p>
				</Card>
			)}
		</Drop>
	);
}

const stamp = (list: Recording[] | undefined, id: string): number =>
	seconds(list?.find((r) => r.id === id)?.timestamp);

/* What is no recording says what it is, and what is known of it across the columns of
 * recordings. */
const KINDS: Record<string, string> = {
	heap: "heap profile",
	statistics: "jemalloc statistics",
	processes: "all processes of this folder",
};
const about = (r: Recording): string => KINDS[r.kind] ?? r.kind;
const facts = (r: Recording): string =>
	(r.jemalloc
		? [
				r.jemalloc.version && `jemalloc ${r.jemalloc.version.replace(/-.*/, "")}`,
				plural(r.jemalloc.snapshots, "snapshot"),
				r.jemalloc.allocated !== undefined && `${bytes(r.jemalloc.allocated)} allocated`,
			]
		: r.heap
			? [
					`${bytes(r.heap.inuse_space)} in use in ` +
						`${plural(r.heap.inuse_objects, "block")}`,
					r.heap.rate > 1 ? `a sample every ${bytes(r.heap.rate)}` : "everything counted",
					plural(r.heap.stacks, "stack"),
					r.heap.threads > 1 && plural(r.heap.threads, "thread"),
				]
			: r.recordings
				? [plural(r.recordings, "recording")]
				: []
	)
		.filter(Boolean)
		.join(" · ");

function Name({ recording: r, to }: { recording: Recording; to: string }) {
	const state =
		r.state === "loading"
			? `being read: ${percent(r.progress, 1)}`
			: r.state === "live"
				? "● still being recorded"
				: r.state === "error"
					? (r.error ?? "cannot be read")
					: undefined;
	return (
		<div class="two-lines">
			<a href={to} class="strong" onClick={(event) => event.stopPropagation()}>
				{programName(r)}
			</a>
			{state ? (
				<span class={r.state === "error" ? "bad" : "live"} title={state}>
					{state}
				</span>
			) : (
				<span class="dim" title={r.cmdline}>
					{middle(r.cmdline || about(r), 90)}
					{r.warnings?.length ? ` · ${plural(r.warnings.length, "warning")}` : ""}
				</span>
			)}
		</div>
	);
}

/* Each kind of file has a view of its own. */
const opened = (r: Recording | undefined, id: string): string =>
	href({ view: !r || r.kind === "recording" ? "overview" : r.kind, id });

/* The whole view takes files that are dropped, and one can be chosen. */
export function Drop({ children }: { children: (choose: () => void) => preact.ComponentChildren }) {
	const [over, setOver] = useState(false);
	const [sent, setSent] = useState<Upload[]>([]);
	const input = useRef<HTMLInputElement>(null);
	const api = useApi();
	const take = (files: FileList | null | undefined): void => {
		for (const file of [...(files ?? [])]) {
			const mine: Upload = { name: file.name, part: 0 };
			setSent((all) => [...all, mine]);
			upload(file, api.data?.upload_limit, (state) =>
				setSent((all) => all.map((u) => (u.name === mine.name ? state : u))),
			).then(
				async (id) => {
					await refresh();
					setSent((all) => all.filter((u) => u.name !== mine.name));
					goTo(opened(find(id), id));
				},
				() => {},
			);
		}
	};
	useEffect(() => {
		let depth = 0;
		const enter = (event: DragEvent): void => {
			if (event.dataTransfer?.types.includes("Files")) setOver(++depth > 0);
		};
		const leave = (): void => setOver((depth = Math.max(0, depth - 1)) > 0);
		const stay = (event: DragEvent): void => event.preventDefault();
		const drop = (event: DragEvent): void => {
			event.preventDefault();
			setOver((depth = 0) > 0);
			take(event.dataTransfer?.files);
		};
		const all = [
			["dragenter", enter],
			["dragleave", leave],
			["dragover", stay],
			["drop", drop],
		] as const;
		for (const [name, handler] of all) addEventListener(name, handler as EventListener);
		return () => {
			for (const [name, handler] of all) removeEventListener(name, handler as EventListener);
		};
	}, [api.data]);
	return (
		<div class={over ? "drop over" : "drop"}>
			<input
				ref={input}
				type="file"
				class="hidden"
				tabIndex={-1}
				aria-label="Open a file"
				multiple
				onChange={(event) => {
					take(event.currentTarget.files);
					event.currentTarget.value = "";
				}}
			/>
			{sent.map((u) => (
				<div
					key={u.name}
					class={u.error ? "failure" : "banner"}
					role={u.error ? "alert" : "status"}>
					{u.error ? (
						<>
							<p>
								<strong>{u.name} could not be opened:</strong> {u.error}
							</p>
							<button
								type="button"
								class="button"
								onClick={() =>
									setSent((all) => all.filter((x) => x.name !== u.name))
								}>
								Close
							</button>
						</>
					) : (
						<>
							Sending {u.name}: {percent(u.part, 1)}{" "}
							<progress max={1} value={u.part} aria-label={`Sending ${u.name}`} />
						</>
					)}
				</div>
			))}
			{children(() => input.current?.click())}
		</div>
	);
}
