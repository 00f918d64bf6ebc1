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
  priced: { name: "Priced", what: "the call has a price, which may be zero" },
  "no-rule": { name: "No rule", what: "the plan has no rule for the number at that time", hint: "Add a rule for the prefix of the number, or a default rule. A rule with a rating group or a service applies only if you set that rating group or service for calls." },
  blocked: { name: "Denied", what: "a rule of the plan denies the call, but it took place", hint: "The network carried the call although the plan denies it." },
  "not-understood": { name: "Not understood", what: "the format of a number is not set", hint: "Set the number format in the form: country code and national prefix." },
  open: { name: "No end", what: "its end was not captured, or it is in progress", hint: "The duration is unknown." },
  "nobody-pays": { name: "No account", what: "no subscriber has the caller's number" },
  leg: { name: "Other leg", what: "another leg or a duplicate of a call, which is rated once" },
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
  if (ask.plan) return "By a plan text that is not live";
  if (ask.plan_name === null) return "By all current plans";
  return ask.plan_entry === null ? `By the current “${ask.plan_name}”` : `By “${ask.plan_name}” as of entry ${ask.plan_entry}`;
}

/** Why there is nothing, and what to do about it. */
export function whyNothing(rated: ChargeRated, ask: ChargeRating["ask"]): string[] {
  const said: string[] = [];
  if (rated.unanswered > 0) said.push(`${of(rated.unanswered, "call in this time range was not answered and costs", "calls in this time range were not answered and cost")} nothing.`);
  if (rated.other_plan > 0) said.push(`${of(rated.other_plan, "call is from an account with", "calls are from accounts with")} another plan or no plan: choose all plans.`);
  if (said.length > 0) return said;
  const filter = ask.filter ? " that matches the filter" : "";
  return [`The store has no call in this time range${filter}: choose another time${ask.filter ? " or another filter" : ""}.`];
}

/** What else there is to say. */
export function remarks(rated: ChargeRated): string[] {
  const counted: [number, string, string][] = [
    [rated.incomplete, "call with a price was only partly captured", "calls with a price were only partly captured"],
    [rated.unanswered, "call was not answered and costs nothing", "calls were not answered and cost nothing"],
    [rated.other_plan, "call is from an account with another plan or no plan, and is left out", "calls are from accounts with another plan or no plan, and are left out"],
  ];
  const lines = counted.filter(([count]) => count > 0).map(([count, one, many]) => `${of(count, one, many)}.`);
  if (rated.nobody_pays > 0) lines.push(`Calls without an account come from ${of(rated.nobody_pays_numbers, "number", "numbers")}, from other networks or unknown here.`);
  return lines;
}
