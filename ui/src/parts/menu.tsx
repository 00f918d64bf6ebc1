// A button that opens a list of things to do. The list is a popover of the browser: it closes by Escape or a click
// elsewhere, and lies above everything.

import { createUniqueId, type JSX } from "solid-js";
import "./menu.css";

export function Menu(props: { label: JSX.Element; title?: string; class?: string; children: JSX.Element }): JSX.Element {
  const id = `menu-${createUniqueId()}`;
  let button: HTMLButtonElement | undefined;
  let list: HTMLDivElement | undefined;
  const place = (event: ToggleEvent): void => {
    const open = event.newState === "open";
    button?.setAttribute("aria-expanded", String(open));
    if (!open || !button || !list) return;
    const at = button.getBoundingClientRect();
    const width = list.offsetWidth;
    list.style.left = `${Math.max(8, Math.min(at.left, window.innerWidth - width - 8))}px`;
    const below = window.innerHeight - at.bottom;
    if (below < list.offsetHeight + 8 && at.top > below) list.style.top = `${Math.max(8, at.top - list.offsetHeight - 4)}px`;
    else list.style.top = `${at.bottom + 4}px`;
  };
  const move = (event: KeyboardEvent): void => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const items = [...(list?.querySelectorAll<HTMLElement>("a, button, input") ?? [])];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const next = (at + (event.key === "ArrowDown" ? 1 : -1) + items.length) % items.length;
    items[next]?.focus();
    event.preventDefault();
  };
  return (
    <>
      <button ref={button} type="button" class={props.class ?? "button"} popovertarget={id} aria-expanded="false" aria-controls={id} title={props.title}>
        {props.label}
      </button>
      <div ref={list} id={id} popover="auto" class="menu" onToggle={(event) => place(event as ToggleEvent)} onKeyDown={move}>
        {props.children}
      </div>
    </>
  );
}

/** Closes the menu that an item stands in. */
export const closeMenu = (item: Element): void => item.closest<HTMLElement>("[popover]")?.hidePopover();

export function MenuItem(props: { run: () => void; children: JSX.Element }): JSX.Element {
  return (
    <button
      type="button"
      class="menu-item"
      onClick={(event) => {
        closeMenu(event.currentTarget);
        props.run();
      }}
    >
      {props.children}
    </button>
  );
}
