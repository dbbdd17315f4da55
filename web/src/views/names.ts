// SPDX-License-Identifier: MIT OR Apache-2.0
// Which views there are, for parts that offer a way to one: the table itself names components,
// which name parts.  views.ts fills this in.
const names = new Set<string>();
export const register = (name: string): void => {
	names.add(name);
};
export const has = (name: string): boolean => names.has(name);
