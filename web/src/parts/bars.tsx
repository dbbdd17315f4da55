// SPDX-License-Identifier: MIT OR Apache-2.0
// Upright bars with a label each; every bar is a link.  Arrows go from bar to bar.
import { useRef } from "preact/hooks";
import { hideTip, showTip } from "./tooltip";
import "../style/bars.css";

export interface Bar {
	label: string; /* below it */
	value: number;
	words: string; /* what it counts */
	tip: string[];
	href: string;
	accent?: boolean;
	bin?: unknown; /* the caller's */
}

/* Every second or fourth label where there is no room for all. */
const STEPS = [1, 2, 4, 8];

export function Bars({
	label,
	bars,
	said,
}: {
	label: string;
	bars: readonly Bar[];
	said: (value: number) => string;
}) {
	const box = useRef<HTMLDivElement>(null);
	const most = Math.max(1, ...bars.map((b) => b.value));
	const step = STEPS.find((s) => bars.length / s <= 16) ?? 8;
	const keys = (event: KeyboardEvent): void => {
		const links = [...(box.current?.querySelectorAll<HTMLElement>(".upright") ?? [])];
		const at = links.indexOf(document.activeElement as HTMLElement);
		const next: Record<string, number> = {
			ArrowRight: at + 1,
			ArrowLeft: at - 1,
			Home: 0,
			End: links.length - 1,
		};
		if (!(event.key in next)) return;
		links[Math.max(0, Math.min(links.length - 1, next[event.key]!))]?.focus();
		event.preventDefault();
	};
	return (
		<div
			class="bars"
			role="group"
			aria-label={label}
			ref={box}
			onKeyDown={keys}
			onMouseLeave={hideTip}>
			<div class="bars-scale" aria-hidden="true">
				<span>{said(most)}</span>
				<span>{said(most / 2)}</span>
				<span>0</span>
			</div>
			<div class="bars-area">
				{bars.map((bar, i) => (
					<a
						key={i}
						class={`upright${bar.accent ? " accent" : ""}`}
						href={bar.href}
						tabIndex={i === 0 ? 0 : -1}
						aria-label={`${bar.label}: ${bar.tip.join(", ")}`}
						onMouseMove={(event) =>
							showTip(
								event.clientX,
								event.clientY,
								<>
									{bar.tip.map((line, k) => (
										<div key={k}>{k ? line : <strong>{line}</strong>}</div>
									))}
								</>,
							)
						}
						onClick={hideTip}>
						<span class="upright-box">
							<span
								class={bar.value ? "upright-fill some" : "upright-fill"}
								style={{ height: `${(100 * bar.value) / most}%` }}
							/>
						</span>
						<span class="upright-label">
							{i % step === 0 || i === bars.length - 1 ? bar.label : ""}
						</span>
					</a>
				))}
			</div>
		</div>
	);
}
