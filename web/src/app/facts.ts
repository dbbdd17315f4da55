// SPDX-License-Identifier: MIT OR Apache-2.0
// The facts of a recording, in two steps: all but verdicts and what sentences say of growth at
// once, and those when they are there (on a large recording they take seconds, and nobody should
// wait for the rest that long).
//
// With a question or a range, the same of what matches: useMatched().
import type { Answer } from "./api";
import { dataUrl, useAsked, useData, type Asked } from "./recordings";
import type { Overview } from "./types";

export const useFacts = (id: string): Answer<Overview> =>
	useData<Overview>(dataUrl(id, "/data/{id}/overview", { sentences: "quick", verdicts: false }));

const isPart = (asked: Asked): boolean =>
	Object.values(asked).some((v) => v !== undefined && v !== "");

/* part: it is not the whole recording that is asked about. */
export function useMatched(id: string): { part: boolean; answer: Answer<Overview> } {
	const asked = useAsked(),
		part = isPart(asked);
	const whole = useFacts(id),
		matched = useData<Overview>(
			part
				? dataUrl(id, "/data/{id}/overview", {
						sentences: "quick",
						verdicts: false,
						...asked,
					})
				: null,
		);
	return { part, answer: part ? matched : whole };
}

/* Of what matches too. */
export function useVerdicts(id: string, facts: Overview | undefined): Answer<Overview> {
	const asked = useAsked();
	return useData<Overview>(facts ? dataUrl(id, "/data/{id}/overview", asked) : null, {
		later: true,
	});
}
