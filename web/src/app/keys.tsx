// SPDX-License-Identifier: MIT OR Apache-2.0
// Keys of the whole page.  A view's own keys are handled where the focus is; what they leave comes
// here.  "?" shows all of them.
import { useEffect, useRef, useState } from "preact/hooks";
import { toggleTimeline } from "./kept";
import { toggleTheme } from "./theme";
import { asScriptHref } from "../views/script";
import { go, goTo, route } from "./url";

const KEYS: readonly (readonly [string, string])[] = [
	["/", "the question box"],
	["?", "this list"],
	["Esc", "close, leave, zoom out"],
	["d", "dark or light"],
	["t", "the timeline, or only its heading"],
	["s", "the view as a script"],
	["Ctrl Enter", "in the console: run; Esc stops, and leaves the editor"],
	["f", "the flame graph fills the window, or no longer"],
	["← →", "in the timeline: the moment; with Shift a range from it"],
	["↑ ↓ ← →", "in the flame graph: to callers, callees and neighbours"],
	["Enter", "in the flame graph: zoom in; in a table: open"],
	["c  p", "in the flame graph: copy the stack, pin the box"],
	["↑ ↓ PgUp PgDn", "in a table: from row to row"],
];

const typing = (target: EventTarget | undefined | null): boolean =>
	target instanceof HTMLElement &&
	(target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

export function Keys() {
	const dialog = useRef<HTMLDialogElement>(null);
	const [open, setOpen] = useState(false);
	useEffect(() => {
		const keys = (event: KeyboardEvent): void => {
			/* The editor's own tree hides behind the element that it is in. */
			const target = event.composedPath()[0] ?? event.target;
			if (event.ctrlKey || event.metaKey || event.altKey || typing(target)) return;
			if (event.key === "/") document.getElementById("question")?.focus();
			else if (event.key === "?") setOpen(true);
			else if (event.key === "d") toggleTheme();
			else if (event.key === "t") toggleTimeline();
			else if (event.key === "s" && asScriptHref()) goTo(asScriptHref()!);
			else if (event.key === "f" && document.querySelector(".flame-canvas, .filling"))
				go({ fill: route().parameters["fill"] ? "" : "1" });
			else if (event.key === "Escape" && document.querySelector(".filling")) go({ fill: "" });
			else return;
			event.preventDefault();
		};
		addEventListener("keydown", keys);
		return () => removeEventListener("keydown", keys);
	}, []);
	useEffect(() => {
		if (open) dialog.current?.showModal();
		else dialog.current?.close();
	}, [open]);
	return (
		<dialog
			ref={dialog}
			class="keys"
			aria-label="Keys"
			onClose={() => setOpen(false)}
			onClick={(event) => {
				if (event.target === dialog.current) setOpen(false);
			}}>
			<h2>Keys</h2>
			<dl>
				{KEYS.map(([key, what]) => (
					<div key={key}>
						<dt>
							{key
								.split(" ")
								.filter(Boolean)
								.map((k) => (
									<kbd key={k}>{k}</kbd>
								))}
						</dt>
						<dd>{what}</dd>
					</div>
				))}
			</dl>
			<button type="button" class="button" onClick={() => setOpen(false)}>
				Close
			</button>
		</dialog>
	);
}
