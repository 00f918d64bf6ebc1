import { createMemo, For, type JSX } from "solid-js";
import type { SystemMoment } from "../../api/types";
import { bits, percent, short } from "../../format";
import { moments } from "../../live";
import { Sparkline } from "../../parts/sparkline";
import { ms } from "../../time";

const ROOM = 120;

interface Line {
  name: string;
  of: (moment: SystemMoment) => number;
  text: (value: number) => string;
  meaning?: "bad";
  /** The value at the top of its line. */
  top?: number;
}

const LINES: Line[] = [
  { name: "Packets/s", of: (m) => m.packets_per_s, text: short },
  { name: "Rate", of: (m) => m.bits_per_s, text: bits },
  { name: "Ring", of: (m) => m.ring_fill, text: (v) => percent(v, 0), top: 1 },
  { name: "Buffer", of: (m) => m.buffer_fill ?? 0, text: (v) => percent(v, 0), top: 1 },
  { name: "Lost", of: (m) => m.drops, text: short, meaning: "bad" },
];

/** Last 10 minutes: what the program remembers, and what came since the page was opened. */
export function History(props: { begun: SystemMoment[] }): JSX.Element {
  const all = createMemo<SystemMoment[]>(() => {
    const last = props.begun.at(-1);
    const since = last ? ms(last.at) : 0;
    const own = moments()
      .filter((m, i) => i % 5 === 0 && m.at > since)
      .map((m) => ({ at: "", packets_per_s: m.packets_per_s, bits_per_s: m.bits_per_s, ring_fill: m.ring_fill, buffer_fill: m.buffer_fill, drops: m.drops_per_s, calls_up: m.calls_up }));
    return [...props.begun, ...own].slice(-ROOM);
  });
  return (
    <section class="panel" aria-label="Last 10 minutes">
      <header>
        <h2>Last 10 minutes</h2>
      </header>
      <ul class="system-history body">
        <For each={LINES}>
          {(line) => {
            const values = (): number[] => all().map(line.of);
            return (
              <li>
                <span class="muted">{line.name}</span>
                <Sparkline values={values()} room={ROOM} height={40} top={line.top} meaning={line.meaning && Math.max(0, ...values()) > 0 ? line.meaning : "accent"} />
                <span class="num nowrap">
                  {line.text(values().at(-1) ?? 0)} <span class="muted">most {line.text(Math.max(0, ...values()))}</span>
                </span>
              </li>
            );
          }}
        </For>
      </ul>
    </section>
  );
}
