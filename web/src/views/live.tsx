// SPDX-License-Identifier: MIT OR Apache-2.0
// A running program's jemalloc: figures and curves that move each second, its arenas, and what can
// be changed in it.  A heap profile dump, or its statistics in full, is one click away.
import { useEffect } from "preact/hooks";
import { send, url } from "../app/api";
import { agentName, useAgents, type Agent } from "../app/agents";
import { find, refresh } from "../app/recordings";
import { go, goTo, href, useRoute } from "../app/url";
import type { Snapshot } from "../jemalloc/data";
import { shown } from "../jemalloc/shown";
import { Arenas } from "../jemalloc/tables";
import { Controls, Said, useDoing } from "../live/controls";
import { Curves } from "../live/curves";
import { useLive, type Live } from "../live/data";
import { Gauges } from "../live/gauges";
import { Card } from "../parts/card";
import { Empty, Skeleton } from "../parts/states";
import { middle } from "../parts/units";
import "../style/jemalloc.css";
import "../style/live.css";

const clock = (ms: number): string => new Date(ms).toLocaleTimeString("en-GB");

/* Fetches something of the program, opens it on the server, and goes there. */
function Fetch({
	agent,
	what,
	view,
	label,
	primary,
	title,
	gone,
}: {
	agent: string;
	what: "dump" | "snapshot";
	view: string;
	label: string;
	primary?: boolean;
	title: string;
	gone: boolean;
}) {
	const { busy, outcome, run } = useDoing();
	const fetchIt = async (): Promise<string> => {
		const { id, name } = (await (
			await send(url(`/agents/{agent}/${what}`, { agent }), { method: "POST" })
		).json()) as { id: string; name: string };
		await refresh();
		goTo(href({ view: find(id)?.kind ?? view, id }));
		return name;
	};
	return (
		<span class="live-fetch" data-fetch={what}>
			<button
				type="button"
				class={primary ? "button primary" : "button"}
				title={title}
				disabled={gone}
				aria-busy={busy}
				onClick={() => run(fetchIt)}>
				{label}
			</button>
			<Said outcome={outcome} busy={busy} />
		</span>
	);
}

function Head({
	agents,
	agent,
	live,
	paused,
}: {
	agents: readonly Agent[];
	agent: Agent;
	live: Live;
	paused: boolean;
}) {
	const version = live.now?.version ?? agent.version,
		gone = !live.now || !!live.error;
	const facts = [
		agent.pid ? `process ${agent.pid}` : "",
		agent.address,
		version ? `jemalloc ${version.replace(/-.*/, "")}` : "",
		live.now ? clock(live.now.time_ms) : "",
	]
		.filter(Boolean)
		.join(" · ");
	return (
		<Card
			title={middle(agentName(agent), 50)}
			name="live"
			said={<span title={`${agent.program}\n${version ?? ""}`}>{facts}</span>}
			tools={
				<>
					{agents.length > 1 && (
						<label class="jem-choose">
							program{" "}
							<select
								id="agent"
								value={agent.id}
								onChange={(event) =>
									goTo(href({ view: "live", id: event.currentTarget.value }))
								}>
								{agents.map((a) => (
									<option key={a.id} value={a.id}>
										{agentName(a)}
										{a.pid ? ` (${a.pid})` : ""}
									</option>
								))}
							</select>
						</label>
					)}
					<button
						type="button"
						class="button"
						id="pause"
						aria-pressed={paused}
						disabled={!live.now}
						onClick={() => go({ pause: paused ? "" : "1" }, true)}>
						{paused ? "Go on" : "Pause"}
					</button>
					<Fetch
						agent={agent.id}
						what="snapshot"
						view="statistics"
						label="Snapshot and open"
						title={
							"Its statistics of this moment in full: bins, large classes, " +
							"extents, mutexes, advice"
						}
						gone={gone}
					/>
					<Fetch
						agent={agent.id}
						what="dump"
						view="heap"
						label="Dump and open"
						primary
						title="A heap profile of this moment: who holds the memory"
						gone={gone}
					/>
				</>
			}>
			{live.error && (
				<div class="failure" role="alert">
					<p>
						<strong>
							{live.now ? "It cannot be followed any more:" : "It cannot be shown:"}
						</strong>{" "}
						{live.error.message}.
						{live.now ? ` What is shown is of ${clock(live.now.time_ms)}.` : ""}
					</p>
				</div>
			)}
			{paused && !live.error && (
				<p class="dim" role="status">
					Paused; what comes meanwhile is kept.
				</p>
			)}
		</Card>
	);
}

function One({ agents, agent }: { agents: readonly Agent[]; agent: Agent }) {
	const { parameters } = useRoute();
	const paused = parameters["pause"] === "1",
		all = useAgents();
	const live = useLive(agent.id, paused),
		{ now, series } = live;
	return (
		<div class="stack live-view" data-number={now?.number}>
			<Head agents={agents} agent={agent} live={live} paused={paused} />
			{!now || !series ? (
				!live.error && (
					<Card title="Now">
						<Skeleton />
					</Card>
				)
			) : (
				<>
					<Gauges now={now} />
					<Curves series={series} arenas={now.arenas.map((a) => a.arena)} />
					<Controls
						agent={agent.id}
						controls={all?.controls ?? []}
						now={now}
						gone={!!live.error}
						changed={live.again}
					/>
					<Arenas
						snapshot={now as unknown as Snapshot}
						show={shown(false)}
						onChoose={(arena) => go({ arena })}
					/>
				</>
			)}
		</div>
	);
}

let last: Agent | undefined; /* that was looked at */

export function LiveView() {
	const { id } = useRoute(),
		known = useAgents();
	const first = known?.agents[0]?.id;
	useEffect(() => {
		if (!id && first) goTo(href({ view: "live", id: first }), true);
	}, [id, first]);
	if (!known || (!id && first))
		return (
			<Card title="Live">
				<Skeleton />
			</Card>
		);
	const { agents } = known,
		asked = agents.find((a) => a.id === id);
	/* One that has ended is gone from the list; what is known of it is shown. */
	if (asked) last = asked;
	const agent =
		asked ??
		(id
			? last?.id === id
				? last
				: {
						id,
						pid: 0,
						program: "",
						address: `agent ${id}`,
						given: false,
						state: "error" as const,
						error: null,
					}
			: undefined);
	if (agent)
		return <One key={agent.id} agents={asked ? agents : [agent, ...agents]} agent={agent} />;
	return (
		<Card title="Live" name="no-agent">
			<Empty title="No program of yours runs with the agent">
				Start one with <code>memoir run --agent ./app</code> (the program needs jemalloc),
				or tell the server where one is: <code>memoir server http://127.0.0.1:7790</code>.
			</Empty>
		</Card>
	);
}
