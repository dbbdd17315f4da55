// SPDX-License-Identifier: MIT OR Apache-2.0
// The frame of every view: the left column, the question box and the timeline where the view speaks
// about a recording, and the view that the address names.
import { useEffect, useState } from "preact/hooks";
import { onSaid } from "../parts/clipboard";
import { MenuHost } from "../parts/menu";
import { MissingNames } from "../parts/names";
import { Partial } from "../parts/partial";
import { Question } from "../parts/question";
import { Banner, Empty, Failure, Skeleton } from "../parts/states";
import { Strip } from "../parts/strip";
import { TipHost } from "../parts/tooltip";
import { isDecimal, percent } from "../parts/units";
import { VIEWS, type View } from "../views/views";
import { Column } from "./column";
import { Keys } from "./keys";
import { find, refresh, useRecordings, type Recording } from "./recordings";
import { programName } from "./program_name";
import { toggleTheme, useTheme } from "./theme";
import { go, href, useRoute } from "./url";

export function Shell() {
	const route = useRoute();
	const { list, error } = useRecordings();
	const [column, setColumn] = useState(false);
	const view = VIEWS.find((v) => v.name === route.view);
	const recording = view?.recording ? find(route.id) : undefined;
	useEffect(() => setColumn(false), [route.view, route.id]);
	useEffect(() => {
		document.title = [view?.label, recording && programName(recording), "Memoir"]
			.filter(Boolean)
			.join(" · ");
	}, [view, recording]);
	const ready = recording?.state === "ready" || recording?.state === "live";
	return (
		<div class="shell">
			<a
				class="skip hidden"
				href={href({})}
				onClick={(event) => {
					event.preventDefault();
					document.getElementById("view")?.focus();
				}}>
				To the view
			</a>
			<Column recording={recording} current={view ?? VIEWS[0]!} open={column} />
			{column && <div class="shade" onClick={() => setColumn(false)} />}
			<main class="main" id="view" tabIndex={-1}>
				<div class="top">
					<button
						type="button"
						class="button tall fold"
						aria-label="Views"
						aria-expanded={column}
						aria-controls="column"
						onClick={() => setColumn(!column)}>
						<span aria-hidden="true">☰</span>
					</button>
					{view?.strip && ready ? (
						<>
							<h1 class="hidden">{view.label}</h1>
							<Question id={route.id} />
						</>
					) : (
						<div class="top-title">
							<h1>{view?.label.replace("…", "") ?? "Not found"}</h1>
						</div>
					)}
					<Switches />
				</div>
				{error && list && (
					<Banner>{error.message} What is shown is what was known before.</Banner>
				)}
				{error && !list ? (
					<section class="card">
						<Failure
							what="The list of recordings"
							error={error}
							retry={() => void refresh()}
						/>
					</section>
				) : (
					<Body
						view={view}
						recording={recording}
						id={route.id}
						known={list !== undefined}
					/>
				)}
			</main>
			<MenuHost />
			<TipHost />
			<Notices />
			<Keys />
		</div>
	);
}

function Body({
	view,
	recording,
	id,
	known,
}: {
	view: View | undefined;
	recording: Recording | undefined;
	id: string;
	known: boolean;
}) {
	if (!view)
		return (
			<section class="card">
				<Empty title="There is no such view">
					<a class="link" href={href({ view: "recordings", id: "" })}>
						All recordings
					</a>
				</Empty>
			</section>
		);
	if (!view.recording) return <view.component id="" />;
	if (!known)
		return (
			<section class="card">
				<Skeleton />
			</section>
		);
	if (!recording) {
		return (
			<section class="card">
				<Empty title="The server does not have this recording">
					It may have been started with other files.{" "}
					<a class="link" href={href({ view: "recordings", id: "" })}>
						All recordings
					</a>
				</Empty>
			</section>
		);
	}
	if (recording.state === "loading") return <Loading recording={recording} />;
	if (recording.state === "error")
		return (
			<section class="card">
				<Failure
					what={recording.name}
					error={new Error(recording.error ?? "it cannot be read")}
					retry={() => void refresh()}
				/>
			</section>
		);
	return (
		<>
			{view.strip && <Strip key={id} id={id} />}
			{view.strip && <MissingNames key={`names/${id}`} recording={recording} />}
			{view.strip && view.name !== "overview" && <Partial recording={recording} />}
			<view.component key={`${view.name}/${id}`} id={id} />
		</>
	);
}

function Loading({ recording }: { recording: Recording }) {
	return (
		<section class="card" aria-label="Loading">
			<p>
				Reading {recording.name}: {percent(recording.progress, 1)}
			</p>
			<progress max={1} value={recording.progress} aria-label={`Reading ${recording.name}`} />
			<Skeleton />
		</section>
	);
}

function Switches() {
	const theme = useTheme();
	const decimal = isDecimal();
	return (
		<div class="switches">
			<button
				type="button"
				class="button tall"
				title="Sizes in powers of two or of ten"
				aria-label={
					`${decimal ? "MB" : "MiB"}: units are ` + (decimal ? "decimal" : "binary")
				}
				onClick={() => go({ units: decimal ? "" : "decimal" })}>
				{decimal ? "MB" : "MiB"}
			</button>
			<button
				type="button"
				class="button tall"
				title="Light or dark (d)"
				aria-label={theme === "dark" ? "Light colours" : "Dark colours"}
				onClick={toggleTheme}>
				<span aria-hidden="true">◐</span>
			</button>
		</div>
	);
}

/* Short messages: "stack copied". */
function Notices() {
	const [text, set] = useState("");
	useEffect(() => {
		let timer = 0;
		onSaid((said) => {
			set(said);
			clearTimeout(timer);
			timer = window.setTimeout(() => set(""), 2500);
		});
		return () => clearTimeout(timer);
	}, []);
	return (
		<div class={text ? "notice shown" : "notice"} role="status">
			{text}
		</div>
	);
}
