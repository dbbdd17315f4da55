// SPDX-License-Identifier: MIT OR Apache-2.0
// A stack on the page: one line of what matters, or all frames with their lines.  Functions are
// links that add a term to the question, sources open the source view.
import { href } from "../app/url";
import { abbreviate, callOf, frameName, framePlace, shortName, type Frame } from "./frames";
import { adding, functionTerm } from "./adding";
import { middle } from "./units";
import "../style/stack.css";

/* render_row ← handle ← … ← main */
export function Chain({ frames, from = 0 }: { frames: readonly Frame[]; from?: number }) {
	const links = abbreviate(frames).slice(from);
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
					{skipped > 0 && <span class="gap">{skipped} more ← </span>}
					{middle(shortName(frameName(frame)), 60)}
				</span>
			))}
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
export const stackHeight = (frames: readonly Frame[], title = false): number =>
	(frames.length + (title ? 1 : 0)) * LINE + 8;

/* All frames, the innermost first. */
export function Stack({ frames, title }: { frames: readonly Frame[]; title?: string }) {
	const call = callOf(frames);
	return (
		<div class="frames">
			{title && <div class="frames-title">{title}</div>}
			<ol>
				{[...frames].reverse().map((frame, i) => (
					<li
						key={i}
						class={
							i === 0 && frame.function === call
								? "frames-call"
								: frame.is_inline
									? "frames-inline"
									: ""
						}>
						{frame.function ? (
							<a
								href={adding(functionTerm(frame.function))}
								title={`${frame.function}\nOnly what goes through this function`}>
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
					</li>
				))}
			</ol>
		</div>
	);
}
