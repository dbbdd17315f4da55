// SPDX-License-Identifier: MIT OR Apache-2.0
// What could be better, with the numbers that say so and the setting that changes it.  The rules
// are src/jemalloc/advice.c.
import { useState } from "preact/hooks";
import { Card } from "../parts/card";
import { plural } from "../parts/units";
import type { Advice, Snapshot } from "./data";

const WEIGHTS = { do: "worth doing", maybe: "worth a try", info: "good to know" };

function Copied({ text }: { text: string }) {
	const [done, setDone] = useState(false);
	const copy = (): void => {
		void navigator.clipboard?.writeText(text).then(
			() => setDone(true),
			() => setDone(false),
		);
	};
	return (
		<>
			<code>{text}</code>
			{navigator.clipboard && (
				<button type="button" class="jem-link" aria-label={`Copy ${text}`} onClick={copy}>
					{done ? "copied" : "copy"}
				</button>
			)}
		</>
	);
}

function Piece({ advice }: { advice: Advice }) {
	return (
		<li data-advice={advice.id} class={`jem-advice ${advice.weight}`}>
			<p>
				<span class="jem-weight">{WEIGHTS[advice.weight]}</span>{" "}
				<strong>{advice.what}</strong>
			</p>
			<p class="dim">{advice.evidence}</p>
			{advice.malloc_conf && (
				<p>
					At the start: <Copied text={`MALLOC_CONF=${advice.malloc_conf}`} />
				</p>
			)}
			{advice.control && <p>While it runs: {advice.control}</p>}
		</li>
	);
}

export function AdviceCard({ snapshot }: { snapshot: Snapshot }) {
	const list = snapshot.advice;
	const todo = list?.filter((a) => a.weight !== "info").length ?? 0;
	return (
		<Card
			title="Advice"
			name="advice"
			said={
				!list ? "" : todo ? `${plural(todo, "thing")} to look at` : "nothing to be mended"
			}>
			{!list ? (
				<p class="jem-nothing">No arena was printed, so there is nothing to judge by.</p>
			) : list.length ? (
				<ul class="jem-advices" id="advice">
					{list.map((a) => (
						<Piece key={a.id} advice={a} />
					))}
				</ul>
			) : (
				<p class="jem-nothing">
					Nothing stands out in this snapshot: no large part of what is resident is kept
					free, cached or waited for.
				</p>
			)}
		</Card>
	);
}
