// Who lost what was lost: the network before us, our own tap, or nobody.

import type { Call, Stream } from "../../api/types";

export type Fault = "nobody" | "network" | "tap" | "both" | "open";

export interface Blame {
  fault: Fault;
  title: string;
  why: string;
}

/** Never arrived here and certainly, or possibly, not for our tap's sake. */
export interface Share {
  expected: number;
  seen: number;
  /** Lost before the tap: at least and at most. */
  before: [number, number];
  /** Lost at the tap: at least and at most. */
  tap: [number, number];
}

export function shareOf(stream: Pick<Stream, "expected" | "missing" | "lost_at_tap" | "lost_at_tap_least">): Share {
  const { expected, missing } = stream;
  const most = Math.min(stream.lost_at_tap, missing);
  const least = Math.min(stream.lost_at_tap_least, most);
  return { expected, seen: expected - missing, before: [missing - most, missing - least], tap: [least, most] };
}

export function blame(call: Pick<Call, "capture" | "streams">): Blame {
  const { lost_before_tap: before, lost_at_tap: most, lost_at_tap_least: least, complete } = call.capture;
  const at = least === most ? packets(most) : `${packets(least).replace(/ packets?$/, "")} to ${packets(most)}`;
  if (most > 0 && before > 0) {
    return { fault: "both", title: "The network lost packets, and so did our capture", why: `${packets(before)} never reached our tap; ${at} were lost at it and may well have reached the receiver.` };
  }
  if (most > 0 && least === 0) {
    return { fault: "open", title: "Our capture may have lost them", why: `Up to ${packets(most)} are missing that our tap may have lost. Nothing shows that the network lost any.` };
  }
  if (most > 0) {
    return { fault: "tap", title: "Our own capture lost them", why: `${at} were lost at our tap. Nothing shows that the call lost any.` };
  }
  if (before > 0) {
    return { fault: "network", title: "The network lost them before us", why: `${packets(before)} never reached our tap, and our capture lost nothing${complete ? "" : " of them"}.` };
  }
  if (!complete) return { fault: "open", title: "The capture does not hold all of this call", why: "No packet of a stream is known to be missing, but not everything was captured." };
  if (call.streams.length === 0) return { fault: "nobody", title: "Nothing was lost", why: "The call has no media; its signalling is complete." };
  return { fault: "nobody", title: "Nothing was lost", why: "Every packet that was sent was seen, and our capture lost nothing." };
}

const packets = (n: number): string => `${n.toLocaleString("en")} packet${n === 1 ? "" : "s"}`;

/** The receiver's own count beside ours, in words. */
export function receiverSays(stream: Stream): string {
  const { receiver_reports: reports, lost, missing_here: here, sent } = stream.rtcp;
  if (reports === 0 || lost === null) return "no report";
  const side = here !== null && here > Math.max(0, lost) ? `: ${packets(here - Math.max(0, lost))} that we miss did get there` : "";
  return `lost ${lost}${sent !== null ? ` of ${sent.toLocaleString("en")} sent` : ""}${side}`;
}
