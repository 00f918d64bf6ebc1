// j, k and the arrows go from link to link of the rows of a page, Enter opens: for lists that are whole in the page.
// Long lists are parts/virtual.tsx.

import { onCleanup, onMount } from "solid-js";
import { useKeys } from "./keys";

const LINKS = "[data-row-link]";

/** `rows` says what they are, for the help of keys. A row's link bears `data-row-link`. */
export function useRowKeys(rows: string): void {
  const go = (step: number): void => {
    const links = [...document.querySelectorAll<HTMLElement>(LINKS)];
    const at = links.indexOf(document.activeElement as HTMLElement);
    const next = links[at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + step))];
    next?.focus({ preventScroll: true });
    next?.scrollIntoView({ block: "nearest" });
  };
  useKeys([
    { keys: "j", what: `Next in the list of ${rows}`, run: () => go(1) },
    { keys: "k", what: `Previous in the list of ${rows}`, run: () => go(-1) },
  ]);
  // The arrows scroll the page unless one is in the list.
  const arrows = (event: KeyboardEvent): void => {
    if (!(event.target instanceof HTMLElement) || !event.target.matches(LINKS)) return;
    if (event.key === "ArrowDown") go(1);
    else if (event.key === "ArrowUp") go(-1);
    else return;
    event.preventDefault();
  };
  onMount(() => document.addEventListener("keydown", arrows));
  onCleanup(() => document.removeEventListener("keydown", arrows));
}
