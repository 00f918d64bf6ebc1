// The verdict first, then who called whom and how it went.

import { A } from "@solidjs/router";
import { For, Show, type JSX } from "solid-js";
import { addressOf, aliasOf } from "../../aliases";
import { url } from "../../api/client";
import type { CallWithLadder, OtherNumber } from "../../api/types";
import { duration } from "../../format";
import { CopyButton, ShareButton } from "../../parts/copy";
import { Icon, type IconName } from "../../parts/icon";
import { Mos, StateTag, Tag } from "../../parts/meaning";
import { Time } from "../../parts/time";
import { may } from "../../session";
import { ms } from "../../time";
import { ticket } from "./ticket";
import type { View } from "./view";
import { callsLike, hangupText, quoted, ROLES, weightOf, withoutVerdict } from "./words";
import "./summary.css";

const SIGNS: Record<string, IconName> = { good: "good", warn: "warn", bad: "bad", note: "note", none: "note" };

export function Verdict(props: { view: View; up: boolean }): JSX.Element {
  const call = (): CallWithLadder => props.view.call();
  const weight = (): ReturnType<typeof weightOf> => weightOf(call());
  return (
    <section class={`verdict ${weight()}`} aria-label="Verdict">
      <Icon name={SIGNS[weight()]!} size={28} />
      <div>
        <p class="verdict-text">{props.up && !call().verdict ? "The call is in progress; nothing wrong so far." : (call().verdict ?? withoutVerdict(call()))}</p>
        <Checks call={call()} />
        <p class="row">
          <Show when={call().verdict_kind}>
            <A class={`tag ${weight()}`} href={callsLike(call(), `verdict:${call().verdict_kind}`)} title="Calls with the same verdict, from a day before to a day after">
              {call().verdict_kind}
            </A>
          </Show>
          <Show when={call().verdict_packets.length > 0}>
            <span class="muted">Evidence: packet{call().verdict_packets.length > 1 ? "s" : ""}</span>
            <For each={call().verdict_packets}>{(packet) => <Evidence view={props.view} packet={packet} />}</For>
          </Show>
        </p>
      </div>
    </section>
  );
}

/** What was checked and what could not be: silence promises nothing. */
function Checks(props: { call: CallWithLadder }): JSX.Element {
  const line = (name: string, phrases: string[], strong = false): JSX.Element => (
    <Show when={phrases.length > 0}>
      <div>
        <dt>{name}</dt>
        <dd classList={{ thin: strong }}>{phrases.join("; ")}</dd>
      </div>
    </Show>
  );
  return (
    <dl class="verdict-checks">
      {line("Thin evidence", props.call.thin_evidence, true)}
      {line("Checked", props.call.checked)}
      {line("Not checked", props.call.not_checked)}
    </dl>
  );
}

/** A packet that shows it: a message of the ladder, or one of a stream. */
function Evidence(props: { view: View; packet: number }): JSX.Element {
  const index = (): number | undefined => props.view.ofPacket(props.packet);
  const open = (): void => {
    props.view.choose(index());
    props.view.setOpen(true);
  };
  return (
    <Show when={index() !== undefined} fallback={<OfStream view={props.view} packet={props.packet} />}>
      <a
        class="num"
        href={`#m${index()! + 1}`}
        title="Show it in the ladder"
        onClick={(event) => {
          event.preventDefault();
          open();
        }}
      >
        {props.packet}
      </a>
    </Show>
  );
}

/** A packet of a stream: its first and last are known by their numbers. */
function OfStream(props: { view: View; packet: number }): JSX.Element {
  const found = (): { text: string; at: string } | undefined => {
    for (const [index, stream] of props.view.call().streams.entries()) {
      if (stream.packet_first === props.packet) return { text: `first of stream ${index + 1}`, at: stream.first };
      if (stream.packet_last === props.packet) return { text: `last of stream ${index + 1}`, at: stream.last };
    }
    return undefined;
  };
  return (
    <Show when={found()} fallback={<span class="num">{props.packet}</span>}>
      {(known) => (
        <button type="button" class="link num" onClick={() => props.view.showAt(ms(known().at))} title="Show this time in the ladder">
          {props.packet} ({known().text})
        </button>
      )}
    </Show>
  );
}

export function Facts(props: { view: View; up: boolean }): JSX.Element {
  const call = (): CallWithLadder => props.view.call();
  return (
    <dl class="facts">
      <Party name="From" number={call().from} uri={call().from_uri} endpoint={call().src} call={call()} />
      <Party name="To" number={call().to} uri={call().to_uri} endpoint={call().dst} call={call()} />
      <For each={call().numbers}>{(other) => <Other other={other} call={call()} />}</For>
      <Fact name="Start">
        <Time at={call().start} />
        <Show when={props.up}>
          <Tag meaning="good">in progress</Tag>
        </Show>
      </Fact>
      <Fact name="Duration">{duration(call().duration_ms)}</Fact>
      <Fact name="Ended">
        <StateTag state={call().state} />
        <span>
          {call().code ?? ""} {call().reason ?? ""}
        </span>
      </Fact>
      <Fact name="Hang-up">{hangupText(call())}</Fact>
      <Fact name="Post-dial delay">{duration(call().pdd_ms)}</Fact>
      <Fact name="Setup">{duration(call().setup_ms)}</Fact>
      <Fact name="MOS">
        <Mos value={call().mos} range={call().mos_range} />
        <span class="muted">{whyScore(call())}</span>
      </Fact>
      <Fact name="User agent">
        <span class="agent" title={call().user_agent ?? undefined}>
          {call().user_agent ?? "–"}
        </span>
      </Fact>
      <div class="fact call-id">
        <dt>Call-ID</dt>
        <dd>
          <code class="clip" title={call().sip_call_id}>
            {call().sip_call_id}
          </code>
          <CopyButton quiet text={() => call().sip_call_id} what="Copy the Call-ID" />
        </dd>
      </div>
    </dl>
  );
}

/** Why there is no score, or a range. */
function whyScore(call: CallWithLadder): string {
  if (call.mos_range) return `depends on what our capture lost${call.capture.note ? `: ${call.capture.note.split("; ")[0]}` : ""}`;
  if (call.mos !== null) return call.streams.length > 1 ? "of the worst stream" : "";
  return call.streams.length === 0 ? "no media was captured" : "no MOS for this codec, or too few packets were captured";
}

function Fact(props: { name: string; children: JSX.Element }): JSX.Element {
  return (
    <div class="fact">
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}

interface PartyProps {
  name: string;
  number: string;
  uri: string;
  endpoint: string | null;
  call: CallWithLadder;
}

function Party(props: PartyProps): JSX.Element {
  return (
    <div class="fact party">
      <dt>{props.name}</dt>
      <dd>
        <A href={callsLike(props.call, `number:${quoted(props.number)}`)} class="number num" title={`${props.uri}\nShow calls of this number`}>
          {props.number || "anonymous"}
        </A>
        <Show when={props.endpoint}>
          {(endpoint) => (
            <A class="muted" href={callsLike(props.call, `ip:${addressOf(endpoint())}`)} title="Show calls of this host">
              <Show when={aliasOf(endpoint())}>{(alias) => <b>{alias()} </b>}</Show>
              <span class="num">{endpoint()}</span>
            </A>
          )}
        </Show>
      </dd>
    </div>
  );
}

/** A number beside those of From and To, with the header field as it was sent. */
function Other(props: { other: OtherNumber; call: CallWithLadder }): JSX.Element {
  return (
    <div class="fact party">
      <dt>{ROLES[props.other.role]}</dt>
      <dd>
        <A href={callsLike(props.call, `number:${quoted(props.other.number)}`)} class="number num" title={`${props.other.sent}\nShow calls of this number`}>
          {props.other.number}
        </A>
        <span class="muted clip" title={props.other.sent}>
          {props.other.sent}
        </span>
      </dd>
    </div>
  );
}

export function Actions(props: { view: View }): JSX.Element {
  const call = (): CallWithLadder => props.view.call();
  const text = (): string => ticket(call(), { link: location.href, alias: aliasOf });
  return (
    <>
      <Show
        when={may("packets.download")}
        fallback={
          <button class="button" disabled title="Your role may not download packets: ask for the role support">
            <Icon name="download" /> pcap
          </button>
        }
      >
        <a class="button" href={url(`/calls/${encodeURIComponent(call().id)}/pcap`)} download={`call-${call().id}.pcapng`} title="Download SIP, RTP and RTCP packets as pcapng">
          <Icon name="download" /> pcap
        </a>
      </Show>
      <CopyButton text={text} what="Copy verdict, times, addresses and figures as text for a ticket">
        <span>
          <span class="wide-only">Copy for a </span>ticket
        </span>
      </CopyButton>
      <ShareButton title={`Call ${call().from} to ${call().to}`}>
        <span>
          <span class="wide-only">Copy </span>link
        </span>
      </ShareButton>
    </>
  );
}
