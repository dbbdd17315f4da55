// SPDX-License-Identifier: MIT OR Apache-2.0
// An empty view says why: the question, the brush or the moment, and takes each away on a click.
import { go, useRoute } from "../app/url";
import { Empty } from "./states";

export function Nothing({
	title,
	children,
}: {
	title: string;
	children?: preact.ComponentChildren;
}) {
	const { filter, from, to, at } = useRoute().parameters;
	const ways: [string, Record<string, string>][] = [];
	if (filter) ways.push(["without the question", { filter: "" }]);
	if (from || to) ways.push(["over the whole run", { from: "", to: "" }]);
	if (at) ways.push(["at no certain moment", { at: "" }]);
	return (
		<Empty title={title}>
			<p>{ways.length ? "What is asked for above leaves nothing. Look" : children}</p>
			{ways.length > 0 && (
				<p class="ways">
					{ways.map(([text, change]) => (
						<button type="button" class="button" key={text} onClick={() => go(change)}>
							{text}
						</button>
					))}
				</p>
			)}
		</Empty>
	);
}
