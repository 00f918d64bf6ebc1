import { createMemo, Show, type JSX } from "solid-js";
import type { CacheHistory, CacheMoment } from "../../api/types";
import { octets, percent, short } from "../../format";
import { Pictures, type Picture } from "../../parts/pictures";
import { ms } from "../../time";
import { perSecond } from "./words";

const HOUR_MS = 3_600_000;
/** Where little is known yet, so much of the hour is drawn at least. */
const LEAST_MS = 300_000;

const PICTURES: Picture<CacheMoment>[] = [
  { title: "Hit ratio", lines: [{ name: "hit ratio", color: "--c-1", of: (m) => m.hit_ratio }], format: (v) => percent(v, 0), range: [0, 1.05] },
  {
    title: "Requests",
    lines: [
      { name: "gets", color: "--c-1", of: (m) => m.gets_per_s },
      { name: "sets", color: "--c-2", dash: [6, 3], of: (m) => m.sets_per_s },
      { name: "deletes", color: "--c-3", dash: [2, 3], of: (m) => m.deletes_per_s },
    ],
    format: perSecond,
    top: 1,
  },
  {
    title: "Evicted and expired items",
    lines: [
      { name: "evicted", color: "--c-2", of: (m) => m.evicted_per_s },
      { name: "expired", color: "--c-6", dash: [6, 3], of: (m) => m.expired_per_s },
    ],
    format: perSecond,
    top: 1,
  },
  { title: "Memory", lines: [{ name: "memory", color: "--c-4", of: (m) => m.used_octets }], format: octets, top: 1 << 20, binary: true },
  { title: "Items", lines: [{ name: "items", color: "--c-5", of: (m) => m.items }], format: short, top: 10 },
  { title: "Connections", lines: [{ name: "connections", color: "--c-6", of: (m) => m.connections }], format: (v) => short(Math.round(v)), top: 4 },
];

/** The last hour; all pictures share the moment under the pointer. */
export function OverTime(props: { hour: CacheHistory | undefined }): JSX.Element {
  const moments = (): CacheMoment[] => props.hour?.moments ?? [];
  const times = createMemo(() => moments().map((moment) => ms(moment.at)));
  const span = createMemo((): [number, number] => {
    const last = times().at(-1) ?? Date.now();
    return [Math.max(last - HOUR_MS, Math.min(times()[0] ?? last, last - LEAST_MS)), last];
  });
  return (
    <section class="panel" aria-label="Last hour">
      <header>
        <h2>Last hour</h2>
        <span class="muted">averages of {props.hour?.every_s ?? 10} s</span>
      </header>
      <Show
        when={times().length > 1}
        fallback={<p class="body muted">The graphs start at the second sample, in about {props.hour?.every_s ?? 10} seconds. They are kept in memory and start again when the web server restarts.</p>}
      >
        <Pictures pictures={PICTURES} moments={moments()} times={times()} span={span()} columns={3} />
      </Show>
    </section>
  );
}
