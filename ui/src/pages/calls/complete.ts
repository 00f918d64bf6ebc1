// Suggestions at the caret of a filter: fields, their operators, values, and the words between.

import type { FilterField } from "../../api/types";
import { pieces, quote, type Piece } from "./language";

export interface Offer {
  /** What is put in. */
  text: string;
  /** What is shown; `text` if absent. */
  label?: string;
  help: string;
  kind: "field" | "operator" | "value" | "keyword" | "recent" | "saved";
}

export interface Completion {
  /** What is replaced by the offer that is taken. */
  from: number;
  to: number;
  offers: Offer[];
}

/** Values that were seen in the rows on the page, most frequent first. */
export type Seen = (field: string) => readonly { value: string; count: number }[];

/** Offers shown at most. */
export const OFFERS_MAX = 40;

const OPERATORS: [string, string][] = [
  [":", "equals; * matches anything"],
  ["!=", "not equal"],
  ["<", "less than"],
  ["<=", "at most"],
  [">", "more than"],
  [">=", "at least"],
];
const ORDERED = new Set(["code", "score", "seconds", "milliseconds", "percent", "time"]);
const CODES: [string, string][] = [
  ["4xx", "client error"],
  ["5xx", "server error"],
  ["6xx", "global failure"],
  ["404", "Not Found"],
  ["408", "Request Timeout"],
  ["480", "Temporarily Unavailable"],
  ["486", "Busy Here"],
  ["487", "Request Terminated"],
  ["488", "Not Acceptable Here"],
  ["500", "Server Internal Error"],
  ["503", "Service Unavailable"],
  ["603", "Decline"],
];

export const fieldNamed = (fields: readonly FilterField[], name: string): FilterField | undefined =>
  fields.find((field) => field.name === name.toLowerCase() || field.aliases.includes(name.toLowerCase()));

/** What may stand at the caret. */
export function complete(text: string, caret: number, fields: readonly FilterField[], seen: Seen): Completion {
  const all = pieces(text);
  const here = all.find((piece) => piece.from < caret && caret <= piece.to);
  const before = [...all].reverse().find((piece) => piece.to <= caret && piece !== here);
  if (here?.kind === "value") return values(here.from, here.to, text.slice(here.from, caret), here.field ?? "", fields, seen);
  if (here?.kind === "operator") return caret === here.to ? values(caret, valueEnd(all, here, caret), "", here.field ?? "", fields, seen) : none(caret);
  if (before?.kind === "operator" && !here) return values(caret, caret, "", before.field ?? "", fields, seen);
  if (here && (here.kind === "word" || here.kind === "field")) return names(here, caret, all, fields);
  if (here?.kind === "keyword" && caret === here.to && /[a-z]$/i.test(here.text)) return words(here.from, here.to, here.text, finished(before), fields);
  return words(caret, caret, "", finished(here ?? before), fields);
}

const none = (caret: number): Completion => ({ from: caret, to: caret, offers: [] });

const valueEnd = (all: readonly Piece[], operator: Piece, caret: number): number => {
  const next = all[all.indexOf(operator) + 1];
  return next?.kind === "value" && next.from === caret ? next.to : caret;
};

/** Whether a test ends there, so that `and` may follow. */
const finished = (piece: Piece | undefined): boolean => piece !== undefined && (piece.kind === "value" || piece.kind === "word" || piece.text === ")");

/** While a name is typed: names; as soon as it is a whole one, its operators as well. */
function names(here: Piece, caret: number, all: readonly Piece[], fields: readonly FilterField[]): Completion {
  const typed = here.text.slice(0, caret - here.from);
  const before = all[all.indexOf(here) - 1];
  const completion = words(here.from, here.to, typed, finished(before), fields);
  const field = caret === here.to ? fieldNamed(fields, typed) : undefined;
  if (!field || here.kind === "field") return completion;
  const operators = operatorsOf(field).map(([text, help]): Offer => ({ text: typed + text, label: `${typed}${text}`, help, kind: "operator" }));
  return { ...completion, offers: [...operators, ...completion.offers.filter((offer) => offer.text !== `${field.name}:`)] };
}

function operatorsOf(field: FilterField): [string, string][] {
  if (field.kind === "score") return OPERATORS.filter(([text]) => text !== ":" && text !== "!=");
  return ORDERED.has(field.kind) ? OPERATORS : OPERATORS.slice(0, 2);
}

/** Fields whose name, alias or help holds what was typed, those that begin so first; and the words between tests. */
function words(from: number, to: number, typed: string, afterTest: boolean, fields: readonly FilterField[]): Completion {
  const low = typed.toLowerCase();
  const rank = (field: FilterField): number => {
    if (field.name.startsWith(low)) return 0;
    if (field.aliases.some((alias) => alias.startsWith(low))) return 1;
    if (low.length < 3) return 9;
    if (field.name.includes(low)) return 2;
    return field.help.toLowerCase().includes(low) ? 3 : 9;
  };
  const offers: Offer[] = fields
    .map((field) => ({ field, rank: rank(field) }))
    .filter((one) => one.rank < 9)
    .sort((a, b) => a.rank - b.rank)
    .map(({ field }) => ({ text: ORDERED.has(field.kind) ? field.name : `${field.name}:`, label: field.name, help: `${field.help}, for example ${field.examples[0] ?? ""}`, kind: "field" }));
  const keywords: [string, string, boolean][] = [
    ["and", "both must match", afterTest],
    ["or", "at least one must match", afterTest],
    ["not", "the next must not match", true],
  ];
  const fitting = keywords.filter(([word, , fits]) => fits && word.startsWith(low)).map(([word, help]): Offer => ({ text: `${word} `, label: word, help, kind: "keyword" }));
  const all = afterTest && low === "" ? [...fitting, ...offers] : [...offers, ...fitting];
  return { from, to, offers: all.slice(0, OFFERS_MAX) };
}

function values(from: number, to: number, typed: string, name: string, fields: readonly FilterField[], seen: Seen): Completion {
  const field = fieldNamed(fields, name);
  if (!field) return none(from);
  const low = typed.replace(/^"/, "").toLowerCase();
  const offers = new Map<string, Offer>();
  const offer = (value: string, help: string, literal = true): void => {
    const text = literal ? quote(value) : value;
    if (!offers.has(text) && (low === "" || value.toLowerCase().includes(low))) offers.set(text, { text: `${text} `, label: value, help, kind: "value" });
  };
  for (const { value, count } of seen(field.name)) offer(value, `${count} of the calls shown`);
  for (const value of field.values ?? []) offer(value, field.help);
  if (field.kind === "code") for (const [code, help] of CODES) offer(code, help);
  for (const example of field.examples) {
    const value = pieces(example).find((piece) => piece.kind === "value")?.text;
    if (value !== undefined && !field.values) offer(value, `for example ${example}`, false);
  }
  // Those that begin as was typed stand first; else the order in which they came.
  const sorted = [...offers.values()].sort((a, b) => Number(b.label?.toLowerCase().startsWith(low)) - Number(a.label?.toLowerCase().startsWith(low)));
  const already = sorted.length === 1 && sorted[0]?.text.trim() === typed;
  return { from, to, offers: already ? [] : sorted.slice(0, OFFERS_MAX) };
}

/** The text with an offer taken, and where the caret stands then. */
export function taken(text: string, completion: Completion, offer: Offer): { text: string; caret: number } {
  const rest = text.slice(completion.to);
  const put = offer.text.endsWith(" ") && rest.startsWith(" ") ? offer.text.trimEnd() : offer.text;
  const moved = offer.text.endsWith(" ") && rest.startsWith(" ") ? 1 : 0;
  return { text: text.slice(0, completion.from) + put + rest, caret: completion.from + put.length + moved };
}
