// Which rows of a long list stand on the screen.

/** Rows above and below the screen that are made as well, so that a quick turn of the wheel shows no gap. */
export const SPARE_ROWS = 8;
/** Browsers cannot make elements much higher than 17 million pixels; rows beyond are not shown. */
export const HEIGHT_MAX_PX = 16_000_000;

export interface RowWindow {
  /** First row made. */
  first: number;
  /** Behind the last row made. */
  end: number;
}

/** `top` is what was scrolled past, `view` what is seen, both in pixels. */
export function rowWindow(top: number, view: number, height: number, count: number): RowWindow {
  if (count <= 0 || height <= 0) return { first: 0, end: 0 };
  const first = Math.max(0, Math.min(count, Math.floor(top / height) - SPARE_ROWS));
  const end = Math.max(first, Math.min(count, Math.ceil((top + view) / height) + SPARE_ROWS));
  return { first, end };
}

/** The rows to make: those of the window, and the one with the cursor wherever it is, that focus is never lost. */
export function rowsOf(window: RowWindow, cursor: number, count: number): number[] {
  const rows = Array.from({ length: window.end - window.first }, (_, i) => window.first + i);
  if (cursor >= 0 && cursor < count && (cursor < window.first || cursor >= window.end)) rows.push(cursor);
  return rows.sort((a, b) => a - b);
}

/** Where to scroll to so that a row is seen whole, below a head that covers `covered` pixels; none if it is. */
export function scrollFor(row: number, height: number, top: number, view: number, covered: number): number | undefined {
  const from = row * height;
  if (from < top) return from;
  if (from + height > top + view - covered) return from + height - view + covered;
  return undefined;
}
