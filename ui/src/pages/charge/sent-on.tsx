// Records that are sent on to charging gateways (GTP'): which of them answer, and what is on its way.

import { For, Show, type JSX } from "solid-js";
import type { ChargeNode, ChargeRecords, ChargeSentOn } from "../../api/types";
import { octets, of, whole } from "../../format";
import { Tag } from "../../parts/meaning";
import { Time } from "../../parts/time";

export function SentOn(props: { node: ChargeNode; records: ChargeRecords; sent: ChargeSentOn }): JSX.Element {
  const s = (): ChargeSentOn => props.sent;
  const up = (): number => s().gateways.filter((gateway) => gateway.up).length;
  return (
    <section class="panel" aria-label="Record export">
      <header>
        <h2>Record export</h2>
        <span class="muted">
          {whole(up())} of {of(s().gateways.length, "charging gateway up", "charging gateways up")}
        </span>
      </header>
      <div class="charge-sent body">
        <dl class="charge-facts charge-tight">
          <Fact name="Delivered to a gateway" value={of(s().done, "packet", "packets")}>
            since <Time at={props.node.since} shape="short" />
          </Fact>
          <Fact name="In flight" value={of(s().packets, "packet", "packets")} />
          <Fact name="Waiting in files" value={octets(s().waiting_octets)}>
            up to file {whole(s().file)}, octet {whole(s().octets)}
          </Fact>
          <Fact name="Rejected" value={of(s().refused, "packet", "packets")} bad={s().refused > 0}>
            <Show when={s().refused > 0} fallback="none stored">
              stored, the first with cause {s().cause ?? "–"}: <code>trunkline charge refused</code> lists them
            </Show>
          </Fact>
          <Fact name="Sent to another gateway" value={of(s().doubtful, "packet", "packets")}>
            as possible duplicates
          </Fact>
          <Fact name="Records made" value={whole(props.records.records)}>
            {of(props.records.files, "closed file", "closed files")}
          </Fact>
        </dl>
        <ul class="charge-gateways" aria-label="Charging gateways">
          <For each={s().gateways}>
            {(gateway, at) => (
              <li>
                <Tag meaning={gateway.up ? "good" : "bad"}>{gateway.up ? "up" : "down"}</Tag> <span class="num">{gateway.address}</span> <span class="muted charge-small">{at() === 0 ? "primary" : ""}</span>
              </li>
            )}
          </For>
        </ul>
      </div>
      <Show when={s().failure}>{(why) => <p class="body bad-ink">Sending stopped: {why()}</p>}</Show>
      <Show when={s().gone_files > 0}>
        <p class="body warn-ink">{of(s().gone_files, "file was", "files were")} deleted before it was completely sent.</p>
      </Show>
    </section>
  );
}

function Fact(props: { name: string; value: string; bad?: boolean; children?: JSX.Element }): JSX.Element {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd class="charge-figure" classList={{ "bad-ink": props.bad ?? false }}>
        {props.value}
        <Show when={props.children}>
          <div class="muted charge-small">{props.children}</div>
        </Show>
      </dd>
    </div>
  );
}
