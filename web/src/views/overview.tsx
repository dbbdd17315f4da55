// SPDX-License-Identifier: MIT OR Apache-2.0
// The first view of a recording: how much, when, who, why.
import { Card } from "../parts/card";
import type { ViewProps } from "./views";

export function Overview({ id }: ViewProps) {
	return <Card title="Overview" said={id} />;
}
