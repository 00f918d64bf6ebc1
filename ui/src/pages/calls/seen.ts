// Values that stand in the rows of the page, most frequent first: what completion offers before all else.

import { addressOf } from "../../aliases";
import type { Call } from "../../api/types";
import { codecsOf, isMasked } from "./columns";

/** Rows looked at: offers are made while somebody types. */
const ROWS_MAX = 300;
const VALUES_MAX = 12;

const user = (value: string): string[] => (value && !isMasked(value) ? [value] : []);
const host = (endpoint: string | null): string[] => (endpoint ? [addressOf(endpoint)] : []);

const VALUES: Record<string, (call: Call) => string[]> = {
  caller: (call) => user(call.from),
  callee: (call) => user(call.to),
  number: (call) => [...user(call.from), ...user(call.to)],
  state: (call) => [call.state],
  verdict: (call) => (call.verdict_kind ? [call.verdict_kind] : []),
  code: (call) => (call.code === null ? [] : [String(call.code)]),
  hangup: (call) => [call.hangup],
  codec: codecsOf,
  ua: (call) => (call.user_agent ? [call.user_agent] : []),
  src: (call) => host(call.src),
  dst: (call) => host(call.dst),
  ip: (call) => [...new Set([...host(call.src), ...host(call.dst)])],
};

export function seenIn(rows: readonly Call[], field: string): { value: string; count: number }[] {
  const of = VALUES[field];
  if (!of) return [];
  const counts = new Map<string, number>();
  for (const call of rows.slice(0, ROWS_MAX)) for (const value of of(call)) counts.set(value, (counts.get(value) ?? 0) + 1);
  const all = [...counts].map(([value, count]) => ({ value, count }));
  return all.sort((a, b) => b.count - a.count).slice(0, VALUES_MAX);
}
