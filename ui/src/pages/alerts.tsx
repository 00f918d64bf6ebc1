// Alerts that are open: the worst and newest first, who takes care of each, and what can be done about it.

import { A, useSearchParams } from "@solidjs/router";
import { createMemo, createResource, createSignal, For, Match, Show, Switch, type JSX } from "solid-js";
import { get, post, type Query } from "../api/client";
import type { Alert, AlertPending, Alerts, AlertsPending, AlertStatus } from "../api/types";
import { of, whole } from "../format";
import { Head } from "../parts/head";
import { useKeys } from "../parts/keys";
import { known } from "../parts/known";
import { useRowKeys } from "../parts/row-keys";
import { Empty, Loading, Trouble } from "../parts/states";
import { Time } from "../parts/time";
import { toast, toastError } from "../parts/toast";
import { may, mayKeepBack, seesAllGraphs } from "../session";
import { ago, ms } from "../time";
import { useAlertsAgain } from "./alerts/again";
import { Asked, asked, Pages, type Search } from "./alerts/asked";
import { absent, kept } from "./alerts/kept";
import { AlertsNav } from "./alerts/nav";
import { WithAlerts } from "./alerts/nothing";
import { aboutAlerts, counted, countsOf, isKeptBack, parted, searched } from "./alerts/parted";
import { RuleName } from "./alerts/rule";
import { Severity } from "./alerts/severity";
import { mayKeepBackThis, SilenceDialog } from "./alerts/silence-dialog";
import { Subject } from "./alerts/subject";
import { bound, figure, standing } from "./alerts/words";
import "./alerts/alerts.css";

/** What is bad and no alert: as many as the API lists at once. */
const PENDING = 500;

export default function OpenAlerts(): JSX.Element {
  const [search, setSearch] = useSearchParams<Search>();
  const [status, statusAgain] = createResource(() => get<AlertStatus>("/alerts/status"));
  const serving = createMemo(() => known(status)?.serving === true);
  const [list, again] = createResource(() => serving() && asked(search), (question) => listed(question).catch(absent), { storage: kept() });
  const [pending, pendingAgain] = createResource(serving, () => get<AlertsPending>("/alerts/pending", { limit: PENDING }).catch(absent));
  const [silencing, setSilencing] = createSignal<Alert | undefined>();
  const look = (): void => [statusAgain, again, pendingAgain].forEach((one) => void one.refetch());
  useAlertsAgain(look);
  const acknowledge = (alert: Alert): void =>
    void post(`/alerts/${alert.id}/acknowledge`)
      .then(() => toast(`Acknowledged: ${alert.title}`))
      .then(look)
      .catch(toastError);
  useRowKeys("alerts");
  const chosen = (run: (alert: Alert) => void): void => {
    const id = document.activeElement?.closest<HTMLElement>("[data-alert]")?.dataset["alert"];
    const alert = known(list)?.alerts.find((one) => one.id === id);
    if (alert) run(alert);
    else toast("Select an alert with j and k first", "bad");
  };
  if (may("alerts.operate")) {
    useKeys([{ keys: "t", what: "Acknowledge the alert", run: () => chosen((alert) => !alert.acknowledged && acknowledge(alert)) }]);
  }
  if (mayKeepBack()) {
    useKeys([{ keys: "m", what: "Mute: silence the alert for a time", run: () => chosen((alert) => mayKeepBackThis(alert) && setSilencing(alert)) }]);
  }
  return (
    <>
      <Head title="Alerts" about={<Show when={known(status)?.summary}>{(summary) => <span class="muted">{aboutAlerts(summary(), known(pending))}</span>}</Show>}>
        <Show when={mayKeepBack() && known(status)?.serving}>
          <A class="button" href="/alerts/silences?new=1">
            Silence …
          </A>
        </Show>
      </Head>
      <AlertsNav />
      <Switch fallback={<Loading what="the alerts" />}>
        <Match when={status.error && !known(status)}>
          <Trouble error={status.error} retry={look} />
        </Match>
        <Match when={known(status)}>
          {(status) => (
            <WithAlerts status={status()}>
              <div class="alerts">
                <Show when={status().summary?.fault}>
                  {(fault) => (
                    <p class="bad-ink" role="alert">
                      No notifications are sent, because the alert log cannot be written: {fault()}
                    </p>
                  )}
                </Show>
                <Asked search={search} setSearch={setSearch} states />
                <Switch fallback={<Loading what="the alerts" />}>
                  <Match when={list.error}>
                    <Trouble error={list.error} retry={look} />
                  </Match>
                  <Match when={known(list)}>
                    {(list) => <Lists list={list()} pending={known(pending)} status={status()} search={search} setSearch={setSearch} acknowledge={acknowledge} silence={setSilencing} />}
                  </Match>
                </Switch>
              </div>
            </WithAlerts>
          )}
        </Match>
      </Switch>
      <Show when={silencing()}>{(alert) => <SilenceDialog alert={alert()} close={() => setSilencing(undefined)} done={look} />}</Show>
    </>
  );
}

/** A part of the alerts that are open, and how many of all of them are kept back: those stand last. */
type Listed = Alerts & { kept_total: number };

async function listed(question: Query): Promise<Listed> {
  const list = await get<Alerts>("/alerts", question);
  const isWhole = list.total === list.alerts.length;
  if (isWhole || question["state"] !== undefined) return { ...list, kept_total: isWhole ? list.alerts.filter(isKeptBack).length : question["state"] === "suppressed" ? list.total : 0 };
  const { total } = await get<Alerts>("/alerts", { ...question, state: "suppressed", offset: undefined, limit: 1 });
  return { ...list, kept_total: total };
}

interface ListsProps {
  list: Listed;
  pending: AlertsPending | undefined;
  status: AlertStatus;
  search: Partial<Search>;
  setSearch: Parameters<typeof Pages>[0]["setSearch"];
  acknowledge: (alert: Alert) => void;
  silence: (alert: Alert) => void;
}

/** What is open, what is kept back (an alert before, or not), what may come: the parts that the head counts. */
function Lists(props: ListsProps): JSX.Element {
  const isFiltered = (): boolean => Object.values(asked(props.search)).filter(Boolean).length > 1;
  const all = createMemo(() => (props.status.summary && isFiltered() ? countsOf(props.status.summary, props.pending) : undefined));
  const open = (): Alert[] => props.list.alerts.filter((alert) => !isKeptBack(alert));
  const keptAlerts = (): Alert[] => props.list.alerts.filter(isKeptBack);
  const openTotal = (): number => props.list.total - props.list.kept_total;
  const others = createMemo(() => parted(searched(props.pending?.pending ?? [], props.search)));
  const keptTotal = (): number => props.list.kept_total + others().kept.length;
  const isCut = (): boolean => (props.pending?.total ?? 0) > (props.pending?.pending.length ?? 0);
  return (
    <>
      <Pages search={props.search} setSearch={props.setSearch} total={props.list.total} />
      <Show when={openTotal() > 0} fallback={<Show when={props.search.state !== "suppressed" || keptTotal() === 0}><NoAlert filtered={isFiltered()} status={props.status} /></Show>}>
        <Show when={open().length > 0}>
          <section class="panel" aria-label="Open alerts">
            <header>
              <h2>{counted(openTotal(), all()?.open)} open</h2>
            </header>
            <ul class="alerts-list">
              <For each={open()}>{(alert) => <Row alert={alert} acknowledge={props.acknowledge} silence={props.silence} />}</For>
            </ul>
          </section>
        </Show>
      </Show>
      <Show when={keptTotal() > 0}>
        <section class="panel" aria-label="Suppressed">
          <header>
            <h2>{counted(keptTotal(), all()?.kept)} suppressed</h2>
            <span class="muted">no notifications are sent</span>
          </header>
          <Show when={keptAlerts().length > 0}>
            <ul class="alerts-list">
              <For each={keptAlerts()}>{(alert) => <Row alert={alert} acknowledge={props.acknowledge} silence={props.silence} />}</For>
            </ul>
          </Show>
          <Show when={others().kept.length > 0}>
            <Brief of={others().kept} />
          </Show>
        </section>
      </Show>
      <Show when={others().coming.length > 0}>
        <section class="panel" aria-label="Pending">
          <header>
            <h2>{counted(others().coming.length, all()?.coming)} pending</h2>
          </header>
          <Brief of={others().coming} />
        </section>
      </Show>
      <Show when={isCut()}>
        <p class="muted">
          Showing the newest {whole(props.pending!.pending.length)} of {whole(props.pending!.total)} pending and suppressed.
        </p>
      </Show>
    </>
  );
}

function Row(props: { alert: Alert; acknowledge: (alert: Alert) => void; silence: (alert: Alert) => void }): JSX.Element {
  const alert = (): Alert => props.alert;
  return (
    <li data-alert={alert().id}>
      <Severity of={alert().severity} />
      <div class="alerts-what">
        <span class="alerts-title">
          <A href={`/alerts/${alert().id}`} data-row-link>
            {alert().title}
          </A>
        </span>
        <span class="alerts-facts">
          <span>
            since <Time at={alert().began} shape="short" /> ({ago(ms(alert().began), Date.now())})
          </span>
          <Show when={alert().value !== null}>
            <span class="num">
              {figure(alert().value)} <Show when={bound(alert().condition)}>{(text) => <>(condition: {text()})</>}</Show>
            </span>
          </Show>
          <Show when={alert().state !== "firing" || alert().standing !== "firing"}>
            <span>{standing(alert().standing ?? alert().state, alert().kept_back_by)}</span>
          </Show>
          <Show when={alert().flapping}>
            <span>flapping</span>
          </Show>
        </span>
        <span class="alerts-facts">
          <Subject alert={alert()} />
          <RuleName rule={alert().rule} />
        </span>
      </div>
      <div class="row">
        <Show
          when={alert().acknowledged}
          fallback={
            <Show when={may("alerts.operate")} fallback={<span class="muted">not acknowledged</span>}>
              <button class="button" aria-label={`Acknowledge: ${alert().title}`} onClick={() => props.acknowledge(alert())}>
                Acknowledge
              </button>
            </Show>
          }
        >
          {(by) => (
            <span class="muted">
              acknowledged by {by().by}, <Time at={by().at} shape="short" />
            </span>
          )}
        </Show>
        <Show when={mayKeepBackThis(alert())}>
          <button class="button" aria-label={`Silence: ${alert().title}`} onClick={() => props.silence(alert())}>
            Silence
          </button>
        </Show>
      </div>
    </li>
  );
}

function NoAlert(props: { filtered: boolean; status: AlertStatus }): JSX.Element {
  return (
    <Empty icon={props.filtered ? "search" : "good"} title={props.filtered ? "No open alerts match" : "No open alerts"}>
      <Show when={!props.filtered} fallback={<A href="/alerts">Clear filter</A>}>
        <p>
          {of(props.status.summary?.rules ?? 0, "rule", "rules")} evaluated{seesAllGraphs() ? "" : "; alerts of devices and graphs hidden from you are not shown"}.{" "}
          <Show when={props.status.rules_without_subject.length > 0}>
            {of(props.status.rules_without_subject.length, "rule has", "rules have")} no data yet: <A href="/alerts/rules">rules</A>.
          </Show>
        </p>
      </Show>
    </Empty>
  );
}

/** What is bad and no alert. */
function Brief(props: { of: AlertPending[] }): JSX.Element {
  return (
    <ul class="alerts-brief">
      <For each={props.of}>
        {(one) => (
          <li>
            <Severity of={one.severity} />
            <span>{one.subject}</span>
            <RuleName rule={one.rule} />
            <span class="muted">
              {standing(one.standing, one.kept_back_by)}, since <Time at={one.since} shape="short" />
            </span>
          </li>
        )}
      </For>
    </ul>
  );
}
