// SPDX-License-Identifier: MIT OR Apache-2.0
// The question box of the fleet: the same language as everywhere, with the fields that a fleet
// knows; below it one label for each term, which can be taken away.
import { useEffect, useState } from "preact/hooks";
import { go, useRoute } from "../app/url";
import { terms, withoutTerm } from "../parts/terms";
import { date, middle } from "../parts/units";

const EXAMPLE = 'service = shop and host ~ "^eu-"';

export function FleetQuestion({ error }: { error: string | undefined }) {
	const { filter = "", from, to, at } = useRoute().parameters;
	const [text, setText] = useState(filter);
	useEffect(() => setText(filter), [filter]);
	const said = terms(filter);
	return (
		<div class="fleet-question">
			<input
				class={error ? "field mono wrong" : "field mono"}
				id="question"
				type="search"
				aria-label="Question"
				aria-invalid={error ? true : undefined}
				placeholder={EXAMPLE}
				spellcheck={false}
				value={text}
				list="fleet-fields"
				onInput={(event) => setText(event.currentTarget.value)}
				onKeyDown={(event) => {
					if (event.key === "Enter") go({ filter: text.trim() });
					else if (event.key === "Escape" && text !== filter) setText(filter);
					else return;
					event.preventDefault();
					event.stopPropagation();
				}}
				onSearch={(event: Event) => {
					if (!(event.currentTarget as HTMLInputElement).value) go({ filter: "" });
				}}
			/>
			<datalist id="fleet-fields">
				{[
					"service",
					"host",
					"release",
					"build",
					"label",
					"function",
					"module",
					"responsible",
				].map((name) => (
					<option key={name} value={`${filter ? `${filter} and ` : ""}${name} = `} />
				))}
			</datalist>
			{error && (
				<p class="bad" role="alert">
					{error}
				</p>
			)}
			{(said.length > 0 || from || to || at) && (
				<ul class="labels fleet-terms" aria-label="What is asked">
					{said.map((term, i) => (
						<Term
							key={term.text}
							text={term.text}
							drop={() => go({ filter: withoutTerm(filter, i) })}
						/>
					))}
					{(from || to) && (
						<Term
							text={
								`${from ? date(Number(from)) : "the begin"} to ` +
								(to ? date(Number(to)) : "the end")
							}
							drop={() => go({ from: "", to: "" })}
						/>
					)}
					{at && (
						<Term
							text={`alive at ${date(Number(at))}`}
							drop={() => go({ at: "", measure: "" })}
						/>
					)}
				</ul>
			)}
		</div>
	);
}

const Term = ({ text, drop }: { text: string; drop: () => void }) => (
	<li class="label" title={text}>
		<code>{middle(text, 60)}</code>
		<button type="button" aria-label={`Remove ${text}`} title="Remove" onClick={drop}>
			×
		</button>
	</li>
);
