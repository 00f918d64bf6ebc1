import { expect, test } from "vitest";
import type { ChargeNode, ChargePoint } from "../../api/types";
import { warningsOf } from "./warnings";

const node: ChargeNode = {
  host: "ocs",
  realm: "example",
  since: "2026-11-20T00:00:00Z",
  sequence: 9,
  durable: 9,
  behind_percent: 0,
  failure: null,
  troubles: [], records: null,
  written_octets: 1,
  groups: 1,
  plans: [{ name: "standard", version: 1 }],
  accounts: 1,
  subscribers: 1,
  open_sessions: 1,
  kept_sessions: 1,
  sessions_limit: 100,
  unrated: 0,
  clients: 1,
};

const point = (answered: number[][]): ChargePoint => ({ at: "2026-11-20T00:00:00Z", seconds: 1, answered, copies: 0, p50_us: null, p99_us: null, sessions: 0, behind_percent: 0 });

test("a node that is well has no warnings", () => {
  expect(warningsOf(node, [], [point([[5, 0, 0, 0]])])).toEqual([]);
});

test("what is bad stands first", () => {
  const found = warningsOf({ ...node, unrated: 1, clients: 0, behind_percent: 80 }, [], [point([[5, 0, 2, 0]])]);
  expect(found.map((warning) => warning.meaning)).toEqual(["bad", "bad", "warn", "warn"]);
  expect(found[0]?.text).toContain("grants nothing");
  expect(found[1]?.text).toContain("2 requests were");
});

test("many refusals are told, few are not", () => {
  const told = (refused: number): string[] => warningsOf(node, [], [point([[100 - refused, refused, 0, 0]])]).map((warning) => warning.text);
  expect([told(5).length, told(50).length]).toEqual([0, 1]);
});
