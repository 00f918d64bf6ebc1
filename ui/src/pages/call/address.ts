// What of the page stands in its address: the chosen message and the zoomed span.

/** Shortest span that can be zoomed to, milliseconds. */
export const SPAN_MIN = 20;

/** "#m12" is the message with index 11. */
export function parseHash(hash: string, count: number): number | undefined {
  const number = Number(/^#m(\d+)$/.exec(hash)?.[1] ?? 0);
  return number >= 1 && number <= count ? number - 1 : undefined;
}

export const formatSpan = (from: number, to: number): string => `${(from / 1000).toFixed(3)}-${(to / 1000).toFixed(3)}`;

export function parseSpan(text: string | undefined, [start, end]: [number, number]): [number, number] | undefined {
  const found = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text ?? "");
  if (!found) return undefined;
  const [from, to] = [start + Number(found[1]) * 1000, Math.min(end, start + Number(found[2]) * 1000)];
  return to - from >= SPAN_MIN ? [from, to] : undefined;
}
