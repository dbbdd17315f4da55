// SPDX-License-Identifier: MIT OR Apache-2.0
// Numbers on the page: short with their unit, exact in the tooltip, and a link where they count
// something that can be looked at.
import type { ComponentChildren } from "preact";
import { bytes, count, exact, short } from "./units";

function Linked({ title, to, children }: { title?: string; to: string | undefined; children: ComponentChildren }) {
	return to ? <a class="number" href={to} title={title}>{children}</a> : <span class="number" title={title}>{children}</span>;
}

export const Bytes = ({ value, to }: { value: number; to?: string }) => <Linked title={exact(value)} to={to}>{bytes(value)}</Linked>;
export const Count = ({ value, to }: { value: number; to?: string }) => <Linked to={to}>{count(value)}</Linked>;
export const Short = ({ value, to }: { value: number; to?: string }) => <Linked title={count(value)} to={to}>{short(value)}</Linked>;
