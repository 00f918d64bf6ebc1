// One alert: what it is of, and what happened to it, from its beginning to now.

import { A, useParams } from "@solidjs/router";
import { createResource, createSignal, For, Match, Show, Switch, type JSX } from "solid-js";
import { get, post } from "../api/client";
import type { AlertFull, AlertStep } from "../api/types";
import { sentence } from "../format";
import { ShareButton } from "../parts/copy";
import { Head } from "../parts/head";
import { Icon, type IconName } from "../parts/icon";
import { useKeys } from "../parts/keys";
import { known } from "../parts/known";
import { Tag } from "../parts/meaning";
import { Loading, Trouble } from "../parts/states";
import { Time } from "../parts/time";
import { toast, toastError } from "../parts/toast";
import { may, seesAllGraphs } from "../session";
import { ms, span } from "../time";
import { useAlertsAgain } from "./alerts/again";
import { kept } from "./alerts/kept";
import { AlertsNav } from "./alerts/nav";
import { RuleName } from "./alerts/rule";
import { Severity } from "./alerts/severity";
import { mayKeepBackThis, SilenceDialog } from "./alerts/silence-dialog";
import { Subject } from "./alerts/subject";
import { bound, figure, meaningOfOutcome, outcomeText, standing } from "./alerts/words";
import "./alerts/alerts.css";

export default function OneAlert(): JSX.Element {
  const params = useParams<{ id: string }>();
  const [alert, again] = createResource(() => params.id, (id) => get<AlertFull>(`/alerts/${id}`), { storage: kept() });
  const [silencing, setSilencing] = createSignal(false);
  useAlertsAgain(() => void (!alert.loading && known(alert)?.ended === null && again.refetch()));
  const isOpen = (): boolean => known(alert)?.ended === null;
  const mayTake = (): boolean => may("alerts.operate") && isOpen() && !known(alert)!.acknowledged;
  const mayKeep = (): boolean => isOpen() && mayKeepBackThis(known(alert)!);
  const acknowledge = (): void =>
    void post(`/alerts/${params.id}/acknowledge`)
      .then(() => toast("Acknowledged"))
      .then(() => again.refetch())
      .catch(toastError);
  useKeys([
    { keys: "t", what: "Acknowledge the alert", run: () => mayTake() && acknowledge() },
    { keys: "m", what: "Mute: silence the alert for a time", run: () => mayKeep() && setSilencing(true) },
  ]);
  return (
    <>
      <Head title={known(alert)?.title ?? "Alert"} about={<Show when={known(alert)}>{(alert) => <Severity of={alert().severity} />}</Show>}>
        <Show when={mayTake()}>
          <button class="button primary" onClick={acknowledge}>
            Acknowledge
          </button>
        </Show>
        <Show when={mayKeep()}>
          <button class="button" onClick={() => setSilencing(true)}>
            Silence …
          </button>
        </Show>
        <ShareButton title={known(alert)?.title ?? "Alert"} />
      </Head>
      <AlertsNav />
      <div class="alerts">
        <Switch fallback={<Loading what="the alert" />}>
          <Match when={alert.error && !known(alert)}>
            <Trouble error={alert.error} retry={() => void again.refetch()} />
          </Match>
          <Match when={known(alert)}>
            {(alert) => (
              <>
                <Facts alert={alert()} />
                <KeptBack alert={alert()} />
                <Course alert={alert()} />
              </>
            )}
          </Match>
        </Switch>
      </div>
      <Show when={silencing() && known(alert)}>{(alert) => <SilenceDialog alert={alert()} close={() => setSilencing(false)} done={() => void again.refetch()} />}</Show>
    </>
  );
}

function Facts(props: { alert: AlertFull }): JSX.Element {
  const alert = (): AlertFull => props.alert;
  /** What stands elsewhere on the page. */
  const SAID = ["rule", "severity", "subject", "device", "device_id", "graph", "source"];
  const labels = (): [string, string][] => Object.entries(alert().labels).filter(([name]) => !SAID.includes(name));
  const lasted = (): string => span(((alert().ended ? ms(alert().ended!) : Date.now()) - ms(alert().began)) / 1000);
  const facts = (): [string, JSX.Element][] => [
    ["Subject", <Subject alert={alert()} />],
    ["State", sentence(standing(alert().standing ?? alert().state, alert().kept_back_by)) + (alert().flapping ? ", flapping" : "")],
    ["Started", <Time at={alert().began} />],
    [alert().ended ? "Resolved" : "Duration", alert().ended ? <><Time at={alert().ended} /> (after {lasted()})</> : lasted()],
    ["Current value", figure(alert().ended ? null : alert().value)],
    ["Value at start", figure(alert().value_began)],
    ["Condition", bound(alert().condition) || "the rule was removed"],
    ["Rule", <RuleName rule={alert().rule} />],
    ["Acknowledged by", alert().acknowledged ? <>{alert().acknowledged!.by}, since <Time at={alert().acknowledged!.at} shape="short" /></> : "no one"],
    ["Notified", alert().told.join(", ") || (alert().routes.length > 0 ? `not yet (route ${alert().routes.join(", ")})` : "no route matches")],
  ];
  return (
    <section class="panel" aria-label="About the alert">
      <div class="body stack">
        <Show when={alert().text}>
          <p>{alert().text}</p>
        </Show>
        <dl class="alerts-facts-list">
          <For each={facts()}>
            {([name, value]) => (
              <div>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            )}
          </For>
          <For each={labels()}>
            {([name, value]) => (
              <div>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            )}
          </For>
        </dl>
      </div>
    </section>
  );
}

function KeptBack(props: { alert: AlertFull }): JSX.Element {
  return (
    <Show when={props.alert.silences.length + props.alert.windows.length > 0}>
      <section class="panel" aria-label="Suppressed by">
        <header>
          <h2>Suppressed by</h2>
          <A href="/alerts/silences">all silences</A>
        </header>
        <ul class="alerts-brief">
          <For each={props.alert.silences}>
            {(silence) => (
              <li>
                <code>{silence.when.join(" and ") || "everything"}</code>
                <span class="muted">
                  until <Time at={silence.until} shape="short" />, by {silence.by}
                  {silence.why ? `: ${silence.why}` : ""}
                </span>
              </li>
            )}
          </For>
          <For each={props.alert.windows}>
            {(one) => (
              <li>
                <span>{one.name}</span>
                <code>{one.when.join(" and ") || "everything"}</code>
                <span class="muted">maintenance window</span>
              </li>
            )}
          </For>
        </ul>
      </section>
    </Show>
  );
}

function Course(props: { alert: AlertFull }): JSX.Element {
  return (
    <section class="panel" aria-label="Timeline">
      <header>
        <h2>Timeline</h2>
      </header>
      <ol class="alerts-course">
        <For each={props.alert.course}>
          {(step) => (
            <li>
              <Time at={step.at} />
              <span class={sign(step).ink}>
                <Icon name={sign(step).icon} />
              </span>
              <Step step={step} />
            </li>
          )}
        </For>
      </ol>
    </section>
  );
}

function sign(step: AlertStep): { icon: IconName; ink: string } {
  if (step.what === "acknowledged") return { icon: "registrations", ink: "" };
  if (step.what === "told") return { icon: "out", ink: step.outcome === "delivered" ? "good-ink" : "bad-ink" };
  if (step.state === "resolved") return { icon: "good", ink: "good-ink" };
  return step.state === "firing" ? { icon: "bad", ink: "bad-ink" } : { icon: "note", ink: "" };
}

function Step(props: { step: AlertStep }): JSX.Element {
  const step = (): AlertStep => props.step;
  return (
    <Switch>
      <Match when={step().what === "acknowledged"}>
        <span>Acknowledged by {step().by}.</span>
      </Match>
      <Match when={step().what === "told"}>
        <span>
          {step().escalation === null ? "Notified" : `Escalated, step ${step().escalation}:`} channel <Channel name={step().channel ?? ""} />, route {step().route}: <Tag meaning={meaningOfOutcome(step().outcome ?? "")}>{outcomeText(step().outcome ?? "")}</Tag>
          {(step().attempts ?? 1) > 1 ? ` after ${step().attempts} attempts` : ""}
          {step().why ? `: ${step().why}` : ""}
        </span>
      </Match>
      <Match when={step().what === "state"}>
        <span>
          {sentence(standing(step().state ?? "", step().kept_back_by))}
          {step().value === null ? "" : `, at ${figure(step().value)}`}.
        </span>
      </Match>
    </Switch>
  );
}

function Channel(props: { name: string }): JSX.Element {
  return (
    <Show when={seesAllGraphs()} fallback={<span>{props.name}</span>}>
      <A href="/alerts/channels">{props.name}</A>
    </Show>
  );
}
