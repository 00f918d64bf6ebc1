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
  "not-billed": { name: "Not billed", what: "an answered call has no line" },
  "not-on-wire": { name: "Not captured", what: "a line has no call" },
  longer: { name: "Longer", what: "the line is longer than the call" },
  shorter: { name: "Shorter", what: "the line is shorter than the call" },
  twice: { name: "Duplicate", what: "a second line for the same call" },
  "other-number": { name: "Other number", what: "time and duration match, a number does not" },
  "other-amount": { name: "Other amount", what: "the plan gives another price" },
  unanswered: { name: "Unanswered", what: "a line for an unanswered call" },
  "no-price": { name: "No price", what: "the plan has no price for the number" },
};

export const kindName = (kind: string): string => KINDS[kind]?.name ?? kind;
export const kindWhat = (kind: string): string => KINDS[kind]?.what ?? "";

const WHY: Record<string, string> = {
  silent: "nothing was captured at that time",
  lost: "the capture lost packets at that time",
  "no-end": "the end of the call was not captured",
  partly: "only part of the call was captured: no answer and no rejection",
  "no-numbers": "a number is missing, not understood, or ambiguous",
  "no-payer": "the paying account is unknown",
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

/** Differences that are certain, the money in them, and those that are undecided. */
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
  if (agrees(compared)) return compared.lines === 0 ? "nothing to compare" : "no differences";
  const said = [of(count, "difference", "differences")];
  if (unsure > 0) said.push(of(unsure, "undecided", "undecided"));
  if (compared.unread > 0) said.push(of(compared.unread, "unreadable line", "unreadable lines"));
  if (compared.skipped.length > 0) said.push(of(compared.skipped.length, "unreadable day", "unreadable days"));
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
    [c.legs, "call is another leg or a duplicate, and counts once", "calls are other legs or duplicates, and count once"],
    [c.unanswered, "call was not answered and has no line", "calls were not answered and have no line"],
    [c.unowed, "call is not from a subscriber, and needs no line", "calls are not from subscribers, and need no line"],
    [c.exempt, "call may have had no duration, and needs no line", "calls may have had no duration, and need no line"],
    [c.not_understood.calls, "call has a number that the profile does not cover", "calls have a number that the profile does not cover"],
    [c.not_understood.lines, "line has a number that the profile does not cover", "lines have a number that the profile does not cover"],
    [c.attempts, "line without duration and amount, for an unanswered call", "lines without duration and amount, for unanswered calls"],
    [isBill ? c.outside : 0, "line is outside the time range", "lines are outside the time range"],
    [c.left_out, "line belongs to a call that the filter excludes", "lines belong to calls that the filter excludes"],
    [c.unpriced, "line has no price in the plan", "lines have no price in the plan"],
    [c.deviations.lines, "line differs by less than the tolerance", "lines differ by less than the tolerance"],
    [c.inexact, "pair was ambiguous: the nearest was used", "pairs were ambiguous: the nearest were used"],
  ];
  const lines = counted.filter(([count]) => count > 0).map(([count, one, many]) => of(count, one, many));
  return [...clockRemarks(c, isBill), ...lines.map((line) => `${line}.`)];
}

function clockRemarks(c: ChargeCompared, isBill: boolean): string[] {
  const { clock } = c;
  const whose = isBill ? "The clock of the bill" : "The clock of the charges";
  const said: string[] = [];
  const ahead = `${clock.ahead_ms < 0 ? "\u2212" : "+"}${seconds(Math.abs(clock.ahead_ms))}`;
  if (clock.given) said.push(`${whose} is set to ${ahead} relative to ours.`);
  else if (clock.pairs > 0) said.push(`${whose} is ${ahead} relative to ours, and lines count from the ${clock.basis === "start" ? "first message" : "answer"}: ${whole(clock.pairs)} unambiguous pairs show it.`);
  else if (c.lines > 0) said.push(`${whose} is taken to be equal to ours: there are too few unambiguous pairs to measure it.`);
  if (Math.abs(clock.ahead_ms) >= ZONE_MS) said.push("Check the time zone of the bill.");
  if (c.captured === null) said.push("Nothing was captured in this time range.");
  if (c.blind.stretches > 0) said.push(`${of(c.blind.stretches, "gap", "gaps")} without capture, ${duration(c.blind.milliseconds)} in all.`);
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
