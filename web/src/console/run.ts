// SPDX-License-Identifier: MIT OR Apache-2.0
// Runs a script on the server.  What it puts out is handed on as it comes; who stops it closes the
// connection, which ends it there.
import { ApiError, send, url } from "../app/api";
import { Lines, type End, type Item } from "./lines";

export type Language = "lua" | "rhai";

export async function run(
	id: string,
	text: string,
	language: Language,
	other: string,
	signal: AbortSignal,
	put: (items: Item[]) => void,
): Promise<End> {
	const response = await send(
		url(
			"/data/{id}/script",
			{ id },
			{ language, stream: true, ...(other ? { with: other } : {}) },
		),
		{ method: "POST", body: text, signal },
	);
	const reader = response.body!.getReader(),
		decoder = new TextDecoder(),
		lines = new Lines();
	for (;;) {
		const { done, value } = await reader.read();
		const said = lines.take(done ? decoder.decode() : decoder.decode(value, { stream: true }));
		const items = said.filter((item): item is Item => item.kind !== "end");
		if (items.length) put(items);
		const end = said.find((item): item is End => item.kind === "end");
		if (end) return end;
		if (done) throw new ApiError(0, "The connection to the server was lost.");
	}
}
