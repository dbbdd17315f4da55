// SPDX-License-Identifier: MIT OR Apache-2.0
// One memory map: what of it was resident over time, the parts it had and what ended them, and the
// stacks that mapped, enlarged and unmapped it.
import { useEffect, useRef } from "preact/hooks";
import { useFacts } from "../app/facts";
import { dataUrl, nsToSeconds, seconds, useData, type Timeval } from "../app/recordings";
import { url } from "../app/api";
import { go, href, useRoute } from "../app/url";
import { Card, Choice } from "../parts/card";
import {
	curves,
	kindOf,
	lifetime,
	PAGE,
	permissions,
	shownName,
	type Growth,
	type MemoryMap,
	type Maps,
	type Region,
	type Usage,
} from "../parts/memory_maps";
import { openMenu } from "../parts/menu";
import { momentMenu } from "../parts/moments";
import { Bytes, Count } from "../parts/number";
import { Plot } from "../parts/plot";
import { Share, Two } from "../parts/spark";
import { Stack, stackText } from "../parts/stack";
import { Answered, Empty } from "../parts/states";
import { seconds as written } from "../parts/strip";
import { Table, type Column } from "../parts/table";
import { bytes, duration, percent, plural } from "../parts/units";
import { ROW, useOpen, Who } from "./allocation_parts";
import { mapItems } from "./map_parts";

const momentOf = (t: Timeval): string => nsToSeconds(t.secs * 1e9 + t.fract_nsecs);
const At = ({ t }: { t: Timeval }) => (
	<a class="number" href={href({}, { at: momentOf(t) })}>
		{duration(seconds(t))}
	</a>
);

export function MapDetails({ id, map }: { id: string; map: string }) {
	const answer = useData<Maps>(
		dataUrl(id, "/data/{id}/maps", {
			id: map,
			with_regions: true,
			with_usage_history: true,
			count: 1,
		}),
	);
	const box = useRef<HTMLDivElement>(null);
	const found = answer.data?.maps[0];
	/* A row far below was opened: its details are what the reader wants to see. */
	useEffect(() => {
		box.current?.scrollIntoView({ block: "nearest" });
		box.current?.focus({ preventScroll: true });
	}, [map]);
	const close = (): void => {
		go({ map: "", as: "", unfold: "" });
		document.querySelector<HTMLElement>("[data-card=maps] .table")?.focus();
	};
	return (
		<div
			ref={box}
			tabIndex={-1}
			class="map-details"
			onKeyDown={(event) => {
				if (event.key !== "Escape") return;
				event.stopPropagation();
				close();
			}}>
			<Card
				name="map"
				title={found ? `${shownName(found.name)}, map #${found.id}` : `Map #${map}`}
				said={found && <Said map={found} />}
				tools={
					<>
						{found && (
							<>
								<button
									type="button"
									class="button"
									onClick={(event) => {
										const at = event.currentTarget.getBoundingClientRect();
										openMenu(
											at.left,
											at.bottom,
											shownName(found.name),
											mapItems(found),
										);
									}}>
									More…
								</button>
								<a
									class="button"
									href={url("/data/{id}/map_graph", { id }, { map: found.id })}
									title="The curve as a picture (SVG)">
									Picture
								</a>
							</>
						)}
						<button type="button" class="button" onClick={close}>
							Close
						</button>
					</>
				}>
				<Answered what="The map" answer={answer} lines={8}>
					{() =>
						found ? (
							<Body id={id} map={found} />
						) : (
							<Empty title="There is no such map">
								<p>Numbers of maps are those of one recording.</p>
							</Empty>
						)
					}
				</Answered>
			</Card>
		</div>
	);
}

function Said({ map }: { map: MemoryMap }) {
	const life = lifetime(map),
		kind = kindOf(map.name);
	return (
		<>
			<code>{permissions(map)}</code> {bytes(map.size)} at{" "}
			<code>0x{map.address.toString(16)}</code>
			{kind && ` · ${kind}`}
			{map.source && ` · ${map.source.call} by thread ${map.source.thread}`} · since{" "}
			<At t={map.timestamp_relative} />
			{life === undefined ? ", stayed" : `, for ${duration(life)}`} ·{" "}
			{map.peak_rss
				? `at its most ${bytes(map.peak_rss)} resident (${percent(map.peak_rss, map.size)})`
				: "never seen resident"}
		</>
	);
}

function Body({ id, map }: { id: string; map: MemoryMap }) {
	const { parameters } = useRoute();
	const history = map.usage_history ?? [],
		regions = map.regions ?? [];
	const as = parameters["as"] === "table" ? "table" : "graph";
	const unfolded = useOpen("unfold");
	const stacks = [
		[`Mapped at ${duration(seconds(map.timestamp_relative))}`, map.source?.backtrace],
		[
			map.deallocation &&
				`Unmapped at ${duration(seconds(map.deallocation.timestamp_relative))}`,
			map.deallocation?.source?.backtrace,
		],
	] as const;
	return (
		<div class="map-body">
			<section aria-label="Over time" class="map-part">
				<header>
					<h3>Over time</h3>
					<Choice
						label="Over time as"
						value={as}
						options={[
							["graph", "graph"],
							["table", "table"],
						]}
						onChange={(value) => go({ as: value === "table" ? value : "" })}
					/>
				</header>
				{history.length === 0 ? (
					<p class="dim">No sample of the memory maps has seen it.</p>
				) : as === "table" ? (
					<History history={history} />
				) : (
					<Curve id={id} history={history} map={map} />
				)}
			</section>
			<section aria-label="Stacks" class="map-part">
				<header>
					<h3>Stacks</h3>
				</header>
				{stacks.some(([, frames]) => frames) ? (
					<div class="stacks map-stacks">
						{stacks.map(
							([title, frames], i) =>
								frames && (
									<Stack
										key={title}
										title={title!}
										frames={frames}
										all={unfolded.has(i)}
										onAll={() => unfolded.toggle(i)}
									/>
								),
						)}
					</div>
				) : (
					<p class="dim">
						Nobody was seen to map it: the kernel, the loader, or a call before the
						recorder was there. It begins and ends at a sample.
					</p>
				)}
			</section>
			<section aria-label="Parts" class="map-part map-wide">
				<header>
					<h3>{plural(regions.length, "part")} over time</h3>
				</header>
				<Regions regions={regions} map={map} />
			</section>
			{map.grown_by && (
				<section aria-label="Who made it larger" class="map-part map-wide">
					<header>
						<h3>Who made it larger</h3>
					</header>
					<Growths list={map.grown_by} />
				</section>
			)}
		</div>
	);
}

function Curve({ id, history, map }: { id: string; history: readonly Usage[]; map: MemoryMap }) {
	const { parameters } = useRoute();
	const runtime = (useFacts(id).data?.runtime_ns ?? 0) / 1e9;
	const end = map.deallocation ? seconds(map.deallocation.timestamp_relative) : runtime;
	const { xs, rss, space } = curves(history, end);
	const whole = Math.max(runtime, xs.at(-1) ?? 0);
	/* Addresses that are far more than what is resident would press it to the ground. */
	const apart = map.size > 8 * Math.max(1, map.peak_rss) && map.peak_rss > 0;
	return (
		<Plot
			label={`What of ${shownName(map.name)} was resident`}
			xs={xs}
			lines={[
				{ label: "resident", values: rss, tone: "curve", fill: true },
				...(apart ? [] : [{ label: "mapped", values: space, tone: "second" as const }]),
			]}
			from={parameters["from"] ? Number(parameters["from"]) : 0}
			to={parameters["to"] ? Number(parameters["to"]) : whole}
			height={210}
			format={bytes}
			binary
			moment={parameters["at"] ? Number(parameters["at"]) : undefined}
			group={id}
			onMoment={(s) => go({ at: written(s) })}
			onZoom={(a, b) => go({ from: written(a), to: written(b) })}
			onMenu={(x, y, s) => openMenu(x, y, `At ${duration(s)}`, momentMenu(s, [0, whole]))}
		/>
	);
}

function History({ history }: { history: readonly Usage[] }) {
	const figure = (
		key: keyof Usage & string,
		label: string,
		value: (u: Usage) => number,
	): Column<Usage> => ({
		key,
		label,
		number: true,
		width: "80px",
		cell: (u, i) => (
			<span class={i > 0 && value(history[i - 1]!) !== value(u) ? "changed" : ""}>
				<Bytes value={value(u)} />
			</span>
		),
		text: (u) => String(value(u)),
	});
	const columns: Column<Usage>[] = [
		{
			key: "at",
			label: "from",
			number: true,
			width: "88px",
			cell: (u) => <At t={u.timestamp_relative} />,
			text: (u) => String(seconds(u.timestamp_relative)),
		},
		figure("address_space", "mapped", (u) => u.address_space),
		figure("rss", "resident", (u) => u.rss),
		figure("anonymous", "anonymous", (u) => u.anonymous),
		figure("private_dirty", "dirty", (u) => u.private_dirty + u.shared_dirty),
		figure("private_clean", "clean", (u) => u.private_clean + u.shared_clean),
		figure("swap", "swap", (u) => u.swap),
	];
	return (
		<Table
			label="What of it was used"
			columns={columns}
			count={history.length}
			row={(i) => history[i]}
			height={232}
			nouns={history.length === 1 ? "change" : "changes"}
			onOpen={(u) => go({ at: momentOf(u.timestamp_relative) })}
		/>
	);
}

function Regions({ regions, map }: { regions: readonly Region[]; map: MemoryMap }) {
	const columns: Column<Region>[] = [
		{
			key: "address",
			label: "from – to",
			width: "minmax(150px, 1fr)",
			text: (r) => `0x${r.address.toString(16)}-0x${(r.address + r.size).toString(16)}`,
			cell: (r) => (
				<span class="mono two">
					{r.address.toString(16)}
					<span class="two-below">{(r.address + r.size).toString(16)}</span>
				</span>
			),
		},
		{
			key: "size",
			label: "size",
			number: true,
			width: "100px",
			text: (r) => String(r.size),
			cell: (r) => (
				<Two below={plural(Math.ceil(r.size / PAGE), "page")}>
					<Bytes value={r.size} />
				</Two>
			),
		},
		{
			key: "since",
			label: "since",
			number: true,
			width: "80px",
			text: (r) => String(seconds(r.timestamp_relative)),
			cell: (r) => <At t={r.timestamp_relative} />,
		},
		{
			key: "lived",
			label: "lived",
			number: true,
			width: "80px",
			text: (r) => String(lifetime(r) ?? ""),
			cell: (r) => {
				const life = lifetime(r);
				return life === undefined ? "∞" : duration(life);
			},
		},
		{
			key: "permissions",
			label: "perms",
			width: "56px",
			text: permissions,
			cell: (r) => <code>{permissions(r)}</code>,
		},
		{
			key: "name",
			label: "name",
			width: "minmax(120px, 1fr)",
			text: (r) => r.name,
			cell: (r) => (
				<span class="who" title={r.name}>
					{shownName(r.name)}
					{r.file_offset > 0 && <span class="place">from {bytes(r.file_offset)}</span>}
				</span>
			),
		},
		{
			key: "ended",
			label: "ended by",
			width: "minmax(200px, 2fr)",
			text: (r) =>
				(r.deallocation?.sources ?? [])
					.map(
						(s) =>
							`${s.source?.call ?? ""} ${s.length} at 0x${s.address.toString(16)} ` +
							stackText(s.source?.backtrace ?? []).replaceAll("\n", " ← "),
					)
					.join("; "),
			cell: (r) => {
				const [first, ...more] = r.deallocation?.sources ?? [];
				if (!r.deallocation) return <span class="dim">it stayed</span>;
				if (!first?.source) return <span class="dim">seen from outside</span>;
				return (
					<>
						<Who frames={first.source.backtrace ?? []} />
						<span class="hidden">
							{first.source.call} of {bytes(first.length)}
							{more.length > 0 && ` and ${more.length} more`}
						</span>
					</>
				);
			},
		},
	];
	return (
		<Table
			label={`Parts of ${shownName(map.name)}`}
			columns={columns}
			count={regions.length}
			row={(i) => regions[i]}
			rowHeight={ROW}
			height={Math.min(264, 33 + regions.length * ROW)}
			nouns={regions.length === 1 ? "part" : "parts"}
		/>
	);
}

function Growths({ list }: { list: readonly Growth[] }) {
	const whole = list.reduce((sum, g) => sum + g.bytes, 0);
	const columns: Column<Growth>[] = [
		{
			key: "who",
			label: "asked by",
			width: "minmax(220px, 2fr)",
			text: (g) => stackText(g.backtrace).replaceAll("\n", " ← "),
			cell: (g) => <Who frames={g.backtrace} />,
		},
		{
			key: "bytes",
			label: "grown by",
			number: true,
			width: "minmax(110px, 0.4fr)",
			text: (g) => String(g.bytes),
			cell: (g) => (
				<Share part={g.bytes} whole={whole}>
					<Bytes value={g.bytes} />
				</Share>
			),
		},
		{
			key: "calls",
			label: "calls",
			number: true,
			width: "72px",
			text: (g) => String(g.calls),
			cell: (g) => <Count value={g.calls} />,
		},
	];
	return (
		<Table
			label="Who made it larger"
			columns={columns}
			count={list.length}
			row={(i) => list[i]}
			rowHeight={ROW}
			height={Math.min(264, 33 + list.length * ROW)}
			nouns={list.length === 1 ? "stack" : "stacks"}
		/>
	);
}
