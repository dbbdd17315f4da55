// SPDX-License-Identifier: MIT OR Apache-2.0
// The panel that writes the question for those who do not want to type it.  Its fields are the rows
// of the server's filter table (/api), so a new filter is here by itself; each becomes a term like
// size_min(1k), and what such a term says is read back into its field.
import { useMemo, useState } from "preact/hooks";
import { useApi } from "../app/api";
import type { FilterRow } from "../app/types";
import { Answered } from "./states";
import { allOf, asRow, quote, terms } from "./terms";

/* Where a row stands: the first pattern that its name fits. */
const GROUPS: readonly (readonly [string, RegExp])[] = [
	["Stacks", /regex|backtrace|module|function|source/],
	["Stacks as a whole", /^group_/],
	["Realloc chains", /^chain|^first_size|^last_size|position|reallocated/],
	["Size", /size|slack/],
	["Lifetime", /lifetime|leaked|temporary/],
	["Time", /^from$|^to$|alive|allocated|_at|time/],
	["Where and how", /./],
];
const ORDER = [
	"Time",
	"Size",
	"Lifetime",
	"Stacks",
	"Stacks as a whole",
	"Realloc chains",
	"Where and how",
];
const TEXTS = new Set(["regex", "text", "thread"]);
/* size_min: size at least; negative_function_regex: no function like. */
const title = (name: string): string =>
	name
		.replace(/^group_/, "")
		.replaceAll("_", " ")
		.replace(/ min$/, " at least")
		.replace(/ max$/, " at most")
		.replace(/^negative (\w+) regex$/, "no $1 like")
		.replace(/^(\w+) regex$/, "a $1 like");

export function Panel({
	filter,
	onApply,
	onClose,
}: {
	filter: string;
	onApply: (filter: string) => void;
	onClose: () => void;
}) {
	const api = useApi();
	return (
		<section
			class="card panel"
			aria-label="Filters"
			onKeyDown={(event) => {
				if (event.key !== "Escape") return;
				event.stopPropagation();
				onClose();
			}}>
			<Answered what="The list of filters" answer={api} lines={8}>
				{(data) => (
					<Fields
						key={filter}
						rows={data.filters}
						filter={filter}
						onApply={onApply}
						onClose={onClose}
					/>
				)}
			</Answered>
		</section>
	);
}

function Fields({
	rows,
	filter,
	onApply,
	onClose,
}: {
	rows: FilterRow[];
	filter: string;
	onApply: (filter: string) => void;
	onClose: () => void;
}) {
	const { first, rest } = useMemo(() => {
		const values: Record<string, string> = {},
			others: string[] = [];
		for (const term of terms(filter)) {
			const row = asRow(term.text);
			if (row && rows.some((r) => r.name === row.name) && !(row.name in values))
				values[row.name] = row.value;
			else others.push(term.text);
		}
		return { first: values, rest: others };
	}, [filter, rows]);
	const [values, setValues] = useState(first);
	const groups = useMemo(() => {
		const made = new Map<string, FilterRow[]>(ORDER.map((name) => [name, []]));
		for (const row of rows)
			if (row.type !== "expression")
				made.get(GROUPS.find(([, pattern]) => pattern.test(row.name))![0])!.push(row);
		return [...made].filter(([, members]) => members.length);
	}, [rows]);
	const write = (): string => {
		const made = rows
			.filter((row) => (values[row.name] ?? "").trim())
			.map((row) => {
				const value = values[row.name]!.trim();
				return row.type === "flag"
					? `${row.name}()`
					: `${row.name}(${TEXTS.has(row.type) ? quote(value) : value})`;
			});
		return allOf([...rest, ...made]);
	};
	const set = (name: string, value: string): void => setValues({ ...values, [name]: value });
	return (
		<form
			onSubmit={(event) => {
				event.preventDefault();
				onApply(write());
			}}>
			<div class="panel-groups">
				{groups.map(([name, members]) => (
					<fieldset key={name}>
						<legend>{name}</legend>
						{members.map((row) => (
							<label
								key={row.name}
								class="panel-field"
								title={`${row.help}${row.syntax ? `\n${row.syntax}` : ""}`}>
								<span>{title(row.name)}</span>
								{row.values?.length ? (
									<select
										value={values[row.name] ?? ""}
										onChange={(event) =>
											set(row.name, event.currentTarget.value)
										}>
										<option value="">any</option>
										{row.values.map((v) => (
											<option key={v} value={v}>
												{v.replaceAll("_", " ")}
											</option>
										))}
									</select>
								) : row.type === "flag" ? (
									<input
										type="checkbox"
										checked={!!values[row.name]}
										onChange={(event) =>
											set(row.name, event.currentTarget.checked ? "yes" : "")
										}
									/>
								) : (
									<input
										type="text"
										spellcheck={false}
										value={values[row.name] ?? ""}
										placeholder={row.argument}
										onInput={(event) =>
											set(row.name, event.currentTarget.value)
										}
									/>
								)}
							</label>
						))}
					</fieldset>
				))}
			</div>
			<div class="panel-foot">
				<code class="dim">{write() || "everything"}</code>
				<button type="button" class="button" onClick={() => setValues({})}>
					Clear
				</button>
				<button type="button" class="button" onClick={onClose}>
					Close
				</button>
				<button type="submit" class="button primary">
					Ask
				</button>
			</div>
		</form>
	);
}
