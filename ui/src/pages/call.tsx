// One call: what was wrong, why we think so, and everything it rests on.

import { A, useLocation, useNavigate, useParams } from "@solidjs/router";
import { createEffect, createMemo, createResource, createSignal, Match, on, onCleanup, Show, Switch, type JSX } from "solid-js";
import { get } from "../api/client";
import { Problem } from "../api/problem";
import type { CallIntervals, CallUp, CallWithLadder, StreamIntervals } from "../api/types";
import { callsUp, useLive } from "../live";
import { Head } from "../parts/head";
import { Icon } from "../parts/icon";
import { useKeys } from "../parts/keys";
import { Loading, Trouble } from "../parts/states";
import { unescaped } from "../parts/unescaped";
import { neighbours, type Neighbours } from "../trail";
import { Absent, Several, StillUp } from "./call/absent";
import { Capture } from "./call/capture";
import { Charged } from "./call/charged";
import { columnsOf } from "./call/columns";
import { Files } from "./call/files";
import { Ladder, nameOfColumn } from "./call/ladder";
import { MessagePanel } from "./call/message";
import { OnWay } from "./call/on-way";
import { Plots, useEscape } from "./call/plots";
import { Streams } from "./call/streams";
import { Actions, Facts, Verdict } from "./call/summary";
import { createView } from "./call/view";
import "./call/call.css";

/** Milliseconds after which a call that is up, or just was, is asked for again. */
const AGAIN_MS = 3000;

export default function CallPage(): JSX.Element {
  useLive();
  const asked = useParams<{ id: string }>();
  // A Call-ID may hold a / and comes escaped; the router leaves it so.
  const id = createMemo(() => unescaped(asked.id));
  const navigate = useNavigate();
  const place = useLocation();
  const [call, setCall] = createSignal<CallWithLadder | undefined>();
  const [failed, setFailed] = createSignal<unknown>();
  const load = async (name: string): Promise<void> => {
    try {
      const found = await get<CallWithLadder>(`/calls/${encodeURIComponent(name)}`);
      if (name !== id()) return;
      setFailed(undefined);
      setCall(found);
      // However one came here, the address is the one to send.
      if (found.id !== name) navigate(`/calls/${found.id}${place.search}${place.hash}`, { replace: true, scroll: false });
    } catch (error) {
      if (name === id()) setFailed(() => error);
    }
  };
  createEffect(
    on(id, (name) => {
      if (call()?.id === name) return;
      setWasUp(undefined);
      setCall(undefined);
      setFailed(undefined);
      void load(name);
    }),
  );
  const up = createMemo((): CallUp | undefined => callsUp().up.find((one) => one.id === (call()?.id ?? id()) || one.sip_call_id === id()));
  // When it goes from the feed it is over: its row comes to the store a little later.
  const [wasUp, setWasUp] = createSignal<CallUp | undefined>();
  createEffect(() => {
    const now = up();
    if (now) setWasUp(now);
  });
  const timer = setInterval(() => {
    if (up() || (wasUp() && !call())) void load(id());
  }, AGAIN_MS);
  onCleanup(() => clearInterval(timer));
  const kind = (): string => (failed() instanceof Problem ? (failed() as Problem).kind : "");
  return (
    <Switch fallback={<Loading what="the call" />}>
      <Match when={call()}>{(found) => <Shown call={found()} up={up() !== undefined} />}</Match>
      <Match when={kind() === "not-found" && (up() ?? wasUp())}>
        {(known) => (
          <>
            <Head title="Call" />
            <StillUp call={known()} listed={up() !== undefined} />
          </>
        )}
      </Match>
      <Match when={kind() === "not-found"}>
        <Head title="Call" />
        <Absent id={id()} />
      </Match>
      <Match when={kind() === "ambiguous"}>
        <Head title="Call" />
        <Several problem={failed() as Problem} id={id()} />
      </Match>
      <Match when={failed()}>
        <Head title="Call" />
        <Trouble error={failed()} retry={() => void load(id())} />
      </Match>
    </Switch>
  );
}

function Shown(props: { call: CallWithLadder; up: boolean }): JSX.Element {
  const view = createView(() => props.call);
  useEscape(() => view);
  const [intervals] = createResource(
    // Anew when the call went on.
    () => (props.call.streams.length > 0 ? `${props.call.id} ${props.call.last}` : undefined),
    (key) => get<CallIntervals>(`/calls/${encodeURIComponent(key.split(" ")[0]!)}/intervals`),
  );
  const isThere = (): boolean => intervals.state === "ready" || intervals.state === "refreshing";
  const known = createMemo((): StreamIntervals[] => (isThere() ? (intervals.latest?.streams ?? []) : []));
  const columns = createMemo(() => columnsOf(props.call.ladder, props.call.streams));
  const nameOfHost = (host: number): string => nameOfColumn(columns().columns[columns().ofHost[host] ?? 0]);
  const reading = (): boolean => view.open() && view.chosen() !== undefined;
  return (
    <div class="call">
      <Head title={`${props.call.from || "anonymous"} → ${props.call.to || "anonymous"}`}>
        <Beside id={props.call.id} />
        <Actions view={view} />
      </Head>
      <Verdict view={view} up={props.up} />
      <Facts view={view} up={props.up} />
      <div class="call-middle" classList={{ alone: props.call.streams.length === 0 && !reading() }}>
        <Ladder view={view} intervals={known()} />
        <div class="call-side" classList={{ sheet: reading() }}>
          <Show when={reading()}>
            <MessagePanel view={view} nameOfHost={nameOfHost} />
          </Show>
          <Show when={!reading() && props.call.streams.length > 0}>
            <Switch>
              <Match when={intervals.error}>
                <Trouble error={intervals.error} />
              </Match>
              <Match when={isThere()}>
                <Plots view={view} intervals={known()} />
              </Match>
              <Match when={true}>
                <Loading what="the streams' figures" />
              </Match>
            </Switch>
          </Show>
        </div>
      </div>
      <Streams streams={props.call.streams} shared={props.call.shared_streams} />
      <OnWay view={view} />
      <div class="call-foot">
        <Capture call={props.call} />
        <Charged call={props.call} />
        <Files call={props.call} />
      </div>
    </div>
  );
}

/** The calls beside it in the list one came from. */
function Beside(props: { id: string }): JSX.Element {
  const navigate = useNavigate();
  const found = createMemo((): Neighbours | undefined => neighbours(props.id));
  const go = (id: string | undefined): void => void (id && navigate(`/calls/${id}`));
  useKeys([
    { keys: "[", what: "Previous call of the list", run: () => go(found()?.previous) },
    { keys: "]", what: "Next call of the list", run: () => go(found()?.next) },
    { keys: "u", what: "Back to the list", run: () => navigate(found()?.back ?? "/calls") },
  ]);
  return (
    <Show when={found()}>
      {(list) => (
        <div class="row call-beside">
          <A class="button quiet" href={list().back} title="Back to the list (u)">
            <Icon name="calls" /> {list().position} of {list().total}
          </A>
          <button class="button icon" disabled={!list().previous} onClick={() => go(list().previous)} aria-label="Previous call" title="Previous call ([)">
            <Icon name="left" />
          </button>
          <button class="button icon" disabled={!list().next} onClick={() => go(list().next)} aria-label="Next call" title="Next call (])">
            <Icon name="right" />
          </button>
        </div>
      )}
    </Show>
  );
}
