// SPDX-License-Identifier: MIT OR Apache-2.0
// What is said while an answer takes long: for how long, and how far the server is with the pass
// over the recording that it makes now.  How many passes there will be is not known, so none is
// promised.
import { useEffect, useState } from "preact/hooks";
import { send, url, type Wait } from "../app/api";

const PATIENCE = 500; /* ms: what is there sooner needs no words */
const EVERY = 500;

interface Progress {
	state: "none" | "waiting" | "computing";
	pass: number;
	done: number | null;
}

export function Working({ wait }: { wait: Wait }) {
	const [now, setNow] = useState(performance.now());
	const [progress, setProgress] = useState<Progress>();
	useEffect(() => {
		const abort = new AbortController();
		let timer = 0;
		const look = async (): Promise<void> => {
			try {
				setProgress(
					(await (
						await send(url("/progress", {}, { of: wait.address.split("#")[0]! }), {
							signal: abort.signal,
						})
					).json()) as Progress,
				);
			} catch {
				if (abort.signal.aborted) return; /* else the time is said alone */
			}
			setNow(performance.now());
			timer = window.setTimeout(() => void look(), EVERY);
		};
		timer = window.setTimeout(
			() => void look(),
			Math.max(0, PATIENCE - (performance.now() - wait.since)),
		);
		return () => {
			abort.abort();
			clearTimeout(timer);
		};
	}, [wait.address, wait.since]);
	const ms = now - wait.since;
	if (ms < PATIENCE) return null;
	const done =
		progress?.state === "computing" && progress.pass > 0 && progress.done !== null
			? progress.done
			: undefined;
	return (
		<div class="working" role="status">
			<span>
				{progress?.state === "waiting" ? "Waiting for its turn" : "Being worked out"},{" "}
				{(ms / 1000).toFixed(1)} s
				{done === undefined
					? ""
					: ` · pass ${progress!.pass} over the recording: ${Math.round(100 * done)} %`}
			</span>
			<progress
				aria-label="This pass"
				{...(done === undefined ? {} : { value: done, max: 1 })}
			/>
		</div>
	);
}
