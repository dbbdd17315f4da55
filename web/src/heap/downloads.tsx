// SPDX-License-Identifier: MIT OR Apache-2.0
// Every report that the heap command can write, with the question of the page; and the file itself.
import { dataUrl } from "../app/recordings";
import { Card } from "../parts/card";
import { plural } from "../parts/units";
import type { Asked, Report } from "./data";
import type { Recording } from "../app/recordings";
import { programOf } from "./data";

/* The server knows no "#"; it is how the page tells versions apart. */
const plain = (address: string): string => address.replace(/#.*/, "");

export function HeapDownloads({
	recording,
	asked,
	reports,
	regex,
}: {
	recording: Recording;
	asked: Asked;
	reports: readonly Report[];
	regex: string | undefined;
}) {
	const base = programOf(recording).replace(/[^\w.-]+/g, "_");
	const rows = reports
		.filter((r) => !r.whole || !asked.base)
		.map((r) => {
			const file =
				`${base}` +
				`${["pprof", "text", r.extension].includes(r.name) ? "" : `.${r.name}`}.` +
				`${r.extension}`;
			return {
				...r,
				file,
				href: plain(
					dataUrl(
						recording.id,
						"/dumps/{id}/report/{format}/{name}",
						{
							...(r.whole ? {} : asked.query),
							...(r.regex ? { regex: regex || "." } : {}),
						},
						{ format: r.name, name: file },
					),
				),
			};
		});
	/* What a browser can show by itself is a click away, too. */
	const shown = (r: Report): boolean => /plain|svg|html/.test(r.type);
	return (
		<Card
			name="heap-downloads"
			title="Downloads"
			said={
				`${plural(rows.length, "report")}` +
				(asked.filtered ? " of what is asked for above" : "") +
				(asked.base ? ", of what was added since the other dump" : "")
			}>
			<ul class="heap-downloads">
				{rows.map((r) => (
					<li key={r.name}>
						<a class="button" href={r.href} download={r.file}>
							{r.file}
						</a>
						<span>
							<strong>
								{shown(r) ? (
									<a
										class="link"
										href={r.href}
										target="_blank"
										rel="noopener"
										title="In a new tab">
										{r.name}
									</a>
								) : (
									r.name
								)}
							</strong>{" "}
							<span class="dim">
								{r.help.replace(/ \(this is what is done\)|; also of --.*/, "")}
							</span>
						</span>
					</li>
				))}
				<li>
					<a
						class="button"
						href={plain(dataUrl(recording.id, "/dumps/{id}/raw", {}))}
						download={recording.name}>
						{recording.name}
					</a>
					<span>
						<strong>the dump</strong>{" "}
						<span class="dim">as it was opened; for jeprof and others</span>
					</span>
				</li>
			</ul>
		</Card>
	);
}
