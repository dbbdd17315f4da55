// SPDX-License-Identifier: MIT OR Apache-2.0
// What the classes of verdicts are called on the page.
import type { Verdict } from "../app/types";

export const VERDICT_WORDS: Record<Verdict["class"], string> = {
	growing: "growing",
	unclear: "unclear",
	bounded: "bounded",
	sawtooth: "sawtooth",
	start_up: "start-up",
	"start-up": "start-up",
	pool: "kept on purpose",
};
