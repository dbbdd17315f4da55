// SPDX-License-Identifier: MIT OR Apache-2.0
// The menu of a right click (or of the menu key): one at a time, anywhere.  openMenu() from any
// handler; <MenuHost/> stands once in the shell.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { goTo } from "../app/url";

export interface Item {
	label: string;
	hint?: string;
	href?: string; /* goes there; or */
	run?: () => void;
}
interface Open {
	x: number;
	y: number;
	title: string;
	items: Item[];
}

let show: (menu: Open | undefined) => void = () => {};

export function openMenu(x: number, y: number, title: string, items: Item[]): void {
	show({ x, y, title, items });
}

export function MenuHost() {
	const [menu, set] = useState<Open>();
	const box = useRef<HTMLDivElement>(null);
	const before = useRef<Element | null>(null);
	show = (next) => {
		if (next && !menu) before.current = document.activeElement;
		set(next);
	};
	const close = (): void => {
		set(undefined);
		if (before.current instanceof HTMLElement) before.current.focus({ preventScroll: true });
	};
	useLayoutEffect(() => {
		const element = box.current;
		if (!menu || !element) return;
		const { width, height } = element.getBoundingClientRect();
		element.style.left = `${Math.max(4, Math.min(menu.x, innerWidth - width - 4))}px`;
		element.style.top = `${Math.max(4, Math.min(menu.y, innerHeight - height - 4))}px`;
		element.querySelector<HTMLElement>("[role=menuitem]")?.focus({ preventScroll: true });
	}, [menu]);
	useEffect(() => {
		if (!menu) return;
		const outside = (event: Event): void => {
			if (!(event.target instanceof Node) || !box.current?.contains(event.target))
				set(undefined);
		};
		addEventListener("pointerdown", outside, true);
		addEventListener("scroll", outside, true);
		return () => {
			removeEventListener("pointerdown", outside, true);
			removeEventListener("scroll", outside, true);
		};
	}, [menu]);
	if (!menu) return null;
	const keys = (event: KeyboardEvent): void => {
		const items = [...(box.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
		const at = items.indexOf(document.activeElement as HTMLElement);
		const next: Record<string, number> = {
			ArrowDown: at + 1,
			ArrowUp: at - 1 + items.length,
			Home: 0,
			End: items.length - 1,
		};
		if (event.key in next) items[next[event.key]! % items.length]?.focus();
		else if (event.key === "Escape" || event.key === "Tab") close();
		else return;
		event.preventDefault();
		event.stopPropagation();
	};
	const pick = (item: Item): void => {
		close();
		if (item.href) goTo(item.href);
		item.run?.();
	};
	return (
		<div
			class="menu"
			role="menu"
			aria-label={menu.title}
			ref={box}
			onKeyDown={keys}
			onContextMenu={(event) => event.preventDefault()}>
			<div class="menu-title" role="presentation">
				{menu.title}
			</div>
			{menu.items.map((item, i) => (
				<button
					type="button"
					key={i}
					role="menuitem"
					tabIndex={-1}
					onClick={() => pick(item)}>
					<span>{item.label}</span>
					{item.hint && <span class="dim">{item.hint}</span>}
				</button>
			))}
		</div>
	);
}
