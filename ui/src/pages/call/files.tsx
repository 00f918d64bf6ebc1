// Where the call's packets are, and how to get at them.

import { A } from "@solidjs/router";
import { createMemo, For, Show, type JSX } from "solid-js";
import type { CallWithLadder } from "../../api/types";
import { CopyButton } from "../../parts/copy";
import { Icon } from "../../parts/icon";
import { packetFilter, packetsOf } from "./words";

interface Held {
  file: string;
  messages: number;
  first: number;
  last: number;
}

export function Files(props: { call: CallWithLadder }): JSX.Element {
  const held = createMemo(() => heldBy(props.call));
  const command = (): string => `trunkline call ${props.call.id} --pcap call.pcapng`;
  return (
    <section class="panel files" aria-label="Packets">
      <header>
        <h2>Packets</h2>
        <A class="button" href={packetsOf(props.call)} title="All packets between the call's hosts during the call">
          <Icon name="packets" /> Open in Packets
        </A>
      </header>
      <div class="body stack">
        <ul class="stack">
          <For each={held()}>
            {(one) => (
              <li>
                <code>{one.file}</code>
                <Show when={one.messages > 0}>
                  <span class="muted num">
                    {" "}
                    {one.messages} SIP message{one.messages === 1 ? "" : "s"}, packets {one.first}
                    {one.last > one.first ? ` – ${one.last}` : ""}
                  </span>
                </Show>
              </li>
            )}
          </For>
        </ul>
        <Show when={props.call.streams.length > 0}>
          <p class="muted num">
            Media: packets {Math.min(...props.call.streams.map((stream) => stream.packet_first))} – {Math.max(...props.call.streams.map((stream) => stream.packet_last))}
          </p>
        </Show>
        <p class="files-line">
          <code>{packetFilter(props.call)}</code>
          <CopyButton quiet text={() => packetFilter(props.call)} what="Copy the packet filter" />
        </p>
        <p class="files-line">
          <code>{command()}</code>
          <CopyButton quiet text={command} what="Copy the command" />
        </p>
      </div>
    </section>
  );
}

function heldBy(call: CallWithLadder): Held[] {
  return call.files.map((file, index) => {
    const packets = call.ladder.messages.flatMap((message) => (message.file === index ? [message.packet] : []));
    return { file, messages: packets.length, first: Math.min(...packets), last: Math.max(...packets) };
  });
}
