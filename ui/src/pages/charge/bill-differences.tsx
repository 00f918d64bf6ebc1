// The differences of a comparison, by the page: chosen by kind, sorted by time or money, each with its call and packets.

import { A, useSearchParams } from "@solidjs/router";
import { For, Show, type JSX } from "solid-js";
import { url } from "../../api/client";
import type { ChargeCompared, ChargeComparison, ChargeDifference, ChargeDifferencesPage } from "../../api/types";
import { duration, of, whole } from "../../format";
import { Icon } from "../../parts/icon";
import { Tag } from "../../parts/meaning";
import { useRowKeys } from "../../parts/row-keys";
import { Loading, Trouble } from "../../parts/states";
import { Time } from "../../parts/time";
import { may } from "../../session";
import { ms, rfc3339 } from "../../time";
import { coinOf, kindName, kindWhat, micros, otherNumber, parties, sessionPath, sumsOf, whyText } from "./bill-words";
import { Files, More, Sorted, useRows, type Asked } from "./rows";
import type { Coin } from "./words";

/** How far around a line without a call one looks for calls, milliseconds. */
const AROUND_MS = 10 * 60_000;

export function Differences(props: { one: ChargeComparison; compared: ChargeCompared }): JSX.Element {
  const [search, setSearch] = useSearchParams<{ kind?: string; sure?: string; order?: string }>();
  const path = (): string => `/charge/comparisons/${props.one.id}/differences`;
  const sums = sumsOf(props.compared);
  // Where nothing is certain, what is undecided is what there is.
  const sure = (): string => search.sure ?? (sums.count > 0 ? "true" : "false");
  const asked = (): Asked => ({ kind: search.kind, sure: sure(), order: search.order });
  const found = useRows<ChargeDifferencesPage, ChargeDifference>(path, asked, (page) => page.differences);
  useRowKeys("differences");
  const there = (): string[] => props.compared.kinds.filter((kind) => (sure() === "true" ? kind.count : kind.unsure) > 0).map((kind) => kind.kind);
  const show = (next: string): void => setSearch({ sure: next === "true" ? undefined : next, kind: undefined });
  const isUnsure = (): boolean => sure() === "false";
  return (
    <section class="panel" aria-label="Differences">
      <header>
        <div class="row" role="group" aria-label="View">
          <button class="button" aria-pressed={!isUnsure()} disabled={sums.count === 0} onClick={() => show("true")}>
            Differences
          </button>
          <button class="button" aria-pressed={isUnsure()} disabled={sums.unsure === 0} onClick={() => show("false")}>
            Undecided
          </button>
        </div>
        <select class="input" aria-label="Kind" value={search.kind ?? ""} onChange={(event) => setSearch({ kind: event.currentTarget.value || undefined })}>
          <option value="">all kinds</option>
          <For each={there()}>{(kind) => <option value={kind} selected={kind === search.kind}>{kindName(kind)}</option>}</For>
        </select>
        <span class="muted" role="status">
          {found.page() ? of(found.page()!.total, "row", "rows") : ""}
        </span>
        <Files path={path()} asked={asked()} name="differences" />
      </header>
      <Show when={props.one.cut}>
        <p class="body warn-ink">Only the first {whole(props.one.listed)} are listed; the sums above include all. Choose a shorter time to list all.</p>
      </Show>
      <Show when={!found.error()} fallback={<Trouble error={found.error()} retry={() => void found.load()} />}>
        <Show when={found.rows().length > 0} fallback={<Show when={!found.busy()} fallback={<Loading what="differences" />}><p class="body muted">None of this kind. Choose another kind above.</p></Show>}>
          <div class="scroll" tabindex="0" role="group" aria-label="Table of differences" aria-busy={found.busy()}>
            <table class="table">
              <thead>
                <tr>
                  <th scope="col">Difference</th>
                  <Sorted name="When" orders={["oldest", "newest"]} order={search.order ?? "oldest"} sort={(order) => setSearch({ order: order === "oldest" ? undefined : order })} />
                  <th scope="col">Parties</th>
                  <th scope="col" class="right">
                    Captured
                  </th>
                  <th scope="col" class="right">
                    Charged
                  </th>
                  <Sorted right name="In dispute" orders={["most", "least"]} order={search.order ?? "oldest"} sort={(order) => setSearch({ order })} />
                  <th scope="col">Line</th>
                  <th scope="col">
                    <span class="sr">Packets</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                <For each={found.rows()}>{(row) => <Row row={row} coin={coinOf(props.compared)} />}</For>
              </tbody>
            </table>
          </div>
          <More of={found} name="differences" />
        </Show>
      </Show>
    </section>
  );
}

function Row(props: { row: ChargeDifference; coin: Coin }): JSX.Element {
  const r = (): ChargeDifference => props.row;
  const who = (): { caller: string; called: string } => parties(r());
  return (
    <tr>
      <td>
        <Tag meaning={r().sure ? "warn" : "none"} title={kindWhat(r().kind)}>
          {kindName(r().kind)}
        </Tag>
        <Show when={r().why}>
          <div class="muted charge-small charge-why">{whyText(r().why)}</div>
        </Show>
      </td>
      <td>
        <Time at={r().at} shape="short" />
      </td>
      <td class="num">
        <A data-row-link href={linkOf(r())} title={r().call ? "Open the call" : pathOf(r()) ? "Open the session" : "Open the calls around that time"}>
          {who().caller} → {who().called}
        </A>
        <Show when={otherNumber(r())}>{(other) => <div class="muted charge-small">charged: {other()}</div>}</Show>
      </td>
      <td class="right num nowrap">{r().call ? duration(r().call!.duration_ms) : "no call"}</td>
      <td class="right num nowrap">
        {r().line ? duration(r().line!.duration_ms) : "no line"}
        <Show when={r().line?.amount_micros !== null && r().line}>
          <div class="muted charge-small">{micros(r().line!.amount_micros, props.coin)}</div>
        </Show>
      </td>
      <td class="right num nowrap">
        {micros(r().dispute_micros, props.coin)}
        <Show when={r().price_micros !== null}>
          <div class="muted charge-small">by the plan {micros(r().price_micros, props.coin)}</div>
        </Show>
      </td>
      <td class="charge-line">
        <Line row={r()} />
      </td>
      <td class="right">
        <Show when={r().call && may("packets.download")}>
          <a class="button icon quiet" href={url(`/calls/${r().call!.id}/pcap`)} download={`call-${r().call!.id}.pcapng`} aria-label="Packets of the call" title="Download the packets of the call as pcapng">
            <Icon name="download" />
          </a>
        </Show>
      </td>
    </tr>
  );
}

/** The line of the bill, or the session; of one that is there twice the other one, too. */
function Line(props: { row: ChargeDifference }): JSX.Element {
  const session = (): string | null | undefined => props.row.line?.session;
  return (
    <Show when={props.row.line} fallback={<span class="muted">–</span>}>
      <Show when={session()} fallback={<span class="num">{whole(props.row.line!.line)}</span>}>
        <Show when={pathOf(props.row)} fallback={<span class="mono charge-small">{session()}</span>}>
          {(path) => (
            <A class="mono charge-small" href={path()}>
              {session()}
            </A>
          )}
        </Show>
      </Show>
      <Show when={props.row.other}>
        {(other) => (
          <div class="muted charge-small">
            as {other().session ?? `line ${whole(other().line)}`}, <Time at={other().begin} shape="clock" />
          </div>
        )}
      </Show>
    </Show>
  );
}

/** The page of its session. */
const pathOf = (row: ChargeDifference): string | undefined => sessionPath(row.line?.session, may("numbers.read"));

/** The call; of a line without one its session, or the calls of that time. */
function linkOf(row: ChargeDifference): string {
  if (row.call) return `/calls/${row.call.id}`;
  const session = pathOf(row);
  if (session) return session;
  const at = ms(row.at);
  const range = new URLSearchParams({ from: rfc3339(at - AROUND_MS), to: rfc3339(at + AROUND_MS) });
  return `/calls?${range.toString()}`;
}
