// A message of the ladder in a few words.

import type { LadderMessage } from "../../api/types";

const SEPARATOR = " · ";

export interface Said {
  /** "INVITE", "180 Ringing" */
  what: string;
  /** "1 INVITE": which transaction a response belongs to; of a request its number. */
  cseq: string;
  /** SDP in brief, the cause that was given, oddities. */
  more: string;
}

export function said(message: LadderMessage): Said {
  const [phrase = "", ...more] = (message.text ?? "").split(SEPARATOR);
  const cseq = message.status === null ? `${message.cseq}` : `${message.cseq} ${message.method}`;
  return { what: what(message, phrase.trim()), cseq, more: more.join(SEPARATOR) };
}

function what(message: LadderMessage, phrase: string): string {
  if (message.status !== null) return `${message.status} ${phrase}`.trim();
  return message.method === "other" ? phrase || "unknown method" : message.method;
}

export type Tone = "request" | "progress" | "good" | "note" | "warn" | "bad";

export function toneOf(message: LadderMessage): Tone {
  const status = message.status;
  if (status === null) return "request";
  if (status < 200) return "progress";
  if (status < 300) return "good";
  if (status < 400) return "note";
  // Challenges are part of a healthy call.
  return status === 401 || status === 407 || status < 500 ? "warn" : "bad";
}

/** What the arrow does not say in its label, for readers of screens. */
export function details(message: LadderMessage, from: string, to: string): string {
  const marks = [
    message.retransmission && "retransmission",
    message.copy && "mirror-port copy",
    message.odd && "odd",
    message.cut && "truncated by the capture",
    message.tcp && "over TCP",
  ].filter(Boolean);
  return [`from ${from} to ${to}`, said(message).more, ...marks, `packet ${message.packet}`].filter(Boolean).join(", ");
}

/** Seconds since the call began: "+0.021", "12.400". */
export function since(ms: number): string {
  const s = ms / 1000;
  return s < 1000 ? s.toFixed(3) : s.toFixed(1);
}
