// SPDX-License-Identifier: MIT OR Apache-2.0
// What is asked about a heap profile: which frames and stacks, whose, and against which other dump.
import { useEffect, useState } from "preact/hooks";
import type { ApiError } from "../app/api";
import { useRecordings } from "../app/recordings";
import { go, goTo, href, useRoute } from "../app/url";
import { Choice } from "../parts/card";
import { bytes } from "../parts/units";
import { FILTERS, isPattern, usable, type Asked, type Facts } from "./data";

const WORDS: Record<string, string> = {
	focus: "Only stacks that go through such a function, source line or address",
	ignore: "No stacks that go through it",
	retain: "Only such frames of each stack",
	exclude: "No such frames; their callers take their place",
};

/* Asked when the reader pauses; each pause is no step back. */
function Pattern({
	name,
	label,
	error,
}: {
	name: string;
	label: string;
	error: string | undefined;
}) {
	const said = useRoute().parameters[name] ?? "";
	const [text, setText] = useState(said);
	useEffect(() => setText(said), [said]);
	useEffect(() => {
		if (text === said) return;
		const timer = setTimeout(() => go({ [name]: text, zoom: "" }, true), 300);
		return () => clearTimeout(timer);
	}, [text]);
	return (
		<label class="heap-pattern" title={WORDS[name]}>
			{label}
			<input
				class="field"
				id={name === "focus" ? "question" : undefined}
				type="search"
				name={name}
				spellcheck={false}
				placeholder="regex"
				value={text}
				aria-invalid={error !== undefined}
				aria-describedby={error ? "heap-wrong" : undefined}
				onInput={(event) => setText(event.currentTarget.value)}
				onKeyDown={(event) => {
					if (event.key === "Enter") go({ [name]: text, zoom: "" });
					else if (event.key === "Escape" && !text) event.currentTarget.blur();
				}}
			/>
		</label>
	);
}

export function Question({
	id,
	facts,
	asked,
	error,
}: {
	id: string;
	facts: Facts | undefined;
	asked: Asked;
	error: ApiError | undefined;
}) {
	const { parameters } = useRoute();
	const { list } = useRecordings();
	const others = (list ?? []).filter((r) => r.id !== id && usable(r));
	const wrong = isPattern(error) ? error : undefined;
	const thread = parameters["thread"] ?? "";
	const amount = (t: Facts["threads"][number]): string =>
		bytes(asked.ever ? t.alloc_space : t.inuse_space);
	const base = asked.base;
	return (
		<div class="heap-question" role="search" aria-label="What is asked">
			<div class="heap-patterns">
				{FILTERS.map(([name, label]) => (
					<Pattern
						key={name}
						name={name}
						label={label}
						error={wrong?.parameter === name ? wrong.message : undefined}
					/>
				))}
			</div>
			{wrong && (
				<p class="heap-wrong" id="heap-wrong" role="alert">
					{FILTERS.find(([name]) => name === wrong.parameter)?.[1]}: {wrong.message}
				</p>
			)}
			{(facts?.threads.length ?? 0) > 1 && (
				<label class="dim">
					thread{" "}
					<select
						class="field auto"
						name="thread"
						value={thread}
						onChange={(event) => go({ thread: event.currentTarget.value, zoom: "" })}>
						<option value="">all {facts!.threads.length}</option>
						{facts!.threads.map((t) => (
							<option key={t.thread} value={t.thread}>
								{t.name ?? `t${t.thread}`}: {amount(t)}
							</option>
						))}
					</select>
				</label>
			)}
			<Choice
				label="A frame is"
				value={asked.by}
				options={[
					["function", "functions"],
					["line", "lines"],
					["file", "files"],
					["address", "addresses"],
				]}
				onChange={(by) => go({ by: by === "function" ? "" : by, zoom: "", sort: "" })}
			/>
			<label class="dim check" title="Also the frames of malloc and what it calls">
				<input
					type="checkbox"
					checked={Boolean(parameters["allocator"])}
					onChange={(event) => go({ allocator: event.currentTarget.checked ? "1" : "" })}
				/>{" "}
				allocator's frames
			</label>
			<span class="grow" />
			{(others.length > 0 || base) && (
				<label class="dim">
					Compare with{" "}
					<select
						class="field auto"
						name="base"
						value={base ?? ""}
						onChange={(event) => go({ base: event.currentTarget.value, sort: "" })}>
						<option value="">nothing</option>
						{others.map((r) => (
							<option key={r.id} value={r.id}>
								{r.name}
								{r.heap ? `, ${bytes(r.heap.inuse_space)}` : ""}
							</option>
						))}
						{base && !others.some((r) => r.id === base) && (
							<option value={base}>a dump that is not open</option>
						)}
					</select>
				</label>
			)}
			{base && (
				<button
					type="button"
					class="button"
					title="Show the other one, against this"
					onClick={() => goTo(href({ id: base }, { ...parameters, base: id }))}>
					Swap
				</button>
			)}
			{(asked.filtered || parameters["allocator"]) && (
				<button
					type="button"
					class="button"
					onClick={() =>
						go({
							...Object.fromEntries(FILTERS.map(([name]) => [name, ""])),
							thread: "",
							allocator: "",
							zoom: "",
						})
					}>
					Ask about everything
				</button>
			)}
		</div>
	);
}
