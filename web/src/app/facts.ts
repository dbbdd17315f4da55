// SPDX-License-Identifier: MIT OR Apache-2.0
// The facts of a recording, in two steps: all but the verdicts at once, and those when they are there
// (on a large recording they take seconds, and nobody should wait for the rest that long).
import type { Answer } from "./api";
import { useData } from "./recordings";
import type { Overview } from "./types";

export const useFacts = (id: string): Answer<Overview> => useData<Overview>(id, "overview", { verdicts: "false" });

export function useVerdicts(id: string, facts: Overview | undefined): Answer<Overview> {
	return useData<Overview>(id, facts ? "overview" : null, {}, { later: true });
}
