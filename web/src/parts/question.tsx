// SPDX-License-Identifier: MIT OR Apache-2.0
// The question box: the filter expression as text, with completion, what is wrong underlined at its
// place, and below it one label for each term (and for the brush and the moment) that can be taken
// away.  The text is the reader's until Enter puts it into the address.  The server checks and
// completes; the colours come from a copy of the text that lies behind the transparent field.
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, url } from "../app/api";
import { useFacts } from "../app/facts";
import { dataUrl, useData } from "../app/recordings";
import type { Check } from "../app/types";
import { go, useRoute } from "../app/url";
import { Panel } from "./panel";
import { alternatives, terms, tokens, withoutTerm } from "./terms";
import { withoutFrame } from "./whose";
import { bytes, duration, plural } from "./units";

interface Completion {
	from: number;
	to: number;
	items: { text: string; kind: string; help?: string }[];
}

export function Question({ id }: { id: string }) {
	const { parameters, view } = useRoute();
	const aboutMaps = view === "maps";
	const about = aboutMaps ? "memory maps" : "allocations";
	const filter = parameters["filter"] ?? "";
	const [draft, setDraft] = useState(filter);
	const [list, setList] = useState<
		Completion & { cursor: number }
	>(); /* cursor: where it was asked for */
	const [chosen, setChosen] = useState(-1);
	const [panel, setPanel] = useState(false);
	const [asked, setAsked] = useState(draft);
	const field = useRef<HTMLInputElement>(null);
	const mirror = useRef<HTMLDivElement>(null);
	const wanted = useRef<{ cancel: () => void }>();
	const latest = useRef({ list, chosen });
	latest.current = { list, chosen };
	useEffect(() => {
		setDraft(filter);
		setAsked(filter);
	}, [filter]);
	useEffect(() => {
		const timer = setTimeout(() => setAsked(draft), 150);
		return () => clearTimeout(timer);
	}, [draft]);
	const check = useData<Check>(
		asked.trim() ? dataUrl(id, "/data/{id}/matches", { filter: asked.trim() }) : null,
	);
	const wrong =
		asked === draft && draft.trim() && check.fresh && check.data && !check.data.ok
			? check.data
			: undefined;
	/* The check was of the trimmed text. */
	const place = wrong ? wrong.position + (draft.length - draft.trimStart().length) : -1;

	const complete = (): void => {
		wanted.current?.cancel();
		const element = field.current;
		if (!element || document.activeElement !== element) return;
		const cursor = element.selectionStart ?? element.value.length;
		const { answer, cancel } = ask<Completion>(
			url(
				"/data/{id}/complete",
				{ id },
				{ text: element.value || " ", at: cursor, count: 12 },
			),
		);
		wanted.current = { cancel };
		answer.then(
			(found) => {
				/* An only item that is there already is no help. */
				const useless =
					found.items.length === 0 ||
					(found.items.length === 1 &&
						found.items[0]!.text === element.value.slice(found.from, found.to));
				/* What is chosen stays chosen while more letters arrive. */
				const kept = latest.current.list?.items[latest.current.chosen]?.text;
				setList(useless ? undefined : { ...found, cursor });
				setChosen(
					kept === undefined ? -1 : found.items.findIndex((item) => item.text === kept),
				);
			},
			() => setList(undefined),
		);
	};
	const close = (): void => {
		wanted.current?.cancel();
		setList(undefined);
	};
	const accept = (index: number): void => {
		const item = list?.items[index],
			element = field.current;
		if (!item || !list || !element) return;
		/* Letters that came since the list was made belong to the word too. */
		const end = list.to + Math.max(0, (element.selectionStart ?? draft.length) - list.cursor);
		const after = draft.slice(end),
			text = draft.slice(0, list.from) + item.text + (after.startsWith(" ") ? "" : " ");
		/* The field has text and cursor at once: letters that are typed before the next frame land
		 * behind the word. */
		element.value = text + after;
		element.focus();
		element.setSelectionRange(text.length, text.length);
		setDraft(text + after);
		close();
		complete();
	};
	const commit = (text = draft): void => {
		close();
		if (text.trim() !== filter) go({ filter: text.trim() });
	};
	const keys = (event: KeyboardEvent): void => {
		const n = list?.items.length ?? 0;
		if (event.key === "ArrowDown" && n) setChosen((chosen + 1) % n);
		else if (event.key === "ArrowUp" && n) setChosen((chosen + n - (chosen < 0 ? 0 : 1)) % n);
		else if (event.key === "ArrowDown") complete();
		else if ((event.key === "Enter" || event.key === "Tab") && n && chosen >= 0) accept(chosen);
		else if (event.key === "Tab" && n && !event.shiftKey && list && list.to > list.from)
			accept(0);
		else if (event.key === "Enter") {
			if (!wrong) commit();
			else close();
		} else if (event.key === "Escape" && list) close();
		else if (event.key === "Escape") {
			setDraft(filter);
			field.current?.blur();
		} else return;
		event.preventDefault();
		event.stopPropagation();
	};
	const scroll = (): void => {
		if (mirror.current && field.current) mirror.current.scrollLeft = field.current.scrollLeft;
	};
	return (
		<div class="question-area">
			<div class="question-row">
				<div class={`question${wrong ? " wrong" : ""}`}>
					<div class="question-mirror" aria-hidden="true" ref={mirror}>
						{tokens(draft).map((t) => (
							<span
								key={t.at}
								class={
									`token-${t.kind}` +
									(wrong && place >= t.at && place < t.at + t.text.length
										? " token-wrong"
										: "")
								}>
								{t.text}
							</span>
						))}
						{wrong && place >= draft.length && <span class="token-wrong">{"  "}</span>}
					</div>
					<input
						ref={field}
						id="question"
						type="text"
						spellcheck={false}
						autocomplete="off"
						autocapitalize="off"
						value={draft}
						placeholder={
							aboutMaps
								? "Ask about some of the maps: size >= 1M and function ~ arena"
								: "Ask about some of the memory: size >= 1k and function ~ parse"
						}
						role="combobox"
						aria-label={`Which ${about}: a filter expression`}
						aria-expanded={!!list}
						aria-controls="completions"
						aria-autocomplete="list"
						aria-activedescendant={chosen >= 0 ? `completion-${chosen}` : undefined}
						aria-invalid={!!wrong}
						aria-describedby={wrong ? "question-error" : undefined}
						onInput={(event) => {
							setDraft(event.currentTarget.value);
							complete();
						}}
						onFocus={complete}
						onClick={complete}
						onBlur={() => {
							close();
						}}
						onKeyDown={keys}
						onScroll={scroll}
					/>
					{draft !== filter && !wrong && (
						<span class="question-hint" aria-hidden="true">
							Enter asks
						</span>
					)}
					<ul
						id="completions"
						class="completions"
						role="listbox"
						aria-label="Completions"
						hidden={!list}>
						{list?.items.map((item, i) => (
							<li
								key={item.text}
								id={`completion-${i}`}
								role="option"
								aria-selected={i === chosen}
								class={i === chosen ? "chosen" : ""}
								onPointerDown={(event) => {
									event.preventDefault();
									accept(i);
								}}>
								<code>{item.text}</code>
								<span class="dim">{item.help ?? item.kind}</span>
							</li>
						))}
					</ul>
				</div>
				<button
					type="button"
					class="button tall"
					aria-expanded={panel}
					onClick={() => setPanel(!panel)}>
					Filters
				</button>
			</div>
			<Labels
				id={id}
				filter={filter}
				check={filter && asked === filter && check.fresh ? check.data : undefined}
				error={wrong?.error}
			/>
			{panel && (
				<Panel
					filter={filter}
					onApply={(text) => commit(text)}
					onClose={() => setPanel(false)}
				/>
			)}
		</div>
	);
}

/* What is asked, term by term, or what is wrong with it: one line, which is always there, so that
 * nothing below it moves. */
function Labels({
	id,
	filter,
	check,
	error,
}: {
	id: string;
	filter: string;
	check: Check | undefined;
	error: string | undefined;
}) {
	const { parameters } = useRoute();
	const { from, to, at } = parameters;
	const facts = useFacts(id);
	const aboutMaps = useRoute().view === "maps";
	const shown = terms(filter);
	if (error !== undefined)
		return (
			<p id="question-error" class="labels question-error" role="alert">
				{error}
			</p>
		);
	const frames = (["hide", "own"] as const).flatMap((list) =>
		alternatives(parameters[list] ?? "").map((text, i) => ({ list, text, i })),
	);
	if (!shown.length && !from && !to && !at && !frames.length)
		return (
			<p class="labels dim">
				{aboutMaps
					? "All memory maps: a question is about them"
					: facts.data &&
						`Everything: ${plural(facts.data.allocations, "allocation")}, ` +
							`${bytes(facts.data.allocated_bytes)} in all`}
			</p>
		);
	const label = (key: string, text: string, mono: boolean, remove: () => void) => (
		<li key={key} class="label">
			{mono ? <code>{text}</code> : <span>{text}</span>}
			<button type="button" aria-label={`Remove ${text}`} title="Remove" onClick={remove}>
				×
			</button>
		</li>
	);
	return (
		<div class="labels">
			<ul aria-label="What is asked">
				{shown.map((term, i) =>
					label(`t${i}`, term.text, true, () => go({ filter: withoutTerm(filter, i) })),
				)}
				{frames.map(({ list, text, i }) =>
					label(
						`${list}${i}`,
						`${list === "hide" ? "hidden" : "own"}: ${text}`,
						true,
						() => go({ [list]: withoutFrame(parameters[list] ?? "", i) }),
					),
				)}
				{(from || to) &&
					label(
						"range",
						`allocated ${duration(Number(from || 0))} – ` +
							(to ? duration(Number(to)) : "end"),
						false,
						() => go({ from: "", to: "" }),
					)}
				{at && label("at", `at ${duration(Number(at))}`, false, () => go({ at: "" }))}
			</ul>
			{check?.ok && !aboutMaps && (
				<span class="dim">
					{plural(check.count, "allocation")}, {bytes(check.bytes)} in all,{" "}
					{check.count === 1 ? "matches" : "match"}
				</span>
			)}
		</div>
	);
}
