// What is not as it should be, in the order of its weight.

import type { ChargeNode, ChargePeer, ChargePoint } from "../../api/types";
import { of, percent, sentence, whole } from "../../format";

export interface Warning {
  meaning: "bad" | "warn";
  text: string;
  /** Where one sees more. */
  href?: string;
}

/** Points that are looked at: the last minute of those by the second. */
const LAST = 60;

export function warningsOf(node: ChargeNode, peers: ChargePeer[], seconds: ChargePoint[]): Warning[] {
  const found: Warning[] = [];
  const say = (when: boolean, meaning: Warning["meaning"], text: string, href?: string): void => {
    if (when) found.push({ meaning, text, ...(href ? { href } : {}) });
  };
  say(node.failure !== null, "bad", `The ledger cannot be written, so the node answers no requests: ${node.failure ?? ""}`);
  node.troubles.forEach((trouble) => say(true, "bad", `${sentence(trouble)}.`));
  say(node.behind_percent >= 75, "bad", `The disk is too slow: the node grants nothing (write queue ${node.behind_percent} % full).`);
  say(node.behind_percent >= 25 && node.behind_percent < 75, "warn", `The disk is too slow: the node starts no new sessions (write queue ${node.behind_percent} % full).`);
  const last = seconds.slice(-LAST);
  const count = (result: number): number => last.reduce((all, point) => all + point.answered.reduce((sum, row) => sum + (row[result] ?? 0), 0), 0);
  const [granted, refused, busy, failed] = [count(0), count(1), count(2), count(3)];
  const all = granted + refused + busy + failed;
  say(busy > 0, "bad", `${of(busy, "request was", "requests were")} answered "too busy" in the last minute.`);
  say(failed > 0 && failed / Math.max(1, all) >= 0.01, "warn", `${percent(failed / Math.max(1, all))} of the requests in the last minute failed.`, "/charge/clients");
  say(refused > 0 && refused / Math.max(1, all) >= 0.2, "warn", `${percent(refused / Math.max(1, all))} of the requests in the last minute were rejected: no credit, unknown subscriber or service denied.`);
  const suspect = peers.filter((peer) => peer.watchdog === "suspect");
  say(suspect.length > 0, "warn", `${suspect.map((peer) => peer.host).join(", ")} did not answer the watchdog.`, "/charge/clients");
  say(node.plans.length === 0, "warn", "No tariff plans yet: nothing has a price.", "/charge/tariffs");
  say(node.plans.length > 0 && node.accounts === 0, "warn", "No accounts yet: every subscriber is unknown.", "/charge/accounts");
  say(node.clients === 0 && node.failure === null, "warn", "No clients connected.", "/charge/clients");
  say(node.kept_sessions >= node.sessions_limit * 0.9, "bad", `${whole(node.kept_sessions)} of ${whole(node.sessions_limit)} allowed sessions are open.`, "/charge/sessions");
  say(node.unrated > 0, "warn", `${of(node.unrated, "report", "reports")} of usage had no price or no session; they are in the ledger, charged to no account.`);
  const weight = { bad: 0, warn: 1 };
  return found.sort((a, b) => weight[a.meaning] - weight[b.meaning]);
}
