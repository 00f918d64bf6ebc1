// Keys of the whole program: single letters outside of fields, and pairs that begin with g.

import { onCleanup, onMount } from "solid-js";

export interface Key {
  /** "/", "?", "g c", "Escape" */
  keys: string;
  what: string;
  run: () => void;
}

/** Milliseconds in which the second key of a pair must come. */
const PAIR_MS = 900;

const known: Key[] = [];

export const knownKeys = (): readonly Key[] => known;

/** Keys that work as long as the component lives. */
export function useKeys(keys: Key[]): void {
  onMount(() => known.push(...keys));
  onCleanup(() => keys.forEach((key) => known.splice(known.indexOf(key), 1)));
}

let first: { key: string; at: number } | undefined;

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

export function listenForKeys(): void {
  // At the window, behind the document: there stand the handlers of the components, whose keys come first.
  window.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]") && event.key !== "Escape") return;
    const pair = first && event.timeStamp - first.at < PAIR_MS ? `${first.key} ${event.key}` : undefined;
    first = undefined;
    // The one that was added last stands nearest to the eye.
    const found = [...known].reverse().find((key) => key.keys === (pair ?? event.key));
    if (found) {
      event.preventDefault();
      found.run();
    } else if (event.key === "g") {
      first = { key: event.key, at: event.timeStamp };
    }
  });
}
