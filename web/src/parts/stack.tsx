// SPDX-License-Identifier: MIT OR Apache-2.0
// A stack on the page: one line of what matters, or all frames with their lines.  Functions are
// links that add a term to the question, sources open the source view.
import { href } from "../app/url";
import {
	abbreviate,
	callOf,
	frameName,
	framePlace,
	insideOf,
	runs,
	shortName,
	type Frame,
	type Run,
} from "./frames";
import { adding, functionTerm } from "./adding";
import { copy } from "./clipboard";
import { openMenu } from "./menu";
import { middle } from "./units";
import { whoseItems } from "./whose";
import "../style/stack.css";

/* render_row ← handle ← … ← main */
export function Chain({ frames, from = 0 }: { frames: readonly Frame[]; from?: number }) {
	const links = abbreviate(frames).slice(from),
		inside = insideOf(frames);
	return (
		<span class="chain" title={frames.map(frameName).reverse().join("\n")}>
			{links.map(({ frame, skipped }, i) => (
				<span key={i}>
					{(i > 0 || from > 0) && (
						<span class="arrow" aria-label="called by">
							{" "}
							←{" "}
						</span>
					)}
					{skipped > 0 && <span class="gap">+{skipped} ← </span>}
					{middle(shortName(frameName(frame)), 60)}
				</span>
			))}
			{inside > 0 && <span class="gap"> (+{inside} inside)</span>}
		</span>
	);
}

export const stackText = (frames: readonly Frame[]): string =>
	[...frames]
		.reverse()
		.map(
			(f) =>
				`${frameName(f)}` +
				(framePlace(f)
					? ` (${f.source ? `${f.source}:${f.line ?? "?"}` : framePlace(f)})`
					: ""),
		)
		.join("\n");

const LINE = 20;
export const stackHeight = (frames: readonly Frame[], all: boolean, title = false): number =>
	((all ? frames.length : runs(frames).length) + (title ? 1 : 0)) * LINE + 8;

function frameMenu(frame: Frame, x: number, y: number): void {
	const name = frame.function;
	openMenu(x, y, middle(shortName(frameName(frame)), 60), [
		...(name
			? [
					{ label: "Only what goes through it", href: adding(functionTerm(name)) },
					{ label: "Without it", href: adding(`not ${functionTerm(name)}`) },
				]
			: []),
		...whoseItems({ name, module: frame.library }, frame.kind === "program"),
		{ label: "Copy the name", run: () => void copy(frameName(frame), "Name") },
	]);
}

/* The innermost first.  all: every frame; else what is not the program's own in runs that open them
 * (onAll). */
export function Stack({
	frames,
	title,
	all,
	onAll,
}: {
	frames: readonly Frame[];
	title?: string;
	all: boolean;
	onAll: () => void;
}) {
	const call = callOf(frames);
	const lines = all ? [...frames].reverse().map((frame) => ({ frame })) : runs(frames);
	return (
		<div class="frames">
			{title && <div class="frames-title">{title}</div>}
			<ol>
				{lines.map(({ frame, hidden }: Run, i) =>
					!frame ? (
						<li key={i} class="frames-run">
							<button
								type="button"
								class="button quiet"
								title={hidden.map(frameName).join("\n")}
								onClick={onAll}>
								+{hidden.length} {middle(shortName(frameName(hidden[0]!)), 60)} …
							</button>
						</li>
					) : (
						<li
							key={i}
							onContextMenu={(event) => {
								event.preventDefault();
								event.stopPropagation();
								frameMenu(frame, event.clientX, event.clientY);
							}}
							class={
								i === 0 && frame.function === call
									? "frames-call"
									: frame.is_inline
										? "frames-inline"
										: frame.kind === "program"
											? ""
											: "frames-other"
							}>
							{frame.function ? (
								<a
									href={adding(functionTerm(frame.function))}
									title={
										`${frame.function}\n` +
										"Only what goes through this function"
									}>
									{middle(frame.function, 110)}
								</a>
							) : (
								<span class="mono" title={`0x${frame.address_s}`}>
									{frameName(frame)}
								</span>
							)}
							{frame.is_inline && <span class="frames-note">inlined</span>}
							{frame.source ? (
								<a
									class="frames-place"
									href={href(
										{ view: "source" },
										{ file: frame.source, line: String(frame.line ?? "") },
									)}
									title={`${frame.source}:${frame.line ?? "?"}`}>
									{framePlace(frame)}
								</a>
							) : (
								framePlace(frame) && (
									<span class="frames-place" title={frame.library}>
										{framePlace(frame)}
									</span>
								)
							)}
							<button
								type="button"
								class="button quiet frames-more"
								aria-label={`About ${middle(frameName(frame), 60)}`}
								title="Hide it, or ask about it"
								onClick={(event) => frameMenu(frame, event.clientX, event.clientY)}>
								…
							</button>
						</li>
					),
				)}
			</ol>
		</div>
	);
}
