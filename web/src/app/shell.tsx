// SPDX-License-Identifier: MIT OR Apache-2.0
// The frame of every view: the left column, and the view that the address names.
import { VIEWS } from "../views/views";
import { href, useRoute } from "./url";

export function Shell() {
	const route = useRoute();
	const view = VIEWS.find((v) => v.name === route.view) ?? VIEWS[0]!;
	const Body = view.component;
	return (
		<div class="shell">
			<nav class="column" aria-label="Views">
				<a class="brand" href={href({ view: "recordings", id: "" })}>Memoir</a>
				{VIEWS.filter((v) => v.group && (!v.recording || route.id)).map((v) => (
					<a key={v.name} class="view-link" href={href({ view: v.name })} aria-current={v === view ? "page" : undefined}>{v.label}</a>
				))}
			</nav>
			<main class="main">
				<Body key={`${view.name}/${route.id}`} id={route.id} />
			</main>
		</div>
	);
}
