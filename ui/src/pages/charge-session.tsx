// One session of charging: what it may use now, and what happened, out of the ledger.

import { A, useParams } from "@solidjs/router";
import { createEffect, createMemo, createResource, createSignal, For, Match, on, Show, Switch, type JSX } from "solid-js";
import { get, post } from "../api/client";
import { Problem } from "../api/problem";
import type { ChargeAccount, ChargeEvent, ChargeSession as Session, ChargeTimeline } from "../api/types";
import { Confirm } from "../parts/dialog";
import { Head } from "../parts/head";
import { known } from "../parts/known";
import { Tag } from "../parts/meaning";
import { Empty, Loading, Trouble } from "../parts/states";
import { Time } from "../parts/time";
import { toast, toastError } from "../parts/toast";
import { unescaped } from "../parts/unescaped";
import { may } from "../session";
import { ChargeNav } from "./charge/nav";
import { money, resultText, serviceText, units, type Coin } from "./charge/words";

/** A Session-Id has semicolons, the key of an open session has none. */
const isId = (key: string): boolean => key.includes(";");

export default function ChargeSessionPage(): JSX.Element {
  const params = useParams<{ key: string }>();
  const key = createMemo(() => unescaped(params.key));
  const [session, sessionAgain] = createResource(
    () => (isId(key()) ? undefined : key()),
    (key) => get<Session>(`/charge/sessions/${encodeURIComponent(key)}`),
  );
  const [account] = createResource(
    () => known(session)?.account,
    (number) => get<ChargeAccount>(`/charge/accounts/${number}`),
  );
  const [aborting, setAborting] = createSignal(false);
  const coin = (): Coin => known(account) ?? { currency: null, decimals: null };
  const gone = (): boolean => session.error instanceof Problem && session.error.kind === "not-found";
  const name = (): string => known(session)?.session ?? key();
  return (
    <>
      <Head title="Session" about={<span class="mono muted charge-id">{name()}</span>}>
        <Show when={known(session)}>
          <button class="button" onClick={() => void sessionAgain.refetch()}>
            Refresh
          </button>
          <Show when={may("charge.operate") && !known(session)?.aborting}>
            <button class="button danger" onClick={() => setAborting(true)}>
              End the session
            </button>
          </Show>
        </Show>
      </Head>
      <ChargeNav />
      <div class="charge">
        <Switch>
          <Match when={gone()}>
            <Empty icon="charge" title="Session not found">
              <p>
                The session has ended. Its history is in the ledger of its account; a link with the Session-Id also shows ended sessions. <A href="/charge/sessions">Open sessions</A>.
              </p>
            </Empty>
          </Match>
          <Match when={session.error}>
            <Trouble error={session.error} retry={() => void sessionAgain.refetch()} />
          </Match>
          <Match when={session.loading && !known(session)}>
            <Loading what="the session" />
          </Match>
          <Match when={true}>
            <Show when={known(session)}>{(session) => <Now session={session()} coin={coin()} />}</Show>
            <Timeline asked={isId(key()) ? { session: key() } : { key: key() }} look={known(session)} coin={coin()} />
          </Match>
        </Switch>
      </div>
      <Show when={aborting()}>
        <Confirm
          title="End the session?"
          text="The node grants no more units and asks the client to end the session (ASR). Usage that the client still reports is charged. This cannot be undone."
          action="End the session"
          close={() => setAborting(false)}
          run={async () => {
            await post(`/charge/sessions/${encodeURIComponent(key())}/abort`, {});
            toast("The node asked the client to end the session.");
            void sessionAgain.refetch();
          }}
        />
      </Show>
    </>
  );
}

function Now(props: { session: Session; coin: Coin }): JSX.Element {
  const s = (): Session => props.session;
  return (
    <section class="panel" aria-label="Now">
      <header>
        <h2>Now</h2>
        <Show when={s().aborting}>
          <Tag meaning="warn">ending</Tag>
        </Show>
        <Show when={s().asked}>
          <Tag meaning="note">re-authorization requested</Tag>
        </Show>
      </header>
      <dl class="charge-facts body">
        <div>
          <dt>Account</dt>
          <dd>
            <A href={`/charge/accounts/${s().account}`}>{s().account}</A>
          </dd>
        </div>
        <div>
          <dt>Subscriber</dt>
          <dd>{s().subscriber}</dd>
        </div>
        <div>
          <dt>Client</dt>
          <dd>{s().origin}</dd>
        </div>
        <div>
          <dt>Location</dt>
          <dd>{[s().apn, s().network, s().destination].filter(Boolean).join(", ") || "–"}</dd>
        </div>
        <div>
          <dt>Last request</dt>
          <dd>{s().number}</dd>
        </div>
        <div>
          <dt>Expires at</dt>
          <dd>
            <Time at={s().deadline} />
          </dd>
        </div>
      </dl>
      <div class="scroll" tabindex="0" role="group" aria-label="Table of services">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Service</th>
              <th scope="col" class="right">
                Granted
              </th>
              <th scope="col" class="right">
                Reserved
              </th>
              <th scope="col">Since</th>
              <th scope="col">Until</th>
            </tr>
          </thead>
          <tbody>
            <For each={s().services} fallback={<tr><td colspan={5} class="muted">No services yet.</td></tr>}>
              {(service) => (
                <tr>
                  <td>
                    {serviceText(service.rating_group, service.service)} {service.granted?.last ? <Tag meaning="warn">final units</Tag> : null}
                  </td>
                  <td class="right nowrap num">{service.granted ? units(service.granted.units, service.granted.unit) : "nothing"}</td>
                  <td class="right nowrap num">{money(service.granted?.money, props.coin)}</td>
                  <td>
                    <Time at={service.granted?.since} shape="short" />
                  </td>
                  <td>
                    <Time at={service.granted?.until} shape="short" />
                  </td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Timeline(props: { asked: { key: string } | { session: string }; look: Session | undefined; coin: Coin }): JSX.Element {
  const [events, setEvents] = createSignal<ChargeEvent[]>([]);
  const [next, setNext] = createSignal<string | null>(null);
  const [error, setError] = createSignal<unknown>();
  const [busy, setBusy] = createSignal(true);
  const load = async (cursor?: string | null): Promise<void> => {
    setBusy(true);
    try {
      const part = await get<ChargeTimeline>("/charge/timeline", { ...props.asked, cursor });
      setEvents((before) => (cursor ? [...before, ...part.events] : part.events));
      setNext(part.next);
      setError(undefined);
    } catch (problem) {
      if (cursor) toastError(problem);
      else setError(() => problem);
    }
    setBusy(false);
  };
  createEffect(on(() => [JSON.stringify(props.asked), props.look?.number], () => void load()));
  /** What was debited until then. */
  const spent = createMemo(() => {
    let sum = 0;
    return events().map((event) => (sum += event.kind === "charged" ? (event.money ?? 0) : 0));
  });
  return (
    <section class="panel" aria-label="Timeline">
      <header>
        <h2>Timeline</h2>
        <span class="muted">from the ledger, oldest first</span>
      </header>
      <Show
        when={events().length > 0}
        fallback={
          <div class="body">
            <Switch fallback={<Loading what="the ledger" />}>
              <Match when={error()}>
                <p class="muted">{error() instanceof Error ? (error() as Error).message : "The ledger could not be read."}</p>
              </Match>
              <Match when={!busy()}>
                <p class="muted">The newest part of the ledger has no entries of this session.</p>
              </Match>
            </Switch>
          </div>
        }
      >
        <div class="scroll" tabindex="0" role="group" aria-label="Timeline table">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">Event</th>
                <th scope="col">Service</th>
                <th scope="col" class="right">
                  Units
                </th>
                <th scope="col" class="right">
                  Money
                </th>
                <th scope="col" class="right">
                  Total debited
                </th>
                <th scope="col" class="right">
                  Entry
                </th>
              </tr>
            </thead>
            <tbody>
              <For each={events()}>
                {(event, at) => (
                  <tr>
                    <td>
                      <Time at={event.at} shape="short" />
                    </td>
                    <td>
                      <What event={event} coin={props.coin} />
                    </td>
                    <td class="muted">{event.kind === "charged" || event.kind === "granted" ? serviceText(event.rating_group, event.service) : ""}</td>
                    <td class="right nowrap num">{event.units === null ? "" : units(event.units, event.unit)}</td>
                    <td class="right nowrap num">{event.money === null ? "" : money(event.kind === "charged" ? -event.money : event.money, props.coin)}</td>
                    <td class="right nowrap num">{event.kind === "charged" ? money(spent()[at()], props.coin) : ""}</td>
                    <td class="right num muted">{event.sequence}</td>
                  </tr>
                )}
              </For>
            </tbody>
          </table>
        </div>
        <Show when={next()}>
          <div class="body">
            <button class="button" disabled={busy()} onClick={() => void load(next())}>
              Later events
            </button>
          </div>
        </Show>
      </Show>
    </section>
  );
}

const ENDS: Record<string, string> = { terminated: "ended by the client", event: "one-time event", supervision: "no request in time" };

/** Where a session is, and whom it calls. */
function Place(props: { event: ChargeEvent }): JSX.Element {
  const parts = (): string[] => [props.event.place, props.event.called].filter((part) => part !== null);
  return <span class="muted">{parts().join(", ")}</span>;
}

function What(props: { event: ChargeEvent; coin: Coin }): JSX.Element {
  const e = (): ChargeEvent => props.event;
  return (
    <Switch fallback={e().kind}>
      <Match when={e().kind === "opened"}>
        <b>Started</b> <Place event={e()} />
      </Match>
      <Match when={e().kind === "moved"}>
        Moved to <Place event={e()} />
      </Match>
      <Match when={e().kind === "charged"}>
        Used
        <Show when={(e().short ?? 0) > 0}>
          {" "}
          <Tag meaning="bad">{money(e().short, props.coin)} not covered</Tag>
        </Show>
      </Match>
      <Match when={e().kind === "granted"}>
        Granted{" "}
        <span class="muted">
          until <Time at={e().until} shape="clock" />
        </span>{" "}
        <Show when={e().last}>
          <Tag meaning="warn">final units</Tag>
        </Show>
      </Match>
      <Match when={e().kind === "answered"}>
        Request {e().number} answered <Tag meaning={e().result === 2001 ? "good" : "warn"}>{resultText(e().result)}</Tag>
      </Match>
      <Match when={e().kind === "aborting"}>
        <Tag meaning="warn">ending</Tag> by an operator
      </Match>
      <Match when={e().kind === "closed"}>
        <b>Ended</b> <span class="muted">{ENDS[e().cause ?? ""] ?? e().cause}</span>
      </Match>
      <Match when={e().kind === "forgotten"}>
        <span class="muted">Stored answers removed</span>
      </Match>
    </Switch>
  );
}
