// SPDX-License-Identifier: MIT OR Apache-2.0
// The Fleet view: what the recordings of many hosts, builds and days hold together, as a ClickHouse
// server adds it up.  A question and a curve stand above; below are services (and what is below
// them, down to a recording), what grows, one flame graph of all, and the comparison of two parts.
import { find, useRecordings } from "../app/recordings";
import { go, href, useRoute } from "../app/url";
import { FleetCurve } from "../fleet/curve";
import { ROWS, useTrend } from "../fleet/data";
import { FleetCompare, FleetFlame } from "../fleet/flame";
import { FleetGrowth } from "../fleet/growth";
import { FleetList, RowsChoice } from "../fleet/list";
import { FleetQuestion } from "../fleet/question";
import { Card, Choice } from "../parts/card";
import { Empty, Skeleton } from "../parts/states";
import "../style/fleet.css";
import "../style/leaks.css";

type Show = "list" | "growth" | "flame" | "compare";
const SHOW: readonly (readonly [Show, string, string])[] = [
	["list", "list", "services, hosts, builds, labels, days, recordings"],
	["growth", "growth", "what grows, and in how many recordings"],
	["flame", "flame graph", "one of all recordings together"],
	["compare", "compare", "two builds, days, hosts beside each other"],
];

export function FleetView() {
	const { id } = useRoute();
	const { list } = useRecordings();
	const fleet = id ? find(id) : list?.find((r) => r.kind === "fleet");
	if (!list) return <Skeleton />;
	if (fleet?.kind !== "fleet")
		return (
			<Card title="Fleet">
				<Empty title="This server has no fleet">
					Start it with one:{" "}
					<code>memoir server --fleet clickhouse://db.example:8123/memoir</code>.{" "}
					<a class="link" href={href({ view: "recordings", id: "" })}>
						All recordings
					</a>
				</Empty>
			</Card>
		);
	return <One id={fleet.id} name={fleet.name} />;
}

function One({ id, name }: { id: string; name: string }) {
	const { parameters } = useRoute();
	const show = SHOW.find(([key]) => key === parameters["show"])?.[0] ?? "list";
	const rows = ROWS.find(([key]) => key === parameters["rows"])?.[0] ?? "service";
	const trend = useTrend(id);
	const wrong = trend.error?.status === 400 ? trend.error.message : undefined;
	return (
		<div class="stack" data-fleet={name}>
			<FleetQuestion error={wrong} />
			{wrong ? (
				<Card title="Live memory">
					<Empty title="The question cannot be asked">
						A fleet knows service, host, build, release, label, command, function,
						source, module, responsible, call, size by powers of two, and times.
					</Empty>
				</Card>
			) : (
				<>
					<FleetCurve id={id} answer={trend} />
					<div class="fleet-shows">
						<Choice
							label="Below is"
							value={show}
							options={SHOW}
							onChange={(key) =>
								go({
									show: key === "list" ? "" : key,
									sort: "",
									search: "",
									by: "",
								})
							}
						/>
						{show === "list" && <RowsChoice value={rows} />}
						<span class="grow" />
						<span class="dim fleet-name" title={name}>
							{name}
						</span>
					</div>
					{show === "list" && <FleetList key={rows} id={id} />}
					{show === "growth" && <FleetGrowth id={id} />}
					{show === "flame" && <FleetFlame id={id} />}
					{show === "compare" && <FleetCompare id={id} />}
				</>
			)}
		</div>
	);
}
