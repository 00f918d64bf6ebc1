// A message in full: raw, coloured, explained, compared.

import { createMemo, createResource, For, Match, Show, Switch, type JSX } from "solid-js";
import { get } from "../../api/client";
import type { CallMessages, CallWithLadder, LadderMessage } from "../../api/types";
import { octets } from "../../format";
import { CopyButton } from "../../parts/copy";
import { Icon } from "../../parts/icon";
import { Empty, Loading, Trouble } from "../../parts/states";
import { Tag } from "../../parts/meaning";
import { Time } from "../../parts/time";
import { may } from "../../session";
import { Compared, Raw } from "./raw";
import { said } from "./said";
import { twinsOf, wordsOf } from "./twins";
import type { View } from "./view";
import "./message.css";

interface MessageProps {
  view: View;
  nameOfHost: (host: number) => string;
}

export function MessagePanel(props: MessageProps): JSX.Element {
  const call = (): CallWithLadder => props.view.call();
  const index = (): number => props.view.chosen() ?? 0;
  const message = (): LadderMessage => call().ladder.messages[index()]!;
  const [texts, { refetch }] = createResource(
    // Anew when there are more of them: a call that is up grows.
    () => (may("messages.read") ? `${call().id} ${call().ladder.messages.length}` : undefined),
    (key) => get<CallMessages>(`/calls/${encodeURIComponent(key.split(" ")[0]!)}/messages`),
  );
  const byIndex = createMemo(() => new Map((texts.state === "ready" || texts.state === "refreshing" ? (texts.latest?.messages ?? []) : []).map((one) => [one.index, one.text])));
  const text = (): string | null => byIndex().get(index()) ?? null;
  const step = (by: number): void => props.view.choose(Math.min(call().ladder.messages.length - 1, Math.max(0, index() + by)));
  return (
    <section class="panel message-panel" aria-label="Message">
      <header>
        <div class="message-title">
          <h2 class="clip">{said(message()).what}</h2>
          <span class="muted nowrap num">
            {index() + 1} of {call().ladder.messages.length}
          </span>
        </div>
        <div class="row">
          <button class="button icon quiet" onClick={() => step(-1)} disabled={index() === 0} aria-label="Previous message">
            <Icon name="left" />
          </button>
          <button class="button icon quiet" onClick={() => step(1)} disabled={index() + 1 >= call().ladder.messages.length} aria-label="Next message">
            <Icon name="right" />
          </button>
          <CopyButton quiet text={() => text() ?? ""} what="Copy the message" />
          <button class="button icon quiet" onClick={() => props.view.setOpen(false)} aria-label="Close" title="Close (Escape)">
            <Icon name="close" />
          </button>
        </div>
      </header>
      <About message={message()} call={call()} nameOfHost={props.nameOfHost} />
      <Twins view={props.view} index={index()} />
      <div class="message-text" tabindex="0" role="region" aria-label="Text of the message">
        <Switch>
          <Match when={!may("messages.read")}>
            <Empty icon="key" title="Your role may not read raw messages">
              Raw messages contain phone numbers and other data of the parties. The role support may read them: ask an administrator.
            </Empty>
          </Match>
          <Match when={texts.error}>
            <Trouble error={texts.error} retry={() => void refetch()} />
          </Match>
          <Match when={texts.state === "pending"}>
            <Loading what="the messages" />
          </Match>
          <Match when={text() === null}>
            <Empty title="The text of this message is not available">
              {message().cut ? "The capture truncated it." : "The capture file or segment with its packet was deleted, or the message could not be reassembled."} The ladder still shows what was stored with the call.
            </Empty>
          </Match>
          <Match when={props.view.beside() !== undefined && byIndex().get(props.view.beside()!)}>
            {(other) => <Compared left={other()} right={text()!} leftName={`Message ${props.view.beside()! + 1}`} rightName={`Message ${index() + 1}`} />}
          </Match>
          <Match when={text()}>{(text) => <Raw text={text()} />}</Match>
        </Switch>
      </div>
    </section>
  );
}

function About(props: { message: LadderMessage; call: CallWithLadder; nameOfHost: (host: number) => string }): JSX.Element {
  const host = (at: number): string => props.call.ladder.hosts[at] ?? "unknown";
  return (
    <div class="message-about">
      <p>
        <b title={host(props.message.src)}>{props.nameOfHost(props.message.src)}</b> → <b title={host(props.message.dst)}>{props.nameOfHost(props.message.dst)}</b>{" "}
        <Time at={props.message.at} shape="clock-ms" />
      </p>
      <p class="row muted">
        <span class="num nowrap">packet {props.message.packet}</span>
        <span class="num nowrap">{octets(props.message.octets)}</span>
        <span class="nowrap">{props.message.tcp ? "TCP" : "UDP"}</span>
        <Show when={props.message.retransmission}>
          <Tag meaning="warn">retransmission</Tag>
        </Show>
        <Show when={props.message.copy}>
          <Tag meaning="note" title="The mirror port delivered it twice, faster than any SIP retransmission timer">
            mirror-port copy
          </Tag>
        </Show>
        <Show when={props.message.cut}>
          <Tag meaning="warn">truncated</Tag>
        </Show>
        <Show when={props.message.odd}>
          <Tag meaning="warn">unusual: {said(props.message).more}</Tag>
        </Show>
      </p>
    </div>
  );
}

/** What it can be compared with. */
function Twins(props: { view: View; index: number }): JSX.Element {
  const twins = createMemo(() => twinsOf(props.view.call().ladder.messages, props.index));
  return (
    <Show when={twins().length > 0 && may("messages.read")}>
      <div class="message-twins row">
        <span class="muted">Compare with</span>
        <For each={twins()}>
          {(twin) => (
            <button class="button" aria-pressed={props.view.beside() === twin.index} onClick={() => props.view.setBeside(props.view.beside() === twin.index ? undefined : twin.index)}>
              {wordsOf(twin)} <span class="muted num">#{twin.index + 1}</span>
            </button>
          )}
        </For>
      </div>
    </Show>
  );
}
