// The live feed: one connection for the whole page, opened when something shows it and closed when nothing does.

import { createSignal, onCleanup } from "solid-js";
import { url } from "./api/client";
import type { CallUp, LiveStatus } from "./api/types";

export type Feed = "connecting" | "live" | "idle" | "lost";

export interface Moment {
  at: number;
  calls_up: number;
  calls_per_s: number;
  packets_per_s: number;
  bits_per_s: number;
  drops_per_s: number;
}

/** Seconds that the page remembers for its sparklines. */
export const REMEMBERED_MAX = 300;

const [status, setStatus] = createSignal<LiveStatus | undefined>();
const [callsUp, setCallsUp] = createSignal<{ total: number; up: CallUp[] }>({ total: 0, up: [] });
const [feed, setFeed] = createSignal<Feed>("connecting");
const [why, setWhy] = createSignal("");
const [moments, setMoments] = createSignal<Moment[]>([]);

export { callsUp, feed, moments, status, why };

let users = 0;
let source: EventSource | undefined;

/** Keeps the feed open as long as the component that calls it lives. */
export function useLive(): void {
  users += 1;
  if (users === 1) open();
  onCleanup(() => {
    users -= 1;
    if (users === 0) close();
  });
}

function open(): void {
  setFeed("connecting");
  source = new EventSource(url("/live"));
  source.addEventListener("status", (event) => take(JSON.parse(event.data) as LiveStatus));
  source.addEventListener("calls", (event) => setCallsUp(JSON.parse(event.data) as { total: number; up: CallUp[] }));
  source.addEventListener("idle", (event) => {
    setFeed("idle");
    setWhy((JSON.parse(event.data) as { why: string }).why);
  });
  // The browser tries again by itself unless the answer was an error; then it is told so by the next request.
  source.onerror = () => setFeed(source?.readyState === EventSource.CLOSED ? "lost" : "connecting");
}

function close(): void {
  source?.close();
  source = undefined;
}

function take(next: LiveStatus): void {
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
  };
  setMoments((before) => [...before.slice(1 - REMEMBERED_MAX), moment]);
}
