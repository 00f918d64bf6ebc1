// What people paste into a search box without naming a field: a number, a Call-ID, an address, a state.

import { pieces, quote } from "./language";

export interface Understood {
  /** The filter that is asked instead. */
  filter: string;
  /** What was made of what, for people; empty if nothing was. */
  hints: { word: string; test: string; why: string }[];
}

export interface Knows {
  /** Names with a list of values: "state" -> rejected, ... */
  named: { field: string; values: readonly string[] }[];
  codecs: readonly string[];
  /** Whoever sees numbers masked may only ask for whole ones. */
  wholeNumbersOnly: boolean;
}

const NUMBER = /^\+?\d[\d().\-/]*\*?$/;
/** A whole number as people write it: "+44 20 7946 0233". */
const SPACED = /^\s*\+?\d[\d\s().\-/]*$/;
const V4 = /^\d{1,3}(?:\.\d{1,3}){3}(?:\/\d{1,2}|:\d{1,5})?$/;
const V6 = /^\[?[\da-f]{0,4}(?::[\da-f]{0,4}){2,7}(?:\.\d{1,3}){0,3}(?:\/\d{1,3}|\](?::\d{1,5})?)?$/i;
/** Trunkline's own name of a call: its page is meant, not a search. */
const CALL = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[\da-f]{4}-[\da-f]{12}$/i;

/** The filter with a field before every word that is understood; other words stay for the program to judge. */
export function understand(text: string, knows: Knows): Understood {
  const hints: Understood["hints"] = [];
  if (SPACED.test(text) && /\d\s+\d/.test(text) && (text.match(/\d/g)?.length ?? 0) >= 7) {
    const said = number(text.trim(), knows);
    return { filter: said.test, hints: [{ word: text.trim(), ...said }] };
  }
  let filter = "";
  let at = 0;
  for (const piece of pieces(text)) {
    const said = piece.kind === "word" ? wordMeans(piece.text, knows) : undefined;
    filter += text.slice(at, piece.from) + (said?.test ?? piece.text);
    at = piece.to;
    if (said) hints.push({ word: piece.text, ...said });
  }
  return { filter: filter + text.slice(at), hints };
}

/** The call whose own name this is, if it is one. */
export const callNamed = (text: string): string | undefined => (CALL.test(text.trim()) ? text.trim().toLowerCase() : undefined);

/** What a word without a field means; none if that cannot be told. */
export function wordMeans(word: string, knows: Knows): { test: string; why: string } | undefined {
  if (word.startsWith('"')) return undefined;
  if (V4.test(word) || (V6.test(word) && word.includes(":"))) return { test: `ip:${word}`, why: "any signalling or media host" };
  if (/^(?:sips?|tel):/i.test(word)) return uri(word);
  if (word.includes("@")) return { test: `callid:${quote(word)}`, why: "Call-ID" };
  if (NUMBER.test(word) && (word.match(/\d/g)?.length ?? 0) >= 2) return number(word, knows);
  for (const { field, values } of knows.named) {
    const value = values.find((one) => one === word.toLowerCase());
    if (value) return { test: `${field}:${value}`, why: field };
  }
  if (/^[3-6]xx$/i.test(word)) return { test: `code:${word.toLowerCase()}`, why: "status code" };
  const codec = knows.codecs.find((one) => one.toLowerCase() === word.toLowerCase());
  if (codec) return { test: `codec:${codec}`, why: "codec of a stream" };
  if (/^[\w.!%~+-]{16,}$/.test(word) && /\d/.test(word)) return { test: `callid:${word}*`, why: "Call-IDs that start with it" };
  return undefined;
}

function number(word: string, knows: Knows): { test: string; why: string } {
  const star = word.endsWith("*");
  const plain = (word.startsWith("+") ? "+" : "") + word.replace(/\D/g, "");
  if (star && !knows.wholeNumbersOnly) return { test: `number:${plain}*`, why: "numbers that start with it" };
  if (word.startsWith("+") || knows.wholeNumbersOnly || plain.length < 6) return { test: `number:${plain}`, why: "number of caller or callee" };
  return { test: `number:*${plain.replace(/^0+(?=\d{6})/, "")}`, why: "numbers that end with it" };
}

/** sip:+4420...@host: the number counts, whichever host wrote it. Numbers are kept without escapes. */
function uri(word: string): { test: string; why: string } {
  const user = /^\w+:([^@;]*)/.exec(word)?.[1] ?? word;
  const plain = user.replace(/%[2-7][0-9a-f]/gi, (escape) => decodeURIComponent(escape));
  return { test: `number:${quote(plain)}`, why: "any number of the call" };
}
