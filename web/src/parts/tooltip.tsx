// SPDX-License-Identifier: MIT OR Apache-2.0
// What stands beside the mouse over a picture.  Moved without drawing the view again: showTip()
// from mouse handlers, <TipHost/> once in the shell.
import { render, type ComponentChild } from "preact";
import { useRef } from "preact/hooks";

let box: HTMLDivElement | null = null;

export function showTip(x: number, y: number, content: ComponentChild): void {
	if (!box) return;
	render(content, box);
	box.hidden = false;
	const { width, height } = box.getBoundingClientRect();
	const left = x + 14 + width > innerWidth ? x - width - 10 : x + 14;
	const top = y + 16 + height > innerHeight ? y - height - 10 : y + 16;
	box.style.transform =
		`translate(${Math.max(4, Math.round(left))}px, ` + `${Math.max(4, Math.round(top))}px)`;
}

export function hideTip(): void {
	if (box) box.hidden = true;
}

export function TipHost() {
	const mine = useRef<HTMLDivElement>(null);
	return (
		<div
			class="tip"
			hidden
			aria-hidden="true"
			ref={(element) => {
				mine.current = element;
				box = element;
			}}
		/>
	);
}
