// Alerts that are open: the worst and newest first, who takes care of each, and what can be done about it.

import { A, useSearchParams } from "@solidjs/router";
import { createMemo, createResource, createSignal, For, Match, Show, Switch, type JSX } from "solid-js";
import { get, post } from "../api/client";
import type { Alert, Alerts, AlertsPending, AlertStatus } from "../api/types";
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
import { Asked, asked, Pages, PAGE, type Search } from "./alerts/asked";
import { absent, kept } from "./alerts/kept";
import { AlertsNav } from "./alerts/nav";
import { WithAlerts } from "./alerts/nothing";
import { RuleName } from "./alerts/rule";
import { Severity } from "./alerts/severity";
import { SilenceDialog } from "./alerts/silence-dialog";
import { Subject } from "./alerts/subject";
import { bound, figure, standing } from "./alerts/words";
import "./alerts/alerts.css";

export default function OpenAlerts(): JSX.Element {
  const [search, setSearch] = useSearchParams<Search>();
  const [status, statusAgain] = createResource(() => get<AlertStatus>("/alerts/status"));
  const serving = createMemo(() => known(status)?.serving === true);
  const [list, again] = createResource(() => serving() && asked(search), (question) => get<Alerts>("/alerts", question).catch(absent), { storage: kept() });
  const [pending, pendingAgain] = createResource(serving, () => get<AlertsPending>("/alerts/pending", { limit: PAGE }).catch(absent));
  const [silencing, setSilencing] = createSignal<Alert | undefined>();
  const look = (): void => [statusAgain, again, pendingAgain].forEach((one) => void one.refetch());
  useAlertsAgain(look);
  const acknowledge = (alert: Alert): void =>
    void post(`/alerts/${alert.id}/acknowledge`)
      .then(() => toast(`You take care of it: ${alert.title}`))
      .then(look)
      .catch(toastError);
  useRowKeys("alerts");
  const chosen = (run: (alert: Alert) => void): void => {
    const id = document.activeElement?.closest<HTMLElement>("[data-alert]")?.dataset["alert"];
    const alert = known(list)?.alerts.find((one) => one.id === id);
    if (alert) run(alert);
    else toast("Go to an alert with j and k first", "bad");
  };
  if (may("alerts.operate")) {
    useKeys([{ keys: "t", what: "Take care of the alert", run: () => chosen((alert) => !alert.acknowledged && acknowledge(alert)) }]);
  }
  if (mayKeepBack()) {
    useKeys([{ keys: "m", what: "Mute: keep the alert back for a time", run: () => chosen(setSilencing) }]);
  }
  return (
    <>
      <Head title="Alerts" about={<Show when={known(status)?.summary}>{(summary) => <span class="muted">{about(summary())}</span>}</Show>}>
        <Show when={mayKeepBack() && known(status)?.serving}>
          <A class="button" href="/alerts/silences?new=1">
            Keep back …
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
                      Nobody is told, as the log of alerts cannot be written: {fault()}
                    </p>
                  )}
                </Show>
                <Asked search={search} setSearch={setSearch} states />
                <Switch fallback={<Loading what="what is open" />}>
                  <Match when={list.error}>
                    <Trouble error={list.error} retry={look} />
                  </Match>
                  <Match when={known(list)?.total === 0}>
                    <NoAlert filtered={Object.values(asked(search)).filter(Boolean).length > 1} status={status()} />
                  </Match>
                  <Match when={known(list)}>
                    {(list) => (
                      <section class="panel" aria-label="Open alerts">
                        <header>
                          <h2>{of(list().total, "open alert", "open alerts")}</h2>
                          <Pages search={search} setSearch={setSearch} total={list().total} />
                        </header>
                        <ul class="alerts-list">
                          <For each={list().alerts}>{(alert) => <Row alert={alert} acknowledge={acknowledge} silence={setSilencing} />}</For>
                        </ul>
                      </section>
                    )}
                  </Match>
                </Switch>
                <Show when={(known(pending)?.total ?? 0) > 0}>
                  <Pending pending={known(pending)!} />
                </Show>
              </div>
            </WithAlerts>
          )}
        </Match>
      </Switch>
      <Show when={silencing()}>{(alert) => <SilenceDialog alert={alert()} close={() => setSilencing(undefined)} done={look} />}</Show>
    </>
  );
}

function about(summary: NonNullable<AlertStatus["summary"]>): string {
  const parts = [
    of(summary.open, "open", "open"),
    summary.critical > 0 ? `${whole(summary.critical)} critical` : "",
    summary.acknowledged > 0 ? `${whole(summary.acknowledged)} taken care of` : "",
    summary.kept_back > 0 ? `${whole(summary.kept_back)} kept back` : "",
  ];
  return parts.filter(Boolean).join(", ");
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
              {figure(alert().value)} <Show when={bound(alert().condition)}>{(text) => <>(bad is {text()})</>}</Show>
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
            <Show when={may("alerts.operate")} fallback={<span class="muted">nobody took it</span>}>
              <button class="button" aria-label={`Take care of it: ${alert().title}`} onClick={() => props.acknowledge(alert())}>
                Take care
              </button>
            </Show>
          }
        >
          {(by) => (
            <span class="muted">
              taken by {by().by}, <Time at={by().at} shape="short" />
            </span>
          )}
        </Show>
        <Show when={mayKeepBack()}>
          <button class="button" aria-label={`Keep back: ${alert().title}`} onClick={() => props.silence(alert())}>
            Keep back
          </button>
        </Show>
      </div>
    </li>
  );
}

function NoAlert(props: { filtered: boolean; status: AlertStatus }): JSX.Element {
  return (
    <Empty icon={props.filtered ? "search" : "good"} title={props.filtered ? "No open alert is like that" : "No alert is open"}>
      <Show when={!props.filtered} fallback={<A href="/alerts">All that are open</A>}>
        <p>
          {of(props.status.summary?.rules ?? 0, "rule is", "rules are")} looked at{seesAllGraphs() ? "" : "; alerts of devices and graphs that are hidden from you are not shown"}.{" "}
          <Show when={props.status.rules_without_subject.length > 0}>
            {of(props.status.rules_without_subject.length, "rule watches", "rules watch")} nothing that was seen yet: <A href="/alerts/rules">rules</A>.
          </Show>
        </p>
      </Show>
    </Empty>
  );
}

function Pending(props: { pending: AlertsPending }): JSX.Element {
  return (
    <section class="panel" aria-label="May come, or kept back">
      <header>
        <h2>May come, or kept back</h2>
        <span class="muted">{props.pending.total > props.pending.pending.length ? `the newest ${whole(props.pending.pending.length)} of ${whole(props.pending.total)}` : whole(props.pending.total)}</span>
      </header>
      <ul class="alerts-brief">
        <For each={props.pending.pending}>
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
    </section>
  );
}
