// Changing a filter part by part: adding a test, leaving one out, trying it without.

import { pieces, quote, type Piece } from "./language";

export interface Part {
  text: string;
  from: number;
  to: number;
}

/** The parts that must all hold, if the filter is such a list at its outermost level; else the whole of it. */
export function parts(filter: string): Part[] {
  const all = pieces(filter);
  const whole = (): Part[] => (filter.trim() ? [{ text: filter.trim(), from: 0, to: filter.length }] : []);
  const found: Part[] = [];
  let depth = 0;
  let begun: Piece | undefined;
  const end = (last: Piece): void => {
    if (begun) found.push({ text: filter.slice(begun.from, last.to), from: begun.from, to: last.to });
    begun = undefined;
  };
  for (const [i, piece] of all.entries()) {
    const word = piece.text.toLowerCase();
    if (depth === 0 && piece.kind === "keyword" && (word === "or" || word === "||")) return whole();
    if (depth === 0 && piece.kind === "keyword" && (word === "and" || word === "&&")) {
      if (begun) return whole();
      continue;
    }
    begun ??= piece;
    if (piece.text === "(" && piece.kind === "bracket") depth += 1;
    if (piece.text === ")" && piece.kind === "bracket") depth -= 1;
    if (depth < 0) return whole();
    const next = all[i + 1];
    const value = piece.kind === "value" || piece.kind === "word" || piece.text === ")" || (piece.kind === "operator" && next?.kind !== "value");
    if (depth === 0 && value) end(piece);
  }
  return depth === 0 && !begun ? found : whole();
}

/** `state:rejected`, and what excludes it. */
export interface Test {
  field: string;
  operator?: string;
  value: string;
}

export const written = (test: Test, exclude = false): string => `${test.field}${exclude ? "!=" : (test.operator ?? ":")}${quote(test.value)}`;

/** The filter with this test as well. A test that says the contrary of it goes; one that is there stays alone. */
export function withTest(filter: string, test: Test, exclude = false): string {
  const wanted = written(test, exclude);
  const contrary = [written(test, !exclude), exclude ? "" : `not ${written(test)}`];
  const before = parts(filter);
  const hasOr = before.length === 1 && pieces(filter).some((piece) => piece.kind === "keyword" && /^(or|\|\|)$/i.test(piece.text));
  if (hasOr && !/^\(.*\)$/s.test(filter.trim())) return `(${filter.trim()}) and ${wanted}`;
  const kept = before.map((part) => part.text).filter((text) => !contrary.includes(text));
  if (!kept.includes(wanted)) kept.push(wanted);
  return kept.join(" and ");
}

/** The filter without one of its parts. */
export function without(filter: string, part: number): string {
  return parts(filter)
    .filter((_, i) => i !== part)
    .map(({ text }) => text)
    .join(" and ");
}
