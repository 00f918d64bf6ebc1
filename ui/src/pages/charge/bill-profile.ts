// How a carrier writes its bills: guessed from the first lines of a file, filled into a form, written as the profile that
// docs/manual/wire-against-bill.md has.

/** The first lines of a bill. */
export interface BillHead {
  separator: string;
  titles: string[];
  /** The first line behind the titles; may be empty. */
  first: string[];
  /** The first lines behind the titles. */
  rows: string[][];
}

/** What a profile says. */
export interface Profile {
  country: string;
  /** Between blanks. */
  national: string;
  international: string;
  bare: "unknown" | "international" | "national";
  caller: string;
  called: string;
  begin: string;
  duration: string;
  amount: string;
  reference: string;
  separator: string;
  zone: string;
  dateOrder: "day-first" | "month-first";
  durationUnit: "seconds" | "minutes" | "milliseconds";
  amountUnit: "major" | "minor";
  decimal: "" | "," | ".";
  /** First step and steps, seconds: "60+1". */
  rounding: string;
}

export const PLAIN: Profile = {
  country: "",
  national: "0",
  international: "00",
  bare: "unknown",
  caller: "caller",
  called: "called",
  begin: "begin",
  duration: "duration",
  amount: "amount",
  reference: "",
  separator: ",",
  zone: "UTC",
  dateOrder: "day-first",
  durationUnit: "seconds",
  amountUnit: "major",
  decimal: "",
  rounding: "1+1",
};

/** Lines that are looked at for how they are written. */
const ROWS_MAX = 200;
const SEPARATORS = [";", "\t", ","];

/** The values of a line, as the reader of bills takes them apart. */
export function values(line: string, separator: string): string[] {
  const all: string[] = [];
  let value = "";
  let quoted = false;
  for (let at = 0; at < line.length; at += 1) {
    const c = line[at]!;
    if (quoted && c === '"' && line[at + 1] === '"') {
      value += c;
      at += 1;
    } else if (quoted && c === '"') quoted = false;
    else if (c === '"' && value === "") quoted = true;
    else if (c === separator && !quoted) {
      all.push(value);
      value = "";
    } else value += c;
  }
  return [...all, value];
}

/** The titles of a bill's columns and its first line; undefined where it has only one column. */
export function headOf(text: string): BillHead | undefined {
  const lines = text.replace(/^\ufeff/, "").split(/\r?\n/);
  const counts = SEPARATORS.map((separator) => ({ separator, count: values(lines[0] ?? "", separator).length }));
  const best = counts.reduce((a, b) => (b.count > a.count ? b : a));
  if (best.count < 2) return undefined;
  const titles = values(lines[0]!, best.separator).map((title) => title.trim());
  const there = lines.slice(1).filter((line) => line.trim() !== "");
  const rows = there.slice(0, ROWS_MAX).map((line) => values(line, best.separator).map((value) => value.trim()));
  return { separator: best.separator, titles, first: rows[0] ?? [], rows };
}

type Column = "reference" | "called" | "caller" | "duration" | "begin" | "amount";

/** What titles are like, in the order in which they are looked for: what is taken is not taken again. */
const LIKE: [Column, RegExp][] = [
  ["reference", /call[-_ ]?id|reference/i],
  ["called", /\bb[-_ ]?(number|party|num|nr|msisdn|rufnummer|subscriber)?$|called|callee|destination|dial|\bto\b/i],
  ["caller", /\ba[-_ ]?(number|party|num|nr|msisdn|rufnummer|subscriber)?$|caller|calling|origin|source|\bcli\b|\bfrom\b/i],
  ["duration", /dur|second|\bsec\b|minute|\bmin\b|length|dauer/i],
  ["begin", /start|begin|answer|date|time|datum|zeit/i],
  ["amount", /amount|charge|price|cost|total|net|betrag|\beur\b|\busd\b|\bgbp\b/i],
];

/** Whether an amount can only have that mark before its fraction: 0,123 and 1.234,5, but not 1,234. */
const fraction = (mark: string, other: string): RegExp => new RegExp(`\\d[${mark}]\\d{1,2}$|\\d[${mark}]\\d{4,}$|^-?0?[${mark}]\\d|[${other}]\\d{3}[${mark}]\\d`);
const COMMA = fraction(",", ".");
const POINT = fraction(".", ",");

/** The mark before fractions of these amounts; "" where they do not say, or say both. */
function markOf(amounts: string[]): Profile["decimal"] {
  const [comma, point] = [amounts.some((text) => COMMA.test(text)), amounts.some((text) => POINT.test(text))];
  return comma === point ? "" : comma ? "," : ".";
}

/** Digits of the minor unit of a plan's currency; undefined where its text does not tell. */
export function minorDigits(plan: string): number | undefined {
  const currency = /^\s*currency\s*=\s*["']([A-Z]{3})["']/m.exec(plan)?.[1];
  return currency === undefined ? undefined : new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits;
}

/** A profile as the file looks; what is not seen in it stays as it was. */
export function guess(head: BillHead, before: Profile): Profile {
  const taken = new Set<string>();
  const found: Partial<Record<Column, string>> = {};
  for (const [column, like] of LIKE) {
    const title = head.titles.find((title) => !taken.has(title) && like.test(title));
    if (title === undefined) continue;
    taken.add(title);
    found[column] = title;
  }
  const of = (title: string | undefined): string[] => (title === undefined ? [] : head.rows.map((row) => row[head.titles.indexOf(title)] ?? ""));
  const unit = /milli|\bms\b/i.test(found.duration ?? "") ? "milliseconds" : /min/i.test(found.duration ?? "") ? "minutes" : "seconds";
  const dates = of(found.begin).map((text) => /^(\d{1,2})[/.-](\d{1,2})[/.-]/.exec(text));
  return {
    ...before,
    separator: head.separator,
    caller: found.caller ?? "",
    called: found.called ?? "",
    begin: found.begin ?? "",
    duration: found.duration ?? "",
    amount: found.amount ?? "",
    reference: found.reference ?? "",
    durationUnit: unit,
    dateOrder: dates.some((date) => Number(date?.[2]) > 12) ? "month-first" : dates.some((date) => Number(date?.[1]) > 12) ? "day-first" : before.dateOrder,
    decimal: markOf(of(found.amount)),
  };
}

/** What is missing before it can be used. */
export function lacks(profile: Profile): string[] {
  const needed = { caller: profile.caller, called: profile.called, begin: profile.begin, duration: profile.duration };
  return Object.entries(needed)
    .filter(([, title]) => title === "")
    .map(([name]) => name);
}

const quoted = (text: string): string => JSON.stringify(text);
const list = (text: string): string => `[${text.split(/[\s,]+/).filter(Boolean).map(quoted).join(", ")}]`;

/** The profile as TOML; without a bill only how numbers are written. */
export function toml(profile: Profile, bill: boolean, minorDigits?: number): string {
  const numbers = ["[numbers]", `country = ${quoted(profile.country)}`, `national = ${list(profile.national)}`, `international = ${list(profile.international)}`, `bare = ${quoted(profile.bare)}`];
  // A country is digits or nothing: without one there are no national numbers.
  const of = profile.country.trim() === "" ? ["[numbers]", `international = ${list(profile.international)}`, ...(profile.bare === "international" ? ['bare = "international"'] : [])] : numbers;
  if (!bill) return of.join("\n") + "\n";
  const [first, step] = profile.rounding.split("+");
  const lines = [
    "",
    "[bill]",
    ...(["caller", "called", "begin", "duration", "amount", "reference"] as const).map((column) => `${column} = ${quoted(profile[column])}`),
    `separator = ${quoted(profile.separator)}`,
    `time-zone = ${quoted(profile.zone)}`,
    `date-order = ${quoted(profile.dateOrder)}`,
    `duration-unit = ${quoted(profile.durationUnit)}`,
    `amount-unit = ${quoted(profile.amountUnit)}`,
    `decimal = ${quoted(profile.decimal)}`,
    ...(minorDigits === undefined ? [] : [`minor-digits = ${minorDigits}`]),
    `first-step = ${first ?? 1}`,
    `step = ${step ?? 1}`,
  ];
  return [...of, ...lines].join("\n") + "\n";
}
