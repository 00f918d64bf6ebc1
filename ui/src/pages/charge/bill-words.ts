// How differences between the wire and a bill are said.

import type { ChargeCompared, ChargeDifference } from "../../api/types";
import { duration, NONE, of, whole } from "../../format";
import type { Coin } from "./words";

interface KindWords {
  name: string;
  what: string;
}

/** What kinds of differences are called, and what they mean. */
const KINDS: Record<string, KindWords> = {
  "not-billed": { name: "Not billed", what: "a call that was answered has no line" },
  "not-on-wire": { name: "Not on the wire", what: "a line has no call" },
  longer: { name: "Longer", what: "the line is longer than the call" },
  shorter: { name: "Shorter", what: "the line is shorter than the call" },
  twice: { name: "Twice", what: "another line is for the same call" },
  "other-number": { name: "Other number", what: "time and length agree, a number does not" },
  "other-amount": { name: "Other amount", what: "the plan says another price" },
  unanswered: { name: "Unanswered", what: "a line for a call that nobody answered" },
  "no-price": { name: "No price", what: "the plan has no price for the number" },
};

export const kindName = (kind: string): string => KINDS[kind]?.name ?? kind;
export const kindWhat = (kind: string): string => KINDS[kind]?.what ?? "";

const WHY: Record<string, string> = {
  silent: "nothing at all was captured then",
  lost: "the capture lost packets then",
  "no-end": "the end of the call was not seen",
  partly: "the call was seen in part: neither an answer nor a refusal",
  "no-numbers": "a number is not told or not understood, or that of something close by",
  "no-payer": "who pays for the call is not known",
};

export const whyText = (why: string | null): string => (why === null ? "" : (WHY[why] ?? why));

/** Millionths of a minor unit: "12.34 EUR", "0.1234"; what is finer than a minor unit keeps up to two more digits. */
export function micros(amount: number | null | undefined, coin: Coin): string {
  if (amount === null || amount === undefined) return NONE;
  const digits = coin.decimals ?? 2;
  const major = Math.abs(amount) / 1e6 / 10 ** digits;
  const text = new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits + 2 }).format(major);
  return `${amount < 0 ? "\u2212" : ""}${text}${coin.currency ? ` ${coin.currency}` : ""}`;
}

export const coinOf = (compared: ChargeCompared): Coin => ({ currency: compared.currency, decimals: compared.decimals });

/** Differences that are certain, the money in them, and those that cannot be said. */
export function sumsOf(compared: ChargeCompared): { count: number; over: number; under: number; unsure: number } {
  const add = (of: (kind: ChargeCompared["kinds"][number]) => number): number => compared.kinds.reduce((sum, kind) => sum + of(kind), 0);
  return { count: add((k) => k.count), over: add((k) => k.over_micros), under: add((k) => k.under_micros), unsure: add((k) => k.unsure) };
}

/** Whether nothing differs, and all was read. */
export function agrees(compared: ChargeCompared): boolean {
  const { count, unsure } = sumsOf(compared);
  return count + unsure + compared.unread + compared.skipped.length === 0;
}

/** What came of a comparison, in a line. */
export function outcomeOf(compared: ChargeCompared): string {
  const { count, unsure } = sumsOf(compared);
  if (agrees(compared)) return compared.lines === 0 ? "nothing to compare" : "all agrees";
  const said = [of(count, "difference", "differences")];
  if (unsure > 0) said.push(of(unsure, "cannot be said", "cannot be said"));
  if (compared.unread > 0) said.push(of(compared.unread, "line cannot be read", "lines cannot be read"));
  if (compared.skipped.length > 0) said.push(of(compared.skipped.length, "day cannot be read", "days cannot be read"));
  return said.join(", ");
}

/** Characters of a Session-Id in a difference: one that has so many may be longer. */
const SESSION_CHARS = 256;

/** The page of a session; none where its Session-Id is cut, or masked for who looks. */
export const sessionPath = (session: string | null | undefined, seesNumbers: boolean): string | undefined => (session && seesNumbers && session.length < SESSION_CHARS ? `/charge/sessions/${encodeURIComponent(session)}` : undefined);

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
/** A clock that is so far off is a time zone, milliseconds. */
const ZONE_MS = 15 * 60_000;

/** What there is to say besides the differences. */
export function remarks(c: ChargeCompared, isBill: boolean): string[] {
  const counted: [number, string, string][] = [
    [c.legs, "call is another leg or a copy of a call, and counts once", "calls are other legs or copies of calls, and count once"],
    [c.unanswered, "call was not answered and has no line", "calls were not answered and have no line"],
    [c.unowed, "call is from nobody who pays here, and needs no line", "calls are from nobody who pays here, and need no line"],
    [c.exempt, "call may have been without length, and needs no line", "calls may have been without length, and need no line"],
    [c.not_understood.calls, "call has a number that the profile does not cover", "calls have a number that the profile does not cover"],
    [c.not_understood.lines, "line has a number that the profile does not cover", "lines have a number that the profile does not cover"],
    [c.attempts, "line is without length and amount, for a call that nobody answered", "lines are without length and amount, for calls that nobody answered"],
    [isBill ? c.outside : 0, "line lies outside of that time", "lines lie outside of that time"],
    [c.left_out, "line is of a call that the filter leaves out", "lines are of calls that the filter leaves out"],
    [c.unpriced, "line has no price by the plan", "lines have no price by the plan"],
    [c.deviations.lines, "line is off by less than counts", "lines are off by less than counts"],
    [c.inexact, "pair was too many at once: the nearest was taken", "pairs were too many at once: the nearest were taken"],
  ];
  const lines = counted.filter(([count]) => count > 0).map(([count, one, many]) => of(count, one, many));
  return [...clockRemarks(c, isBill), ...lines.map((line) => `${line}.`)];
}

function clockRemarks(c: ChargeCompared, isBill: boolean): string[] {
  const { clock } = c;
  const whose = isBill ? "The bill’s clock" : "The clock of the charges";
  const said: string[] = [];
  const ahead = `${clock.ahead_ms < 0 ? "\u2212" : "+"}${seconds(Math.abs(clock.ahead_ms))}`;
  if (clock.given) said.push(`${whose} counts as ${ahead} to ours, as was asked.`);
  else if (clock.pairs > 0) said.push(`${whose} is ${ahead} to ours, and lines count from the ${clock.basis === "start" ? "first message" : "answer"}: ${whole(clock.pairs)} pairs that stand alone say so.`);
  else if (c.lines > 0) said.push(`${whose} counts as ours: too few pairs stand alone to measure it.`);
  if (Math.abs(clock.ahead_ms) >= ZONE_MS) said.push("Is the time zone of the bill right?");
  if (c.captured === null) said.push("Nothing at all was captured in that time.");
  if (c.blind.stretches > 0) said.push(`Of ${of(c.blind.stretches, "stretch", "stretches")}, ${duration(c.blind.milliseconds)} in all, nobody can say what was on the wire.`);
  return said;
}

/** Who called and who was called: of the call, else of the line. */
export function parties(one: ChargeDifference): { caller: string; called: string } {
  const of = one.call ?? one.line;
  return { caller: of?.caller || "–", called: of?.called || "–" };
}

/** The number of the line that is not the call's, where that is the difference. */
export function otherNumber(one: ChargeDifference): string | undefined {
  if (one.kind !== "other-number" || !one.call || !one.line) return undefined;
  return one.line.called === one.call.called ? one.line.caller : one.line.called;
}
