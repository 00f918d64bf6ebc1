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
    return { fault: "both", title: "Both the network and our capture lost packets", why: `${packets(before)} did not reach our tap. The tap lost ${at}, which may still have reached the receiver.` };
  }
  if (most > 0 && least === 0) {
    return { fault: "open", title: "Our capture may have lost packets", why: `Our tap may have lost up to ${packets(most)}. There is no sign of loss in the network.` };
  }
  if (most > 0) {
    return { fault: "tap", title: "Our own capture lost packets", why: `Our tap lost ${at}. There is no sign of loss in the call.` };
  }
  if (before > 0) {
    return { fault: "network", title: "The network lost packets before our tap", why: `${packets(before)} did not reach our tap${complete ? "; our capture lost nothing" : ""}.` };
  }
  if (!complete) return { fault: "open", title: "The capture of this call is incomplete", why: "No stream has lost packets, but part of the call was not captured." };
  if (call.streams.length === 0) return { fault: "nobody", title: "Nothing was lost", why: "The call has no media; its signalling is complete." };
  return { fault: "nobody", title: "Nothing was lost", why: "Our capture saw every packet of the call." };
}

const packets = (n: number): string => `${n.toLocaleString("en")} packet${n === 1 ? "" : "s"}`;

/** The receiver's own count beside ours, in words. */
export function receiverSays(stream: Stream): string {
  const { receiver_reports: reports, lost, missing_here: here, sent } = stream.rtcp;
  if (reports === 0 || lost === null) return "no report";
  const side = here !== null && here > Math.max(0, lost) ? `: ${packets(here - Math.max(0, lost))} that we did not see reached the receiver` : "";
  return `lost ${lost}${sent !== null ? ` of ${sent.toLocaleString("en")} sent` : ""}${side}`;
}
