// SPDX-License-Identifier: MIT OR Apache-2.0
// The left column: the recording, the views, jemalloc, and what is done with a recording.
import { asScriptHref } from "../views/script";
import { VIEWS, type View } from "../views/views";
import { bytes, count, date, duration, short } from "../parts/units";
import { useAgents } from "./agents";
import { find, seconds, useRecordings, type Recording } from "./recordings";
import { programName } from "./program_name";
import { href, useRoute } from "./url";

const GROUPS: readonly View["group"][] = ["recording", "jemalloc", "this recording"];

export function Column({
	recording,
	current,
	open,
}: {
	recording: Recording | undefined;
	current: View;
	open: boolean;
}) {
	/* Other kinds of files have views of their own, and none of a recording's. */
	const { id: named } = useRoute(),
		id =
			named && !current.running && (find(named)?.kind ?? "recording") === "recording"
				? named
				: "";
	const asScript = id && current.strip ? asScriptHref() : undefined;
	const alone = current.recording ? undefined : asScriptHref();
	const running = !!useAgents()?.agents.length;
	const folder = useRecordings().list?.some((r) => r.kind === "processes");
	const fleet = useRecordings().list?.some((r) => r.kind === "fleet");
	return (
		<nav id="column" class={open ? "column open" : "column"} aria-label="Views">
			<a class="brand" href={href({ view: "recordings", id: "" })}>
				<span class="brand-mark" aria-hidden="true" />
				Memoir
			</a>
			{recording && <About recording={recording} />}
			{!id && (
				<a
					class="view-link"
					href={href({ view: "recordings", id: "" })}
					aria-current={current.name === "recordings" ? "page" : undefined}>
					Recordings
				</a>
			)}
			{folder && (
				<a
					class="view-link"
					href={href({ view: "processes", id: "" })}
					aria-current={current.name === "processes" ? "page" : undefined}>
					Processes
				</a>
			)}
			{fleet && (
				<a
					class="view-link"
					href={href({ view: "fleet", id: "" })}
					aria-current={current.name === "fleet" ? "page" : undefined}>
					Fleet
				</a>
			)}
			{GROUPS.map((group) => {
				const members = VIEWS.filter(
					(v) =>
						v.group === group &&
						(!v.recording || id) &&
						(!v.running || running || v === current),
				);
				if (!members.length) return null;
				return (
					<div key={group} class="view-group" role="group" aria-label={group}>
						{group !== "recording" && <p class="view-heading">{group}</p>}
						{members.map((v) => (
							<a
								key={v.name}
								class="view-link"
								href={href({ view: v.name, ...(v.recording ? {} : { id: "" }) })}
								aria-current={v === current ? "page" : undefined}>
								{v.label}
							</a>
						))}
						{group === "this recording" && asScript && <AsScript address={asScript} />}
					</div>
				);
			})}
			{alone && (
				<div class="view-group" role="group" aria-label="this view">
					<AsScript address={alone} />
				</div>
			)}
		</nav>
	);
}

function AsScript({ address }: { address: string }) {
	return (
		<a class="view-link" href={address} title="The same as a script (s)">
			This view as a script
		</a>
	);
}

function About({ recording: r }: { recording: Recording }) {
	return (
		<a
			class="about"
			href={href({ view: "recordings", id: "" })}
			title={`${r.cmdline ?? r.name}\nAll recordings`}>
			<strong>{programName(r)}</strong>
			<span>
				{r.pid !== undefined ? `pid ${r.pid} · ` : ""}
				{r.timestamp ? date(seconds(r.timestamp)) : r.name}
			</span>
			<span>
				{[
					r.runtime && duration(seconds(r.runtime)),
					r.allocated_count !== undefined && `${short(r.allocated_count)} allocs`,
				]
					.filter(Boolean)
					.join(" · ")}
			</span>
			<span title={`${count(r.file_size)} bytes`}>
				{r.unique_backtrace_count !== undefined
					? `${count(r.unique_backtrace_count)} stacks · `
					: ""}
				{!!r.file_size && `file ${bytes(r.file_size)}`}
			</span>
			{r.state === "live" && <span class="live">● still being recorded</span>}
		</a>
	);
}
