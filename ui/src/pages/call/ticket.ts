// The call as plain text for a ticket: what was wrong first, times in UTC, so that the other side can find it, too.

import { addressOf } from "../../aliases";
import type { Call, Stream } from "../../api/types";
import { duration, percent, score, whole, scoreRange } from "../../format";
import { ms, utc } from "../../time";
import { ROLES } from "./words";

export interface TicketOptions {
  /** Address of the page, to end with. */
  link: string;
  /** Alias of an address, if it has one. */
  alias: (endpoint: string) => string | undefined;
}

export function ticket(call: Call, options: TicketOptions): string {
  const at = (endpoint: string | null): string => {
    const alias = endpoint ? options.alias(endpoint) : undefined;
    return endpoint ? (alias && alias !== addressOf(endpoint) ? `${endpoint} (${alias})` : endpoint) : "unknown";
  };
  const rows: [string, string | null][] = [
    ["Verdict", call.verdict ? `${call.verdict}${call.verdict_kind ? ` [${call.verdict_kind}]` : ""}` : "Nothing wrong was found."],
    ["Evidence", call.verdict_packets.length > 0 ? `packets ${call.verdict_packets.join(", ")}` : null],
    ["From", `${call.from} at ${at(call.src)}`],
    ["To", `${call.to} at ${at(call.dst)}`],
    ...call.numbers.map(({ role, number, sent }): [string, string] => [ROLES[role], `${number} (${sent})`]),
    ["Ended", ended(call)],
    ["Start", utc(ms(call.start))],
    ["Answer", call.answer ? utc(ms(call.answer)) : null],
    ["End", call.end ? utc(ms(call.end)) : null],
    ["Timing", timing(call)],
    ["MOS", quality(call)],
    ["Agent", call.user_agent],
    ["Capture", ledger(call)],
    ["Call-ID", call.sip_call_id],
    ["Call", call.id],
  ];
  const text = rows.flatMap(([name, value]) => (value ? [`${`${name}:`.padEnd(9)} ${clean(value)}`] : []));
  call.streams.forEach((stream, index) => text.push(...streamLines(stream, index, at)));
  return [...text, "", options.link, ""].join("\n");
}

/** Texts from the wire may hold line breaks and controls: a ticket is no place for forged lines. */
// eslint-disable-next-line no-control-regex
const clean = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ");

function ended(call: Call): string {
  const code = call.code ? `, ${call.code} ${call.reason ?? ""}`.trimEnd() : "";
  return `${call.state}${code}${call.hangup === "none" ? "" : `, the ${call.hangup} hung up`}`;
}

function timing(call: Call): string {
  const parts: [string, number | null][] = [["PDD", call.pdd_ms], ["setup", call.setup_ms], ["duration", call.duration_ms]];
  return parts.flatMap(([name, value]) => (value === null ? [] : [`${name} ${duration(value)}`])).join(", ");
}

function quality(call: Call): string {
  const range = call.mos_range ? `${scoreRange(call.mos_range, 2, " to ")}, depending on what the capture lost` : "";
  if (call.mos !== null) return `${score(call.mos)}${range ? ` (${range})` : ""}`;
  return range || "n/a";
}

function ledger(call: Call): string {
  const { complete, lost_at_tap: most, lost_at_tap_least: least, lost_before_tap: before, note } = call.capture;
  const tap = most === least ? whole(most) : `${whole(least)} to ${whole(most)}`;
  return `${complete ? "complete" : "incomplete"}; lost before the tap ${whole(before)}, at the tap ${tap}${note ? `; ${note}` : ""}`;
}

function streamLines(stream: Stream, index: number, at: (endpoint: string | null) => string): string[] {
  const missing = stream.expected > 0 ? ` (${percent(stream.missing / stream.expected, 2)})` : "";
  return [
    "",
    clean(`Stream ${index + 1}, from the ${stream.direction ?? "unknown side"}: ${at(stream.src)} -> ${at(stream.dst)}, ${stream.ssrc}, ${stream.codec ?? "unknown codec"}`),
    `  packets ${whole(stream.packets)} of ${whole(stream.expected)}, lost ${whole(stream.missing)}${missing}, duplicates ${whole(stream.duplicates)}, reordered ${whole(stream.reordered)}`,
    `  jitter ${duration(stream.jitter_mean_ms)} average, ${duration(stream.jitter_max_ms)} max; MOS ${score(stream.mos.g107)}${stream.mos.scale ? ` (G.107 ${stream.mos.scale})` : ""}, VoIPmonitor F1 ${score(stream.mos.vm_f1)} F2 ${score(stream.mos.vm_f2)} adaptive ${score(stream.mos.vm_adapt)}`,
  ];
}
