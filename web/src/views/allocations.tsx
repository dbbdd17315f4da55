// SPDX-License-Identifier: MIT OR Apache-2.0
// Allocations: by the stack that made them, or one by one.  The server filters, sorts and pages;
// the table holds what is in view, so that ten million rows scroll like ten.
import { useRecordings } from "../app/recordings";
import { useRoute } from "../app/url";
import { AllocationGroups } from "./allocation_groups";
import { AllocationList } from "./allocation_list";
import type { ViewProps } from "./views";

export function Allocations({ id }: ViewProps) {
	useRecordings();
	return useRoute().parameters["list"] === "flat" ? (
		<AllocationList id={id} />
	) : (
		<AllocationGroups id={id} />
	);
}
