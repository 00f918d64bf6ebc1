// Words of the page: how a call is called, what its verdict weighs, where its links go.

import type { Call, OtherNumber } from "../../api/types";
import { addressOf } from "../../aliases";
import type { Meaning } from "../../format";
import { ms, rfc3339 } from "../../time";

/** What each kind of verdict weighs: as `KINDS` of crates/calls/src/verdict.rs says; a test there compares the two. */
export const WEIGHTS: Record<string, "bad" | "warn" | "note"> = {
  "no-response": "bad",
  "failure-4xx": "bad",
  "failure-5xx": "bad",
  "failure-6xx": "bad",
  "credentials-refused": "bad",
  "no-progress": "bad",
  "ack-lost": "bad",
  "missing-ack": "warn",
  "not-captured": "note",
  "media-not-captured": "note",
  "reinvite-refused": "warn",
  "session-expired": "bad",
  "no-audio": "bad",
  "one-way-audio": "bad",
  "audio-stopped": "bad",
  "codec-mismatch": "bad",
  "loss": "bad",
  "lost-after-tap": "bad",
  "fax-loss": "warn",
  "jitter": "warn",
  "late-audio": "warn",
  "retransmission-storm": "warn",
  "early-hangup": "warn",
  "slow-setup": "warn",
  "transfer-failed": "warn",
  "unknown-dialog": "warn",
  "long-ringing": "warn",
  "registration-failed": "bad",
  "stale-nonce": "warn",
};

export function weightOf(call: Pick<Call, "verdict" | "verdict_kind" | "state">): Meaning | "note" {
  if (!call.verdict) return call.state === "completed" || call.state === "answered" ? "good" : "none";
  // A kind that this program does not know is of a newer one.
  return WEIGHTS[call.verdict_kind ?? ""] ?? "note";
}

/** What stands where a verdict would, if there is none. */
export function withoutVerdict(call: Pick<Call, "state" | "code" | "reason" | "capture">): string {
  const answer = call.code ? `${call.code} ${call.reason ?? ""}`.trim() : "no answer";
  switch (call.state) {
    case "cancelled":
      return "Nothing wrong was found: the caller cancelled before the answer.";
    case "rejected":
      return `Nothing wrong was found: the call was rejected with ${answer}.`;
    case "redirected":
      return `Nothing wrong was found: the call was redirected with ${answer}.`;
    case "auth-challenged":
      return "Nothing wrong was found: the server asked for credentials and the caller did not retry.";
    case "joined-mid-call":
      return "Nothing wrong was found in what was captured: the capture started during the call.";
    case "completed":
    case "answered":
      return call.capture.complete ? "Nothing wrong was found." : "Nothing wrong was found in what was captured.";
    default:
      return "Nothing wrong was found: the call did not reach an answer.";
  }
}

/** What a number beside those of From and To says about a call. */
export const ROLES: Record<OtherNumber["role"], string> = { asserted: "Asserted", requested: "Preferred", "diverted-from": "Diverted from" };

export const hangupText = (call: Pick<Call, "hangup">): string => (call.hangup === "none" ? "–" : `the ${call.hangup} hung up`);

const DAY_MS = 86_400_000;

/** A filter's value, in quotes where it holds what the filter language would read. */
export function quoted(value: string): string {
  return /^[\w+.:@-]+$/.test(value) ? value : `"${value.replace(/[\\"]/g, "\\$&")}"`;
}

/** Calls of a day before and after this one, with a filter. */
export function callsLike(call: Pick<Call, "start">, filter: string): string {
  const at = ms(call.start);
  const query = new URLSearchParams({ filter, from: rfc3339(at - DAY_MS), to: rfc3339(at + DAY_MS) });
  return `/calls?${query.toString()}`;
}

/** The packets of the call's hosts in its time, on the page of packets. */
export function packetsOf(call: Pick<Call, "start" | "last" | "streams" | "src" | "dst">): string {
  const ends = [call.start, call.last, ...call.streams.flatMap((stream) => [stream.first, stream.last])].map(ms);
  const query = new URLSearchParams({
    from: rfc3339(Math.floor(Math.min(...ends)) - 1000),
    to: rfc3339(Math.ceil(Math.max(...ends)) + 1000),
    filter: packetFilter(call),
  });
  return `/packets?${query.toString()}`;
}

/** Hosts that a filter names at most: of more, those of the signalling. */
const FILTER_HOSTS_MAX = 12;

/** pcap-filter: between any two of the call's hosts. */
export function packetFilter(call: Pick<Call, "streams" | "src" | "dst">): string {
  const endpoints = [call.src, call.dst, ...call.streams.flatMap((stream) => [stream.src, stream.dst])];
  const hosts = [...new Set(endpoints.flatMap((endpoint) => (endpoint ? [addressOf(endpoint)] : [])))].slice(0, FILTER_HOSTS_MAX);
  const any = (way: string): string => hosts.map((host) => `${way} host ${host}`).join(" or ");
  return hosts.length < 2 ? hosts.map((host) => `host ${host}`).join("") : `(${any("src")}) and (${any("dst")})`;
}

/** Milliseconds since 1970 that stand at the beginning of an UUIDv7; none if it is none or too short. */
export function timeOfId(id: string): number | undefined {
  const digits = id.replaceAll("-", "");
  if (!/^[0-9a-f]{12,32}$/i.test(digits) || (digits.length > 12 && digits[12] !== "7")) return undefined;
  return parseInt(digits.slice(0, 12), 16);
}
