// How rated calls are said.

import type { ChargeRated, ChargeRatedTotal, ChargeRating } from "../../api/types";
import { of } from "../../format";
import { money } from "./words";

interface OutcomeWords {
  name: string;
  what: string;
  /** What one may do about it, where calls that are to be paid have no price. */
  hint?: string;
}

/** What outcomes are called, and what they mean. */
const OUTCOMES: Record<string, OutcomeWords> = {
  priced: { name: "Priced", what: "it has a price, which may be nothing" },
  "no-rule": { name: "No rule", what: "the plan has no rule for that number then", hint: "A rule of the plan for the number's prefix prices it, or one for all that is left; a rule that asks for a rating group or a service holds only where calls are said to have it." },
  blocked: { name: "Denied", what: "a rule of the plan denies it, and it was there", hint: "What the plan denies went through the network all the same." },
  "not-understood": { name: "Not understood", what: "a number is written in a way that nobody told", hint: "How numbers are written is said above the button, on the form: the country code, and what stands before national numbers." },
  open: { name: "No end", what: "its end was not seen, or it is still up", hint: "How long it was is not known." },
  "nobody-pays": { name: "Nobody pays", what: "no subscriber here has the caller's number" },
  leg: { name: "Leg or copy", what: "another leg of a call, or a copy of it, which is rated once" },
};

export const outcomeName = (outcome: string): string => OUTCOMES[outcome]?.name ?? outcome;
export const outcomeWhat = (outcome: string): string => OUTCOMES[outcome]?.what ?? "";
export const outcomeHint = (outcome: string): string => OUTCOMES[outcome]?.hint ?? "";

/** How often there was which outcome, in the order in which they are told. */
export function counts(rated: ChargeRated): { outcome: string; count: number }[] {
  const all: [string, number][] = [
    ["priced", rated.priced],
    ["no-rule", rated.no_rule],
    ["blocked", rated.blocked],
    ["not-understood", rated.not_understood],
    ["open", rated.open],
    ["nobody-pays", rated.nobody_pays],
    ["leg", rated.legs],
  ];
  return all.filter(([, count]) => count > 0).map(([outcome, count]) => ({ outcome, count }));
}

/** Calls that are to be paid and have no price. */
export const lacking = (rated: ChargeRated): number => rated.no_rule + rated.blocked + rated.not_understood + rated.open;

/** What all of them cost, by currency: "12.34 EUR, 5.00 USD". */
export const cost = (sums: ChargeRatedTotal[]): string => sums.filter((sum) => sum.calls > 0).map((sum) => money(sum.money, sum)).join(", ");

/** What came of it, in a line. */
export function outcomeOf(rated: ChargeRated): string {
  const all = counts(rated).reduce((sum, { count }) => sum + count, 0);
  if (all === 0) return "no call";
  const said = rated.priced > 0 ? [`${of(rated.priced, "call costs", "calls cost")} ${cost(rated.sums)}`] : ["nothing has a price"];
  if (lacking(rated) > 0) said.push(`${of(lacking(rated), "call lacks one", "calls lack one")}`);
  return said.join(", ");
}

/** By what calls were rated, in words. */
export function byWhat(ask: ChargeRating["ask"]): string {
  if (ask.plan) return "By a text that does not hold";
  if (ask.plan_name === null) return "By all plans as they hold";
  return ask.plan_entry === null ? `By “${ask.plan_name}” as it holds` : `By “${ask.plan_name}” as of entry ${ask.plan_entry}`;
}

/** Why there is nothing, and what to do about it. */
export function whyNothing(rated: ChargeRated, ask: ChargeRating["ask"]): string[] {
  const said: string[] = [];
  if (rated.unanswered > 0) said.push(`${of(rated.unanswered, "call of that time was not answered, and costs", "calls of that time were not answered, and cost")} nothing.`);
  if (rated.other_plan > 0) said.push(`${of(rated.other_plan, "call is of somebody who has", "calls are of those who have")} another plan or none: choose all plans.`);
  if (said.length > 0) return said;
  const filter = ask.filter ? ", and that the filter wants" : "";
  return [`The store has no call that began then${filter}: choose another time${ask.filter ? " or another filter" : ""}.`];
}

/** What else there is to say. */
export function remarks(rated: ChargeRated): string[] {
  const counted: [number, string, string][] = [
    [rated.incomplete, "call with a price was not seen as a whole: the capture lost packets of it", "calls with a price were not seen as a whole: the capture lost packets of them"],
    [rated.unanswered, "call was not answered and costs nothing", "calls were not answered and cost nothing"],
    [rated.other_plan, "call is of somebody who has another plan or none, and is left out", "calls are of those who have another plan or none, and are left out"],
  ];
  const lines = counted.filter(([count]) => count > 0).map(([count, one, many]) => `${of(count, one, many)}.`);
  if (rated.nobody_pays > 0) lines.push(`The calls that nobody pays for are from ${of(rated.nobody_pays_numbers, "number", "numbers")}: from outside, or unknown here.`);
  return lines;
}
