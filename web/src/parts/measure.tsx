// SPDX-License-Identifier: MIT OR Apache-2.0
// Which bytes a view speaks about: at the peak, never freed, all that was allocated, freed at once,
// or alive at the moment of the timeline.  Setting a moment means the last unless another was
// chosen.
import type { FlameQuery } from "../app/endpoints";
import { useFacts } from "../app/facts";
import { nsToSeconds, time } from "../app/recordings";
import { go, useRoute } from "../app/url";
import { Choice } from "./card";
import { duration } from "./units";

export type Measure = "peak" | "leaked" | "allocated" | "temporary" | "alive";

export interface Measured {
	measure: Measure;
	query: Pick<FlameQuery, "measure" | "at">; /* measure and at, for questions */
	words: string; /* "at the peak", for headings */
	term: string; /* what an expression says of it; "" for all that was allocated */
}

const NAMES: Record<Measure, string> = {
	peak: "alive at the peak",
	leaked: "never freed",
	allocated: "allocated",
	temporary: "temporary",
	alive: "",
};

/* When the whole program had most, in nanoseconds; the timeline above asks for the same facts. */
const usePeak = (id: string): number | undefined => useFacts(id).data?.peak.at_ns;

/* usual: what it is when nothing was chosen. */
export function useMeasure(usual: Measure = "peak"): Measured {
	const {
		id,
		parameters: { measure: said, at },
	} = useRoute();
	const peak = usePeak(id);
	const known = said && said in NAMES ? (said as Measure) : undefined;
	const measure: Measure = known === "alive" && !at ? usual : (known ?? (at ? "alive" : usual));
	const query = measure === "alive" ? { measure, at: time(at) } : { measure };
	const words = measure === "alive" ? `alive at ${duration(Number(at))}` : NAMES[measure];
	const term =
		measure === "leaked"
			? "leaked"
			: measure === "temporary"
				? "temporary"
				: measure === "alive"
					? `alive_at(${at}s)`
					: measure === "peak" && peak !== undefined
						? `alive_at(${peak}ns)`
						: "";
	return { measure, query, words, term };
}

const OPTIONS: readonly (readonly [Measure, string, string])[] = [
	["leaked", "leaked", "never freed"],
	["alive", "alive at t", "alive at the moment that is chosen in the timeline"],
	["peak", "peak", "alive when the program had most"],
	["allocated", "allocated", "everything, freed or not"],
	["temporary", "temporary", "freed by the next call of the same thread"],
];

/* Without a moment, alive means the peak's until another is chosen. */
export function MeasureChoice({ measured }: { measured: Measured }) {
	const {
		id,
		parameters: { at },
	} = useRoute();
	const peak = usePeak(id);
	const moment = at || (peak !== undefined ? nsToSeconds(peak) : "");
	return (
		<Choice
			label="Which bytes"
			value={measured.measure}
			options={OPTIONS}
			onChange={(measure) => go(measure === "alive" ? { measure, at: moment } : { measure })}
		/>
	);
}
