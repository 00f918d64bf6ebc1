// Open sessions of charging, by the page.

import { A, useSearchParams } from "@solidjs/router";
import { createEffect, createSignal, For, on, Show, type JSX } from "solid-js";
import { get } from "../api/client";
import { Problem } from "../api/problem";
import type { ChargeSession, ChargeSessionsPage } from "../api/types";
import { Head } from "../parts/head";
import { Tag } from "../parts/meaning";
import { useRowKeys } from "../parts/row-keys";
import { Empty, Loading, Trouble } from "../parts/states";
import { Time } from "../parts/time";
import { may } from "../session";
import { ChargeNav, NoNode } from "./charge/nav";
import { serviceText, units } from "./charge/words";

const PAGE = 100;

export default function ChargeSessions(): JSX.Element {
  const [search, setSearch] = useSearchParams<{ q?: string; account?: string; origin?: string; state?: string }>();
  const [rows, setRows] = createSignal<ChargeSession[]>([]);
  const [next, setNext] = createSignal<string | null>(null);
  const [busy, setBusy] = createSignal(true);
  const [stopped, setStopped] = createSignal(false);
  const [error, setError] = createSignal<unknown>();
  const asked = (): Record<string, string | undefined> => ({ q: search.q, account: search.account, origin: search.origin, state: search.state });
  const load = async (cursor?: string | null): Promise<void> => {
    const query = JSON.stringify(asked());
    setBusy(true);
    try {
      const page = await get<ChargeSessionsPage>("/charge/sessions", { ...asked(), limit: PAGE, cursor });
      // What was asked for meanwhile is another list.
      if (query !== JSON.stringify(asked())) return;
      setRows((before) => (cursor ? [...before, ...page.sessions] : page.sessions));
      setNext(page.next);
      setStopped(page.stopped);
      setError(undefined);
    } catch (problem) {
      setError(() => problem);
    }
    setBusy(false);
  };
  createEffect(on(() => JSON.stringify(asked()), () => void load()));
  useRowKeys("sessions");
  const filtered = (): boolean => Object.values(asked()).some(Boolean);
  const nobody = (): boolean => error() instanceof Problem && (error() as Problem).kind === "not-found";
  const field = (name: "q" | "account" | "origin", label: string, placeholder: string): JSX.Element => (
    <input class="input" size={name === "q" ? 28 : 20} type="search" aria-label={label} placeholder={placeholder} value={search[name] ?? ""} onChange={(event) => setSearch({ [name]: event.currentTarget.value.trim() || undefined })} />
  );
  return (
    <>
      <Head title="Sessions">
        <button class="button" onClick={() => void load()} disabled={busy()}>
          Refresh
        </button>
      </Head>
      <ChargeNav />
      <div class="charge">
        <div class="row charge-ask">
          <Show when={may("numbers.read")}>{field("q", "Session-Id or access point", "Session-Id or access point")}</Show>
          {field("account", "Account", "account")}
          {field("origin", "Client", "client (Origin-Host)")}
          <select class="input" aria-label="State" value={search.state ?? ""} onChange={(event) => setSearch({ state: event.currentTarget.value || undefined })}>
            <option value="">all open</option>
            <option value="open">active</option>
            <option value="ending">ending</option>
          </select>
        </div>
        <Show when={!nobody()} fallback={<NoNode />}>
          <Show when={!error()} fallback={<Trouble error={error()} retry={() => void load()} />}>
            <Show when={rows().length > 0} fallback={<Show when={!busy()} fallback={<Loading what="sessions" />}><Nothing filtered={filtered()} stopped={stopped()} /></Show>}>
              <section class="panel" aria-label="Open sessions">
                <div class="scroll" tabindex="0" role="group" aria-label="Table of sessions">
                  <table class="table">
                    <thead>
                      <tr>
                        <th scope="col">Session</th>
                        <th scope="col">Account</th>
                        <th scope="col">Client</th>
                        <th scope="col">Location</th>
                        <th scope="col">Granted</th>
                        <th scope="col">Expires at</th>
                      </tr>
                    </thead>
                    <tbody>
                      <For each={rows()}>{(row) => <Row row={row} />}</For>
                    </tbody>
                  </table>
                </div>
              </section>
            </Show>
            <Show when={next()}>
              <p class="row">
                <button class="button" disabled={busy()} onClick={() => void load(next())}>
                  More sessions
                </button>
                <Show when={stopped()}>
                  <span class="muted">The search stopped after one second; More continues it.</span>
                </Show>
              </p>
            </Show>
          </Show>
        </Show>
      </div>
    </>
  );
}

function Row(props: { row: ChargeSession }): JSX.Element {
  const row = (): ChargeSession => props.row;
  return (
    <tr>
      <td class="mono charge-id">
        <A data-row-link href={`/charge/sessions/${encodeURIComponent(row().key)}`}>
          {row().session}
        </A>
        <Show when={row().aborting}>
          {" "}
          <Tag meaning="warn">ending</Tag>
        </Show>
      </td>
      <td class="num">
        <A href={`/charge/accounts/${row().account}`}>{row().account}</A>
      </td>
      <td class="charge-id">{row().origin}</td>
      <td class="charge-id">{[row().apn, row().network, row().destination].filter(Boolean).join(", ") || "–"}</td>
      <td>
        <For each={row().services} fallback={<span class="muted">none yet</span>}>
          {(service) => (
            <div class="nowrap" title={serviceText(service.rating_group, service.service)}>
              <span class="muted">{service.rating_group ?? "–"}:</span> <span class="num">{service.granted ? units(service.granted.units, service.granted.unit) : "nothing"}</span>
            </div>
          )}
        </For>
      </td>
      <td>
        <Time at={row().deadline} shape="short" />
      </td>
    </tr>
  );
}

function Nothing(props: { filtered: boolean; stopped: boolean }): JSX.Element {
  return (
    <Empty icon="charge" title={props.filtered ? "No open sessions match" : "No open sessions"}>
      <p>
        {props.filtered
          ? props.stopped
            ? "No match among the sessions searched in one second."
            : "Ended sessions are in the ledger of their account."
          : "A session starts when a client requests one (CCR-I). `trunkline charge load` simulates clients."}
      </p>
    </Empty>
  );
}
