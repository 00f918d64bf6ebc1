// What filters may ask, and the filters that the viewer kept: asked for once somebody wants to write one.

import { createSignal } from "solid-js";
import { get, put, remove } from "../../api/client";
import type { FilterField, SavedFilter } from "../../api/types";
import { kept } from "../../prefs";

/** Filters remembered in this browser. */
const RECENT_MAX = 12;

const [fields, setFields] = createSignal<FilterField[]>([]);
const [saved, setSaved] = createSignal<SavedFilter[]>([]);
const [recent, setRecent] = kept<string[]>("calls.recent", []);

export { fields, recent, saved };

let asked = false;

/** Completion is a comfort: without an answer the bar works without it, and asks again next time. */
export function loadFields(): void {
  if (asked) return;
  asked = true;
  get<FilterField[]>("/calls/fields").then(setFields, () => void (asked = false));
  void loadSaved();
}

async function loadSaved(): Promise<void> {
  try {
    setSaved((await get<{ filters: SavedFilter[] }>("/filters")).filters);
  } catch {
    // Told where somebody saves one.
  }
}

export async function save(name: string, text: string, shared: boolean): Promise<void> {
  await put(`/filters/${encodeURIComponent(name)}`, { text, shared });
  await loadSaved();
}

export async function forget(name: string, shared: boolean): Promise<void> {
  await remove(`/filters/${encodeURIComponent(name)}`, { shared });
  await loadSaved();
}

export function remember(filter: string): void {
  if (filter.trim() === "") return;
  setRecent([filter, ...recent().filter((one) => one !== filter)].slice(0, RECENT_MAX));
}
