// Alert history.

import { A, useSearchParams } from "@solidjs/router";
import { createMemo, createResource, For, Match, Show, Switch, type JSX } from "solid-js";
import { get } from "../api/client";
import type { Alert, Alerts, AlertStatus } from "../api/types";
import { of } from "../format";
import { Head } from "../parts/head";
import { known } from "../parts/known";
import { RangePicker } from "../parts/range-picker";
import { useRowKeys } from "../parts/row-keys";
import { Empty, Loading, Trouble } from "../parts/states";
import { Time } from "../parts/time";
import { useRange } from "../range";
import { ms, span } from "../time";
import { useAlertsAgain } from "./alerts/again";
import { Asked, asked, Pages, type Search } from "./alerts/asked";
import { absent, kept } from "./alerts/kept";
import { AlertsNav } from "./alerts/nav";
import { WithAlerts } from "./alerts/nothing";
import { RuleName } from "./alerts/rule";
import { Severity } from "./alerts/severity";
import { Subject } from "./alerts/subject";
import { bound, figure } from "./alerts/words";
import "./alerts/alerts.css";

export default function AlertHistory(): JSX.Element {
  const [search, setSearch] = useSearchParams<Search>();
  const [range, setRange] = useRange("now-7d");
  const [status, statusAgain] = createResource(() => get<AlertStatus>("/alerts/status"));
  const serving = createMemo(() => known(status)?.serving === true);
  const question = (): false | Record<string, unknown> => serving() && ({ ...asked(search), state: undefined, from: range().from, to: range().to });
  const [list, again] = createResource(question, (question) => get<Alerts>("/alerts/history", question as ReturnType<typeof asked>).catch(absent), { storage: kept() });
  useAlertsAgain(() => [statusAgain, again].forEach((one) => void one.refetch()));
  useRowKeys("alerts");
  return (
    <>
      <Head title="Alert history">
        <RangePicker range={range()} onChange={setRange} />
      </Head>
      <AlertsNav />
      <Switch fallback={<Loading what="the alerts" />}>
        <Match when={status.error && !known(status)}>
          <Trouble error={status.error} retry={() => void statusAgain.refetch()} />
        </Match>
        <Match when={known(status)}>
          {(status) => (
            <WithAlerts status={status()}>
              <div class="alerts">
                <Asked search={search} setSearch={setSearch} />
                <Switch fallback={<Loading what="the alert history" />}>
                  <Match when={list.error}>
                    <Trouble error={list.error} retry={() => void again.refetch()} />
                  </Match>
                  <Match when={known(list)?.total === 0}>
                    <Empty icon="alerts" title="No resolved alerts in this time range">
                      <code>[alert.history]</code> sets how many are kept, by default 2,000. <A href="/alerts">Open alerts</A>.
                    </Empty>
                  </Match>
                  <Match when={known(list)}>
                    {(list) => (
                      <section class="panel" aria-label="Alert history">
                        <header>
                          <h2>{of(list().total, "alert", "alerts")}</h2>
                          <Pages search={search} setSearch={setSearch} total={list().total} />
                        </header>
                        <ul class="alerts-list">
                          <For each={list().alerts}>{(alert) => <Row alert={alert} />}</For>
                        </ul>
                      </section>
                    )}
                  </Match>
                </Switch>
              </div>
            </WithAlerts>
          )}
        </Match>
      </Switch>
    </>
  );
}

function Row(props: { alert: Alert }): JSX.Element {
  const alert = (): Alert => props.alert;
  const lasted = (): number => (alert().ended ? (ms(alert().ended!) - ms(alert().began)) / 1000 : 0);
  return (
    <li>
      <Severity of={alert().severity} />
      <div class="alerts-what">
        <span class="alerts-title">
          <A href={`/alerts/${alert().id}`} data-row-link>
            {alert().title}
          </A>
        </span>
        <span class="alerts-facts">
          <span>
            <Time at={alert().began} shape="short" /> to <Time at={alert().ended} shape="short" /> ({span(lasted())})
          </span>
          <Show when={alert().value_began !== null}>
            <span class="num">
              {figure(alert().value_began)} <Show when={bound(alert().condition)}>{(text) => <>(condition: {text()})</>}</Show>
            </span>
          </Show>
        </span>
        <span class="alerts-facts">
          <Subject alert={alert()} />
          <RuleName rule={alert().rule} />
        </span>
      </div>
      <span class="muted">{alert().acknowledged ? `acknowledged by ${alert().acknowledged!.by}` : "not acknowledged"}</span>
    </li>
  );
}
