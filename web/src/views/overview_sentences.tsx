// SPDX-License-Identifier: MIT OR Apache-2.0
// What is to be known first, in sentences that the server makes from the figures.  Each leads to
// the view that shows where it comes from; their numbers are written as everywhere on the page.
import type { Answer } from "../app/api";
import type { Overview as Facts, Sentence } from "../app/types";
import { href, type Parameters } from "../app/url";
import { adding } from "../parts/adding";
import { shortName } from "../parts/frames";
import { bytes, count, duration, middle } from "../parts/units";

type Part = Sentence["parts"][number];

function words(part: Part): string {
	if (part.bytes !== undefined) return bytes(part.bytes);
	if (part.bytes_per_second !== undefined) return `${bytes(part.bytes_per_second)}/s`;
	if (part.count !== undefined) return count(part.count);
	if (part.ns !== undefined) return duration(part.ns / 1e9);
	return part.function ? middle(shortName(part.text), 70) : part.text;
}

/* Where the evidence is: the present question, and what the sentence is about. */
export function evidence({ evidence: e, at_ns }: Sentence): string {
	const { measure } = e.parameters;
	if (e.view === "overview")
		return href({}, { series: "rss", at: at_ns ? String(at_ns / 1e9) : "" });
	const more: Parameters = measure ? { measure } : e.view === "leaks" ? { held: "1" } : {};
	return e.term ? adding(e.term, e.view, more) : href({ view: e.view }, more);
}

/* quick: what is said at once; whole: of growth, too, which takes longer in a large recording. */
export function Sentences({ quick, whole }: { quick: Answer<Facts>; whole: Answer<Facts> }) {
	const later = whole.fresh ? whole.data : undefined;
	const all = (later ?? quick.data)?.sentences;
	if (quick.error) return null; /* what stands below says what is wrong */
	return (
		<section
			class="sentences"
			aria-label="In short"
			aria-busy={!all}
			data-fresh={later || quick.fresh ? undefined : "false"}>
			{all ? (
				<ul>
					{all.map((s) => (
						<li key={s.text}>
							<a href={evidence(s)} data-kind={s.kind}>
								{s.parts.map((p, i) =>
									p.function ? (
										<b key={i} title={p.text}>
											{words(p)}
										</b>
									) : p.bytes !== undefined ? (
										<b key={i}>{words(p)}</b>
									) : (
										words(p)
									),
								)}
								.
							</a>
						</li>
					))}
				</ul>
			) : (
				<p class="dim" role="status">
					Being worked out …
				</p>
			)}
		</section>
	);
}
