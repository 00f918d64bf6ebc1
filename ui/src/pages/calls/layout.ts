// Which columns are shown, in which order and how wide: kept for this browser.

import { kept } from "../../prefs";
import { COLUMNS, columnOf, WIDTH_MAX, WIDTH_MIN, type Column } from "./columns";

interface Layout {
  /** Those shown, from left to right. */
  order: string[];
  widths: Record<string, number>;
}

const INITIAL: Layout = { order: COLUMNS.filter((column) => column.shown).map((column) => column.id), widths: {} };

const [layout, setLayout] = kept<Layout>("calls.columns", INITIAL);

/** The columns shown; what an older page kept and is unknown now is passed over. */
export function shownColumns(): Column[] {
  const found = (layout().order ?? []).flatMap((id) => columnOf(id) ?? []);
  return found.length > 0 ? found : INITIAL.order.flatMap((id) => columnOf(id) ?? []);
}

export const isShown = (id: string): boolean => shownColumns().some((column) => column.id === id);

/** A column that comes in takes its place in the order of the list of columns. */
export function show(id: string, on: boolean): void {
  const now = shownColumns().map((column) => column.id);
  if (!on) return setLayout({ ...layout(), order: now.length > 1 ? now.filter((one) => one !== id) : now });
  if (now.includes(id)) return;
  const rank = (one: string): number => COLUMNS.findIndex((column) => column.id === one);
  const at = now.findIndex((one) => rank(one) > rank(id));
  setLayout({ ...layout(), order: at < 0 ? [...now, id] : [...now.slice(0, at), id, ...now.slice(at)] });
}

export function move(id: string, way: -1 | 1): void {
  const now = shownColumns().map((column) => column.id);
  const at = now.indexOf(id);
  const to = at + way;
  if (at < 0 || to < 0 || to >= now.length) return;
  [now[at], now[to]] = [now[to]!, now[at]!];
  setLayout({ ...layout(), order: now });
}

export const widthOf = (column: Column): number => layout().widths?.[column.id] ?? column.width;

export function setWidth(id: string, width: number | undefined): void {
  const { [id]: _, ...others } = layout().widths ?? {};
  const widths = width === undefined ? others : { ...others, [id]: Math.round(Math.max(WIDTH_MIN, Math.min(WIDTH_MAX, width))) };
  setLayout({ ...layout(), widths });
}

export const resetLayout = (): void => setLayout(INITIAL);

/** The widths of a row's cells for CSS; one that grows does so unless it was dragged. */
export function template(): string {
  return shownColumns()
    .map((column) => (column.grows && layout().widths?.[column.id] === undefined ? `minmax(${column.width}px, 1fr)` : `${widthOf(column)}px`))
    .join(" ");
}

export const widthOfAll = (): number => shownColumns().reduce((sum, column) => sum + widthOf(column), 0);
