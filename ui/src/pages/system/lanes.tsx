import { createMemo, For, type JSX } from "solid-js";
import type { LaneSnapshot, LiveStatus } from "../../api/types";
import { bits, NONE, octets, percent, whole } from "../../format";
import { Fill } from "../../parts/fill";
import { Tag } from "../../parts/meaning";
import { useRates } from "./rates";

/** The lanes: each a ring of an interface and its thread. */
export function Lanes(props: { status: LiveStatus }): JSX.Element {
  const rates = useRates(
    () => props.status,
    (s) => Object.fromEntries(s.lanes.flatMap((l) => [[`p${l.lane}`, l.packets_total], [`o${l.lane}`, l.octets_total], [`d${l.lane}`, l.drops_total]])),
  );
  const buffer = createMemo(() => props.status.buffer);
  return (
    <section class="panel" aria-label="Lanes">
      <header>
        <h2>Lanes</h2>
        <span class="muted">one capture ring and one thread each</span>
      </header>
      <div class="scroll">
        <table class="table system-lanes">
          <thead>
            <tr>
              <th scope="col">Lane</th>
              <th scope="col">Interface</th>
              <th scope="col" class="right">Packets/s</th>
              <th scope="col" class="right">Rate</th>
              <th scope="col">Ring</th>
              <th scope="col" class="right">Lost</th>
            </tr>
          </thead>
          <tbody>
            <For each={props.status.lanes}>{(lane) => <Lane lane={lane} rate={rates()} />}</For>
          </tbody>
        </table>
      </div>
      {buffer() ? (
        <div class="body system-buffer">
          <span>Write buffer</span>
          <Fill share={buffer()!.used_octets / Math.max(1, buffer()!.limit_octets)} label="Buffer" />
          <span class="num muted nowrap">
            {octets(buffer()!.used_octets)} of {octets(buffer()!.limit_octets)}
            {buffer()!.squeezed ? `, compressed ${buffer()!.squeezed!.toFixed(1)} : 1` : ""}
          </span>
        </div>
      ) : null}
    </section>
  );
}

function Lane(props: { lane: LaneSnapshot; rate: Record<string, number> }): JSX.Element {
  // None before the second look.
  const of = (kind: string): number | undefined => props.rate[`${kind}${props.lane.lane}`];
  const bitsNow = (): number | undefined => (of("o") === undefined ? undefined : of("o")! * 8);
  return (
    <tr>
      <td class="num">{props.lane.lane}</td>
      <td class="nowrap">
        {props.lane.interface} {props.lane.up ? null : <Tag meaning="bad">down</Tag>}
      </td>
      <td class="right">{of("p") === undefined ? NONE : whole(Math.round(of("p")!))}</td>
      <td class="right nowrap">{bits(bitsNow())}</td>
      <td>
        <span class="system-ring">
          <Fill share={props.lane.ring_fill} label={`Ring of lane ${props.lane.lane}`} /> <span class="num">{percent(props.lane.ring_fill, 0)}</span>
        </span>
      </td>
      <td class="right" classList={{ "bad-ink": props.lane.drops_total > 0 }}>
        {whole(props.lane.drops_total)}
      </td>
    </tr>
  );
}
