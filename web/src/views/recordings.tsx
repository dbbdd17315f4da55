// SPDX-License-Identifier: MIT OR Apache-2.0
// All recordings that the server has open.
import { useAnswer } from "../app/api";
import { href } from "../app/url";
import { Card } from "../parts/card";
import { Answered } from "../parts/states";

export function Recordings() {
	const list = useAnswer<{ id: string; executable: string }[]>("/list");
	return (
		<Card title="Recordings">
			<Answered what="The list of recordings" answer={list}>
				{(rows) => <ul>{rows.map((r) => <li key={r.id}><a href={href({ view: "overview", id: r.id })}>{r.executable}</a></li>)}</ul>}
			</Answered>
		</Card>
	);
}
