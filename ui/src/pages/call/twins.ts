// What a message is worth comparing with.

import type { LadderMessage } from "../../api/types";

export interface Twin {
  index: number;
  why: "original" | "retransmission" | "copy" | "previous" | "next-hop" | "hop-before";
}

const WORDS: Record<Twin["why"], string> = {
  original: "its first transmission",
  retransmission: "its retransmission",
  copy: "its copy",
  previous: "the previous one of its kind",
  "next-hop": "the same on the next hop",
  "hop-before": "the same on the previous hop",
};

export const wordsOf = (twin: Twin): string => WORDS[twin.why];

export function twinsOf(messages: LadderMessage[], index: number): Twin[] {
  const message = messages[index];
  if (!message) return [];
  const found: Twin[] = [];
  const add = (at: number, why: Twin["why"]): void => {
    if (at >= 0 && at !== index && !found.some((twin) => twin.index === at)) found.push({ index: at, why });
  };
  const same = (other: LadderMessage): boolean => sameHop(other, message) && sameKind(other, message) && other.cseq === message.cseq;
  const repeats = message.retransmission || message.copy;
  if (repeats) add(messages.findIndex(same), "original");
  const later = messages.findIndex((other, at) => at > index && same(other) && (other.retransmission || other.copy));
  add(later, messages[later]?.copy ? "copy" : "retransmission");
  add(nearest(messages, index, 1, (other) => onward(message, other)), "next-hop");
  add(nearest(messages, index, -1, (other) => onward(other, message)), "hop-before");
  add(nearest(messages, index, -1, (other) => sameHop(other, message) && sameKind(other, message) && !(repeats && same(other))), "previous");
  return found;
}

const sameHop = (a: LadderMessage, b: LadderMessage): boolean => a.src === b.src && a.dst === b.dst;
const sameKind = (a: LadderMessage, b: LadderMessage): boolean => a.method === b.method && a.status === b.status;

/** `b` leaves the host where `a` arrived, is the same message, and does not go back. */
function onward(a: LadderMessage, b: LadderMessage): boolean {
  return a.dst === b.src && a.src !== b.dst && sameKind(a, b) && !b.retransmission && !b.copy;
}

function nearest(messages: LadderMessage[], index: number, step: 1 | -1, such: (message: LadderMessage) => boolean): number {
  for (let at = index + step; at >= 0 && at < messages.length; at += step) {
    if (such(messages[at]!)) return at;
  }
  return -1;
}
