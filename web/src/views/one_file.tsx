// SPDX-License-Identifier: MIT OR Apache-2.0
// A view of one file of a kind (a heap profile, statistics): the one that the address names, or
// where it names none, or a file of another kind, the one that was opened last.  Files can be
// dropped on it.
import type { ComponentChildren, JSX } from "preact";
import { find, useRecordings, type Recording } from "../app/recordings";
import { href, useRoute } from "../app/url";
import { Card } from "../parts/card";
import { Empty, Failure, Skeleton } from "../parts/states";
import { Drop } from "./recordings";

export interface OneFile {
	list: readonly Recording[];
	recording: Recording;
	choose: () => void; // of the user's own files
}

interface Kind {
	kind: "heap" | "statistics"; // of file; the view's name is the same
	title: string;
	invitation: ComponentChildren; // what to drop here, where there is none
	show: (file: OneFile) => JSX.Element;
}

function None({ kind, title, invitation, choose }: Kind & { choose: () => void }) {
	return (
		<Card
			title={title}
			name={`no-${kind}`}
			tools={
				<button type="button" class="button primary" onClick={choose}>
					Open a file…
				</button>
			}>
			{invitation}
		</Card>
	);
}

function Unknown({ kind, title }: Kind) {
	return (
		<Card title={title}>
			<Empty title="The server does not have this file">
				It may have been started with other files.{" "}
				<a class="link" href={href({ view: kind, id: "" })}>
					Those it has
				</a>
			</Empty>
		</Card>
	);
}

export function OneFileView(of: Kind) {
	const { id } = useRoute();
	const { list, error } = useRecordings();
	const named = id ? find(id) : undefined;
	const unknown = !!id && !named;
	const recording =
		named?.kind === of.kind || unknown ? named : list?.filter((r) => r.kind === of.kind).at(-1);
	return (
		<Drop>
			{(choose) => {
				if (!list && error)
					return (
						<Failure
							what="The list of files"
							error={error}
							retry={() => location.reload()}
						/>
					);
				if (!list) return <Skeleton />;
				if (recording) return of.show({ list, recording, choose });
				return unknown ? <Unknown {...of} /> : <None {...of} choose={choose} />;
			}}
		</Drop>
	);
}
