import { For, Show, type JSX } from "solid-js";
import type { LiveStatus, VolumeSnapshot } from "../../api/types";
import { duration, octets, whole } from "../../format";
import { Fill } from "../../parts/fill";
import { Tag } from "../../parts/meaning";
import { useRates } from "./rates";

/** The disks of the packet log: do they take what comes, and for how long is there room. */
export function Disks(props: { status: LiveStatus }): JSX.Element {
  const rates = useRates(
    () => props.status,
    (s) => Object.fromEntries(s.volumes.map((v) => [v.path, v.written_octets_total])),
  );
  return (
    <section class="panel" aria-label="Disks">
      <header>
        <h2>Disks of the packet log</h2>
      </header>
      <Show when={props.status.volumes.length > 0} fallback={<p class="body muted">No packets are recorded: record.enabled is off.</p>}>
        <ul class="system-disks">
          <For each={props.status.volumes}>{(volume) => <Disk volume={volume} rate={rates()[volume.path] ?? 0} />}</For>
        </ul>
      </Show>
    </section>
  );
}

function Disk(props: { volume: VolumeSnapshot; rate: number }): JSX.Element {
  const used = (): number => 1 - props.volume.free_octets / Math.max(1, props.volume.size_octets);
  return (
    <li>
      <div class="row">
        <code class="clip">{props.volume.path}</code>
        {props.volume.writable ? null : <Tag meaning="bad">not writable</Tag>}
      </div>
      <div class="system-ring">
        <Fill share={used()} label={`Use of ${props.volume.path}`} />
        <span class="num nowrap">
          {octets(props.volume.free_octets)} free of {octets(props.volume.size_octets)}
        </span>
      </div>
      <span class="muted num">
        {octets(props.rate)}/s written, {octets(props.volume.written_octets_total)} in total; waited for {whole(props.volume.waits_total)} times,{" "}
        {duration(props.volume.waited_ms_total)}
      </span>
    </li>
  );
}
