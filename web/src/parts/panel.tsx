// SPDX-License-Identifier: MIT OR Apache-2.0
// The panel that writes the question for those who do not want to type it.  Its fields are the rows
// of the server's filter table (/api), so a new filter is here by itself; each becomes a term like
// size_min(1k).  What is asked already stands in its field, however it was written; terms that no
// field can hold are shown as they are, and stay.
import { useMemo, useState } from "preact/hooks";
import { useApi } from "../app/api";
import type { FilterRow } from "../app/types";
import { Answered } from "./states";
import { allOf, fieldOf, quote, terms } from "./terms";

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
	const { first, written, others } = useMemo(() => {
		const first: Record<string, string> = {},
			written: Record<string, string> = {},
			others: string[] = [];
		for (const { text } of terms(filter)) {
			const row = fieldOf(text, rows, first);
			if (row) {
				first[row.name] = row.value;
				written[row.name] = text;
			} else others.push(text);
		}
		return { first, written, others };
	}, [filter, rows]);
	const [values, setValues] = useState(first);
	const [rest, setRest] = useState(others);
	const [search, setSearch] = useState("");
	const found = (row: FilterRow): boolean =>
		search
			.toLowerCase()
			.split(/\s+/)
			.every((word) =>
				`${title(row.name)} ${row.name} ${row.help} ${row.meaning ?? ""}`
					.toLowerCase()
					.includes(word),
			);
	const groups = useMemo(() => {
		const made = new Map<string, FilterRow[]>(ORDER.map((name) => [name, []]));
		for (const row of rows)
			if (row.type !== "expression")
				made.get(GROUPS.find(([, pattern]) => pattern.test(row.name))![0])!.push(row);
		return [...made].filter(([, members]) => members.length);
	}, [rows]);
	const shown = groups
		.map(([name, members]) => [name, members.filter(found)] as const)
		.filter(([, members]) => members.length);
	const write = (): string => {
		const made = rows
			.filter((row) => (values[row.name] ?? "").trim())
			.map((row) => {
				const value = values[row.name]!.trim();
				/* What was not changed stays as it was written. */
				if (value === first[row.name]) return written[row.name]!;
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
			<div class="panel-top">
				<input
					class="field search"
					type="search"
					aria-label="Search filters"
					placeholder="Search filters"
					value={search}
					onInput={(event) => setSearch(event.currentTarget.value)}
				/>
				{rest.length > 0 && (
					<>
						<span class="dim">asked besides these fields</span>
						<ul aria-label="Asked besides these fields">
							{rest.map((text, i) => (
								<li key={text} class="label">
									<code title={text}>{text}</code>
									<button
										type="button"
										aria-label={`Leave out ${text}`}
										title="Leave out"
										onClick={() => setRest(rest.filter((_, k) => k !== i))}>
										×
									</button>
								</li>
							))}
						</ul>
					</>
				)}
			</div>
			{!shown.length && <p class="dim">No filter is called or explained so.</p>}
			<div class="panel-groups">
				{shown.map(([name, members]) => (
					<fieldset key={name}>
						<legend>{name}</legend>
						{members.map((row) => (
							<label
								key={row.name}
								class={values[row.name] ? "panel-field set" : "panel-field"}
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
				<button
					type="button"
					class="button"
					onClick={() => {
						setValues({});
						setRest([]);
					}}>
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
