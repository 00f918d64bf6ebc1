// The filter language as far as the page must understand it: to colour it, to complete it, to change a part of it.
// What is right and what is wrong the program alone decides; nothing here refuses a text.

export type Kind = "field" | "operator" | "value" | "keyword" | "bracket" | "word";

/** A piece of a filter; blanks between pieces are none. */
export interface Piece {
  kind: Kind;
  text: string;
  from: number;
  to: number;
  /** Of a value or an operator: the field that it belongs to, lower case. */
  field?: string;
}

const OPERATOR = /(?:!=|<=|>=|==|[:=<>])/y;
const NAME = /[\p{L}\p{N}_-]+/uy;
const BLANK = /\s+/y;
const KEYWORD = /(?:and|or|not)(?=[\s()!]|$)|&&|\|\|/iy;

/** All pieces, from left to right. "word" is what stands where a field should, and no operator follows. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let at = 0;
  const take = (kind: Kind, length: number, field?: string): void => {
    found.push({ kind, text: text.slice(at, at + length), from: at, to: at + length, ...(field === undefined ? {} : { field }) });
    at += length;
  };
  const match = (pattern: RegExp): number => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0].length ?? 0;
  };
  const skip = (): void => void (at += match(BLANK));
  for (skip(); at < text.length; skip()) {
    const character = text[at] ?? "";
    if (character === "(" || character === ")") {
      take("bracket", 1);
      continue;
    }
    const keyword = match(KEYWORD);
    if (keyword) {
      take("keyword", keyword);
      continue;
    }
    if (character === "!" && text[at + 1] !== "=") {
      take("keyword", 1);
      continue;
    }
    const name = match(NAME);
    const field = text.slice(at, at + name).toLowerCase();
    if (name && operatorFollows(text, at + name) && !looksLikeAddress(text, at)) {
      take("field", name);
      skip();
      take("operator", match(OPERATOR), field);
      skip();
      const value = valueLength(text, at);
      if (value) take("value", value, field);
    } else {
      take("word", Math.max(1, valueLength(text, at)));
    }
  }
  return found;
}

function operatorFollows(text: string, at: number): boolean {
  const rest = text.slice(at).trimStart();
  return /^(?:!=|<=|>=|==|[:=<>])/.test(rest);
}

/** "2001:db8::1" and "sip:a@b" begin like a field with its operator, but nobody means one. */
function looksLikeAddress(text: string, at: number): boolean {
  const word = text.slice(at, at + valueLength(text, at));
  if (/^(?:sips?|tel):./i.test(word)) return true;
  return /^[\da-f]{0,4}:[\da-f:.]*(?:\/\d+)?$/i.test(word) && (word.match(/:/g)?.length ?? 0) >= 2;
}

/** In quotes to their end, else up to a blank or a bracket; a backslash takes the next character as it is. */
function valueLength(text: string, at: number): number {
  const quoted = text[at] === '"';
  for (let i = quoted ? at + 1 : at; i < text.length; i += 1) {
    const character = text[i] ?? "";
    if (character === "\\") i += 1;
    else if (quoted && character === '"') return i + 1 - at;
    else if (!quoted && /[\s()]/.test(character)) return i - at;
  }
  return text.length - at;
}

/** A value as it must be written to be taken literally. */
export function quote(value: string): string {
  return /^[^\s()"\\*]+$/.test(value) ? value : `"${value.replace(/[\\"]/g, "\\$&")}"`;
}

/** What a written value says, without its quotes. */
export function unquote(value: string): string {
  const inner = value.startsWith('"') ? value.slice(1, value.length > 1 && value.endsWith('"') ? -1 : undefined) : value;
  return inner.replace(/\\(.)/g, "$1");
}
