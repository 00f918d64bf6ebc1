// The live feed: one connection for the whole page, opened when something shows it, closed when nothing does and while
// the page is hidden: what nobody sees costs nothing, and a browser has few connections for all its tabs.

import { createSignal, onCleanup } from "solid-js";
import { url } from "./api/client";
import type { CallUp, LiveAlerts, LiveStatus } from "./api/types";
import { refreshSession } from "./session";

export type Feed = "connecting" | "live" | "idle" | "lost";

export interface Moment {
  at: number;
  calls_up: number;
  calls_per_s: number;
  packets_per_s: number;
  bits_per_s: number;
  drops_per_s: number;
  ring_fill: number;
  buffer_fill: number;
}

/** Seconds that the page remembers for its sparklines. */
export const REMEMBERED_MAX = 300;

const [status, setStatus] = createSignal<LiveStatus | undefined>();
const [callsUp, setCallsUp] = createSignal<{ total: number; up: CallUp[] }>({ total: 0, up: [] });
const [alerts, setAlerts] = createSignal<LiveAlerts | undefined>(undefined, { equals: (one, other) => JSON.stringify(one) === JSON.stringify(other) });
const [feed, setFeed] = createSignal<Feed>("connecting");
const [why, setWhy] = createSignal("");
const [moments, setMoments] = createSignal<Moment[]>([]);

const [beat, setBeat] = createSignal(0);

/** Grows each second or few, as long as the program is heard of: what a page asks for again, it asks for then. */
export { beat };
export { alerts, callsUp, feed, moments, status, why };

/** Longer silence begins the sparklines anew. */
const GAP_MS = 5000;

/** After an answer that was an error, the feed is opened anew after this long, then twice as long, up to the second. */
const WAIT_MS = 2_000;
const WAIT_MAX_MS = 60_000;

let users = 0;
let wait = WAIT_MS;
let again: ReturnType<typeof setTimeout> | undefined;
/** When the last status came. */
let heard = 0;
let source: EventSource | undefined;

/** Keeps the feed open as long as the component that calls it lives. */
export function useLive(): void {
  users += 1;
  if (users === 1) {
    document.addEventListener("visibilitychange", follow);
    follow();
  }
  onCleanup(() => {
    users -= 1;
    if (users > 0) return;
    document.removeEventListener("visibilitychange", follow);
    close();
  });
}

function follow(): void {
  if (document.hidden || users === 0) close();
  else if (!source) open();
}

function open(): void {
  // A line over a gap would be a lie.
  if (Date.now() - heard > GAP_MS) setMoments([]);
  setFeed("connecting");
  source = new EventSource(url("/live"));
  source.addEventListener("status", (event) => take(JSON.parse(event.data) as LiveStatus));
  source.addEventListener("calls", (event) => setCallsUp(JSON.parse(event.data) as { total: number; up: CallUp[] }));
  source.addEventListener("alerts", (event) => setAlerts(JSON.parse(event.data) as LiveAlerts));
  source.addEventListener("heartbeat", () => setBeat((before) => before + 1));
  source.addEventListener("idle", (event) => {
    setFeed("idle");
    setWhy((JSON.parse(event.data) as { why: string }).why);
  });
  // The browser tries again by itself unless the answer was an error: then who is signed in is asked, and it is opened
  // anew after a while, longer each time.
  source.onerror = () => {
    if (source?.readyState !== EventSource.CLOSED) {
      setFeed("connecting");
      return;
    }
    setFeed("lost");
    close();
    void refreshSession().catch(() => undefined);
    wait = Math.min(wait * 2, WAIT_MAX_MS);
    again = setTimeout(follow, wait);
  };
}

function close(): void {
  clearTimeout(again);
  source?.close();
  source = undefined;
}

function take(next: LiveStatus): void {
  heard = Date.now();
  wait = WAIT_MS;
  setFeed("live");
  setStatus(next);
  const sum = (of: Record<string, number>): number => Object.values(of).reduce((a, b) => a + b, 0);
  const { sip, rtp, other } = next.rates.packets_per_s;
  const moment: Moment = {
    at: next.at_ns / 1e6,
    calls_up: next.calls_up,
    calls_per_s: next.rates.calls_per_s,
    packets_per_s: sip + rtp + other,
    bits_per_s: next.rates.bits_per_s,
    drops_per_s: sum(next.rates.drops_per_s),
    ring_fill: Math.max(0, ...next.lanes.map((lane) => lane.ring_fill)),
    buffer_fill: next.buffer ? next.buffer.used_octets / Math.max(1, next.buffer.limit_octets) : 0,
  };
  setMoments((before) => [...before.slice(1 - REMEMBERED_MAX), moment]);
}
