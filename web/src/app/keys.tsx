// SPDX-License-Identifier: MIT OR Apache-2.0
// Keys of the whole page.  A view's own keys are handled where the focus is; what they leave comes
// here.  "?" shows all of them.
import { useEffect, useRef, useState } from "preact/hooks";
import { toggleTheme } from "./theme";

const KEYS: readonly (readonly [string, string])[] = [
	["/", "the question box"],
	["?", "this list"],
	["Esc", "close, leave, zoom out"],
	["d", "dark or light"],
	["← →", "in the timeline: the moment; with Shift the range"],
	["↑ ↓ ← →", "in the flame graph: to callers, callees and neighbours"],
	["Enter", "in the flame graph: zoom in; in a table: open"],
	["c  p", "in the flame graph: copy the stack, pin the box"],
	["↑ ↓ PgUp PgDn", "in a table: from row to row"],
];

const typing = (target: EventTarget | null): boolean =>
	target instanceof HTMLElement &&
	(target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

export function Keys() {
	const dialog = useRef<HTMLDialogElement>(null);
	const [open, setOpen] = useState(false);
	useEffect(() => {
		const keys = (event: KeyboardEvent): void => {
			if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
			if (event.key === "/") document.getElementById("question")?.focus();
			else if (event.key === "?") setOpen(true);
			else if (event.key === "d") toggleTheme();
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
