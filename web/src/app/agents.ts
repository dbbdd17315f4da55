// SPDX-License-Identifier: MIT OR Apache-2.0
// Programs that run with an agent in them, as the server knows them.  The list is asked for again
// and again while the page is seen: the column shows "Live" only where there is one.
import { useEffect, useState } from "preact/hooks";
import { send, url } from "./api";
import { route } from "./url";

export interface Agent {
	id: string;
	pid: number;
	program: string;
	address: string;
	given: boolean;
	state: "asking" | "ready" | "error";
	error: string | null;
	version?: string;
	prof?: boolean;
	prof_active?: boolean;
}
export interface Control {
	name: string;
	help: string;
	file: boolean; /* the answer is one */
	parameters: { name: string; type: "switch" | "number" | "text"; required: boolean }[];
}
export interface Agents {
	agents: Agent[];
	controls: Control[];
}

let state: Agents | undefined;
let last = "";
let timer = 0;
const listeners = new Set<() => void>();

export const agentName = (a: Pick<Agent, "program" | "address">): string =>
	a.program.split("/").pop() || a.address;

async function refresh(): Promise<void> {
	if (!document.hidden) {
		try {
			const text = await (await send(url("/agents"))).text();
			if (text !== last) {
				last = text;
				state = JSON.parse(text) as Agents;
				for (const listener of [...listeners]) listener();
			}
		} catch {
			/* The list of recordings says that the server is gone. */
		}
	}
	timer = window.setTimeout(
		() => void refresh(),
		state?.agents.some((a) => a.state === "asking") ? 1000 : 5000,
	);
}

/* Undefined until it is known. */
export function useAgents(): Agents | undefined {
	const [seen, set] = useState(state);
	useEffect(() => {
		const listener = (): void => set(state);
		listeners.add(listener);
		listener();
		/* A view that is about something else has its own answers first. */
		if (!timer)
			timer = window.setTimeout(() => void refresh(), route().view === "live" ? 0 : 1000);
		return () => {
			listeners.delete(listener);
		};
	}, []);
	return seen;
}
