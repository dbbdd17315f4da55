// SPDX-License-Identifier: MIT OR Apache-2.0
// What can be changed in the program.  Which controls there are, and what they take, the server
// says; this has their words and where they stand.  Each shows its answer, or why not, beside it.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ApiError, send, url } from "../app/api";
import type { AgentsControlQuery } from "../app/endpoints";
import type { Control } from "../app/agents";
import { Card } from "../parts/card";
import { save } from "../parts/clipboard";
import { bytes, count } from "../parts/units";
import { time, type Now } from "./data";

interface Row {
	name: string;
	label: string;
	button?: string; /* what a control without a switch is called */
	on?: (now: Now) => boolean | undefined; /* what the switch is now */
	hints?: Record<string, string>; /* in empty fields */
}
interface Group {
	key: string;
	title: string;
	said: (now: Now) => string;
	rows: readonly Row[];
}

const rate = (lg: number | undefined): string =>
	lg === undefined ? "" : `a sample every ${bytes(2 ** lg)}`;
const decay = (what: string, ms: number | undefined): string =>
	ms === undefined
		? ""
		: `${what} ${ms < 0 ? "never" : ms === 0 ? "at once" : `after ${time(ms)}`}`;

const GROUPS: readonly Group[] = [
	{
		key: "prof",
		title: "Profiling",
		said: ({ prof }) =>
			!prof.enabled
				? "not enabled: start the program with MALLOC_CONF=prof:true"
				: [
						prof.active ? "on" : "off",
						rate(prof.lg_sample),
						prof.accum ? "counts what was freed too" : "",
					]
						.filter(Boolean)
						.join(" · "),
		rows: [
			{ name: "prof/active", label: "Profiling", on: (n) => n.prof.active },
			{
				name: "prof/thread_active_init",
				label: "In new threads",
				on: (n) => n.prof.thread_active_init,
			},
			{ name: "prof/gdump", label: "Dump at each peak", on: (n) => n.prof.gdump },
			{
				name: "prof/reset",
				label: "Forget samples",
				button: "Reset",
				hints: { lg_sample: "lg of the rate, 0 to 63" },
			},
			{
				name: "prof/prefix",
				label: "Names of dumps",
				button: "Set",
				hints: { value: "prefix" },
			},
			{
				name: "prof/recent",
				label: "Last blocks kept",
				button: "Set",
				hints: { value: "how many, −1: all" },
			},
			{ name: "prof/log/start", label: "Log of freed blocks", button: "Start" },
			{ name: "prof/log/stop", label: "End of that log", button: "Stop and save" },
			{
				name: "prof/dump",
				label: "Dump there",
				button: "Write",
				hints: { path: "/new/file, on its computer" },
			},
		],
	},
	{
		key: "pages",
		title: "Giving pages back",
		said: ({ shape }) =>
			[decay("dirty", shape["dirty_decay_ms"]), decay("muzzy", shape["muzzy_decay_ms"])]
				.filter(Boolean)
				.join(" · "),
		rows: [
			{
				name: "purge",
				label: "Give all back",
				button: "Purge",
				hints: { arena: "arena: all" },
			},
			{
				name: "decay",
				label: "Give back what is due",
				button: "Decay",
				hints: { arena: "arena: all" },
			},
			{
				name: "dirty_decay_ms",
				label: "Dirty decay",
				button: "Set",
				hints: { value: "ms, −1: never", arena: "arena: all" },
			},
			{
				name: "muzzy_decay_ms",
				label: "Muzzy decay",
				button: "Set",
				hints: { value: "ms, −1: never", arena: "arena: all" },
			},
		],
	},
	{
		key: "threads",
		title: "Threads and mutexes",
		said: ({ stats }) =>
			stats["num_threads"]
				? `${count(stats["num_threads"])} background threads run`
				: "no background thread runs",
		rows: [
			{
				name: "background_thread",
				label: "Background threads",
				on: (n) =>
					n.stats["num_threads"] === undefined ? undefined : n.stats["num_threads"] > 0,
			},
			{
				name: "max_background_threads",
				label: "At most",
				button: "Set",
				hints: { value: "threads" },
			},
			{ name: "mutexes/reset", label: "Counters of mutexes", button: "Reset" },
			{
				name: "mallctl",
				label: "Any name",
				button: "Set",
				hints: { name: "arena.0.dirty_decay_ms", value: "value" },
			},
		],
	},
];

/* What the agent read back, in words. */
export function said(answer: unknown): string {
	if (answer === null || typeof answer !== "object") return "done";
	const all = answer as Record<string, unknown>;
	if (typeof all["resident_before"] === "number" && typeof all["resident"] === "number")
		return `resident ${bytes(all["resident_before"])} → ${bytes(all["resident"])}`;
	const parts = Object.entries(all)
		.filter(([, value]) => value !== null)
		.map(([key, value]) => `${key} = ${String(value)}`);
	return parts.join(", ") || "done";
}

interface Outcome {
	text: string;
	bad: boolean;
}

/* One request at a time, with what came of it. */
export function useDoing(): {
	busy: boolean;
	outcome: Outcome | undefined;
	run: (what: () => Promise<string>) => void;
} {
	const [busy, setBusy] = useState(false);
	const [outcome, setOutcome] = useState<Outcome>();
	const run = (what: () => Promise<string>): void => {
		if (busy) return;
		setBusy(true);
		setOutcome(undefined);
		what()
			.then(
				(text) => setOutcome({ text, bad: false }),
				(error: unknown) =>
					setOutcome({
						text: error instanceof ApiError ? error.message : String(error),
						bad: true,
					}),
			)
			.finally(() => setBusy(false));
	};
	return { busy, outcome, run };
}

export function Said({ outcome, busy }: { outcome: Outcome | undefined; busy: boolean }) {
	return (
		<output
			class={outcome?.bad ? "live-said bad" : "live-said"}
			role={outcome?.bad ? "alert" : "status"}>
			{busy ? "…" : outcome ? `${outcome.bad ? "" : "✓ "}${outcome.text}` : ""}
		</output>
	);
}

function One({
	agent,
	row,
	control,
	now,
	gone,
	changed,
}: {
	agent: string;
	row: Row;
	control: Control;
	now: Now;
	gone: boolean;
	changed: () => void;
}) {
	const [values, setValues] = useState<Record<string, string>>({});
	const { busy, outcome, run } = useDoing();
	const post = (query: AgentsControlQuery): void =>
		run(async () => {
			const answer = await send(
				url("/agents/{agent}/control/{name*}", { agent, name: control.name }, query),
				{ method: "POST" },
			);
			changed();
			if (!control.file) return said(await answer.json());
			const text = await answer.text(),
				name =
					`${now.program.split("/").pop() || "program"}.${now.pid}.` +
					`${control.name.replaceAll("/", "-")}.json`;
			save(name, "application/json", text);
			return `saved as ${name}, ${bytes(text.length)}`;
		});
	const state = row.on?.(now),
		switched = control.parameters[0]?.type === "switch";
	const fields: ComponentChildren = control.parameters
		.filter((p) => p.type !== "switch")
		.map((p) => (
			<input
				key={p.name}
				class={`field live-${p.type}`}
				type="text"
				spellcheck={false}
				autocomplete="off"
				inputMode={p.type === "number" ? "numeric" : "text"}
				name={p.name}
				required={p.required}
				aria-label={`${row.label}: ${p.name.replaceAll("_", " ")}`}
				placeholder={row.hints?.[p.name] ?? p.name}
				value={values[p.name] ?? ""}
				onInput={(event) =>
					setValues({ ...values, [p.name]: event.currentTarget.value.trim() })
				}
			/>
		));
	return (
		<form
			class="live-control"
			data-control={control.name}
			title={control.help}
			aria-label={row.label}
			onSubmit={(event) => {
				event.preventDefault();
				post(values);
			}}>
			<span class="live-label">{row.label}</span>
			<span class="live-fields">
				{fields}
				{switched ? (
					<span class="choice" role="group" aria-label={row.label}>
						{(
							[
								["on", true],
								["off", false],
							] as const
						).map(([text, value]) => (
							<button
								key={text}
								type="button"
								disabled={gone}
								aria-pressed={state === value}
								onClick={() => post({ value: String(value) })}>
								{text}
							</button>
						))}
					</span>
				) : (
					<button type="submit" class="button" disabled={gone} aria-busy={busy}>
						{row.button ?? "Do"}
					</button>
				)}
			</span>
			<Said outcome={outcome} busy={busy} />
		</form>
	);
}

export function Controls({
	agent,
	controls,
	now,
	gone,
	changed,
}: {
	agent: string;
	controls: readonly Control[];
	now: Now;
	gone: boolean;
	changed: () => void;
}) {
	return (
		<div class="live-controls">
			{GROUPS.map((group) => (
				<Card
					key={group.key}
					title={group.title}
					name={`live-${group.key}-controls`}
					said={group.said(now)}>
					{group.rows.map((row) => {
						const control = controls.find((c) => c.name === row.name);
						return (
							control && (
								<One
									key={row.name}
									agent={agent}
									row={row}
									control={control}
									now={now}
									gone={gone}
									changed={changed}
								/>
							)
						);
					})}
				</Card>
			))}
		</div>
	);
}
