// SPDX-License-Identifier: MIT OR Apache-2.0
// Which bytes a view speaks about: at the peak, never freed, all that was allocated, freed at once, or
// alive at the moment of the timeline.  Setting a moment means the last unless another was chosen.
import type { Query } from "../app/api";
import { time } from "../app/recordings";
import { go, useRoute } from "../app/url";
import { Choice } from "./card";
import { duration } from "./units";

export type Measure = "peak" | "leaked" | "allocated" | "temporary" | "alive";

export interface Measured {
	measure: Measure;
	query: Query; /* measure and at, for questions */
	words: string; /* "at the peak", for headings */
	term: string; /* what an expression says of it; "" for all that was allocated */
}

const NAMES: Record<Measure, string> = { peak: "at the peak", leaked: "never freed", allocated: "allocated", temporary: "freed at once", alive: "" };

/* usual: what it is when nothing was chosen. */
export function useMeasure(usual: Measure = "peak"): Measured {
	const { measure: said, at } = useRoute().parameters;
	const known = said && said in NAMES ? (said as Measure) : undefined;
	const measure: Measure = known === "alive" && !at ? usual : (known ?? (at ? "alive" : usual));
	const query: Query = measure === "alive" ? { measure, at: time(at) } : { measure };
	const words = measure === "alive" ? `alive at ${duration(Number(at))}` : NAMES[measure];
	const term = measure === "leaked" ? "leaked" : measure === "temporary" ? "temporary" : measure === "alive" ? `alive_at(${at}s)` : "";
	return { measure, query, words, term };
}

export function MeasureChoice({ measured }: { measured: Measured }) {
	const { at } = useRoute().parameters;
	const options: [Measure, string, string?][] = [
		["leaked", "never freed", "What was never freed"],
		["peak", "peak", "What was alive when the whole program had most"],
		["allocated", "allocated", "All that was allocated, whatever became of it"],
		["temporary", "temporary", "What the very next event of its thread freed"],
	];
	if (at) options.splice(1, 0, ["alive", `alive at ${duration(Number(at))}`, "What was alive at the moment of the timeline"]);
	return <Choice label="Which bytes" value={measured.measure} options={options} onChange={(measure) => go({ measure })} />;
}
