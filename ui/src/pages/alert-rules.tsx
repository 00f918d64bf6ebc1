// Rules: what is watched, how each stands, what its file says; reading them again with every mistake.

import { A, useParams } from "@solidjs/router";
import { createEffect, createMemo, createResource, createSignal, For, Match, on, Show, Switch, type JSX } from "solid-js";
import { get, post } from "../api/client";
import type { AlertChecked, AlertRule, AlertRuleFull, AlertRules, AlertStatus } from "../api/types";
import { of, whole } from "../format";
import { Head } from "../parts/head";
import { Icon } from "../parts/icon";
import { known } from "../parts/known";
import { Tag } from "../parts/meaning";
import { useRowKeys } from "../parts/row-keys";
import { Empty, Loading, Trouble } from "../parts/states";
import { Time } from "../parts/time";
import { toastError } from "../parts/toast";
import { may } from "../session";
import { span } from "../time";
import { useAlertsAgain } from "./alerts/again";
import { absent, kept } from "./alerts/kept";
import { AlertsNav } from "./alerts/nav";
import { WithAlerts } from "./alerts/nothing";
import { Severity } from "./alerts/severity";
import { bound, figure, standing } from "./alerts/words";
import "./alerts/alerts.css";

export default function Rules(): JSX.Element {
  const params = useParams<{ name?: string }>();
  const [status, statusAgain] = createResource(() => get<AlertStatus>("/alerts/status"));
  const serving = createMemo(() => known(status)?.serving === true);
  const [all, again] = createResource(serving, () => get<AlertRules>("/alerts/rules").catch(absent), { storage: kept("rule") });
  const [found, setFound] = createSignal<AlertChecked | undefined>();
  const look = (): void => [statusAgain, again].forEach((one) => void one.refetch());
  useAlertsAgain(look);
  useRowKeys("rules");
  const ask = (asks: Promise<AlertChecked>): void => void asks.then(setFound).then(look).catch(toastError);
  return (
    <>
      <Head title={params.name ? `Rule ${params.name}` : "Rules"} about={<Show when={params.name}><A href="/alerts/rules">all rules</A></Show>}>
        <Show when={may("alerts.manage") && known(status)?.serving}>
          <button class="button" onClick={() => ask(get<AlertChecked>("/alerts/check"))}>
            Validate
          </button>
          <button class="button" onClick={() => ask(post<AlertChecked>("/alerts/reload"))}>
            Reload
          </button>
        </Show>
      </Head>
      <AlertsNav />
      <Show when={found()}>{(found) => <div class="alerts"><Found found={found()} close={() => setFound(undefined)} /></div>}</Show>
      <Switch fallback={<Loading what="the rules" />}>
        <Match when={status.error || all.error}>
          <Trouble error={status.error ?? all.error} retry={look} />
        </Match>
        <Match when={known(status)}>
          {(status) => (
            <WithAlerts status={status()}>
              <div class="alerts">
                <Show when={params.name} fallback={<Show when={known(all)} fallback={<Loading what="the rules" />}>{(all) => <List rules={all().rules} />}</Show>}>
                  {(name) => <One name={name()} />}
                </Show>
              </div>
            </WithAlerts>
          )}
        </Match>
      </Switch>
    </>
  );
}

/** What came of a check, or of reading the files again. */
function Found(props: { found: AlertChecked; close: () => void }): JSX.Element {
  const mistakes = (): string[] => props.found.mistakes;
  const text = (): string => {
    if (mistakes().length > 0) return `${of(mistakes().length, "mistake", "mistakes")}: the previous rules stay active.`;
    return props.found.taken ? `${of(props.found.rules ?? 0, "rule", "rules")} loaded.` : `${of(props.found.rules ?? 0, "rule", "rules")} valid.`;
  };
  return (
    <section class="panel" aria-label="Rule files" role="status">
      <header>
        <span class={mistakes().length > 0 ? "bad-ink" : "good-ink"}>
          <Icon name={mistakes().length > 0 ? "bad" : "good"} />
        </span>
        <span>{text()}</span>
        <button class="button quiet icon" aria-label="Close" onClick={props.close}>
          <Icon name="close" />
        </button>
      </header>
      <Show when={mistakes().length > 0}>
        <ul class="alerts-mistakes mono">
          <For each={mistakes()}>{(mistake) => <li>{mistake}</li>}</For>
        </ul>
      </Show>
    </section>
  );
}

function List(props: { rules: AlertRule[] }): JSX.Element {
  return (
    <section class="panel" aria-label="Rules">
      <div class="scroll" tabindex="0" role="group" aria-label="Table of rules">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Rule</th>
              <th scope="col">Severity</th>
              <th scope="col">State</th>
              <th scope="col">Watches</th>
              <th scope="col">Condition</th>
              <th scope="col" class="right">
                Subjects
              </th>
            </tr>
          </thead>
          <tbody>
            <For each={props.rules}>
              {(rule) => (
                <tr>
                  <td>
                    <A href={`/alerts/rules/${rule.rule}`} data-row-link>
                      {rule.rule}
                    </A>
                  </td>
                  <td>
                    <Severity of={rule.severity} />
                  </td>
                  <td>
                    <State rule={rule} />
                  </td>
                  <td>{rule.watches}</td>
                  <td>{bound(rule.condition)}</td>
                  <td class="right">{whole(rule.subjects)}</td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
    </section>
  );
}

function State(props: { rule: AlertRule }): JSX.Element {
  return (
    <Switch fallback={<Tag meaning="good">ok</Tag>}>
      <Match when={props.rule.alerts > 0}>
        <A href={`/alerts?rule=${props.rule.rule}`}>
          <Tag meaning="bad">{of(props.rule.alerts, "alert", "alerts")}</Tag>
        </A>
      </Match>
      <Match when={props.rule.pending > 0}>
        <Tag meaning="warn">{whole(props.rule.pending)} pending or suppressed</Tag>
      </Match>
      <Match when={props.rule.subjects === 0}>
        <Tag meaning="none">no data yet</Tag>
      </Match>
    </Switch>
  );
}

const PART = 100;

function One(props: { name: string }): JSX.Element {
  const [rule, again] = createResource(() => props.name, (name) => get<AlertRuleFull>(`/alerts/rules/${name}`, { limit: PART }));
  const [more, setMore] = createSignal<AlertRuleFull["followed"]>([]);
  const [next, setNext] = createSignal<string | null | undefined>();
  const [busy, setBusy] = createSignal(false);
  createEffect(on(() => props.name, () => (setMore([]), setNext(undefined))));
  useAlertsAgain(() => void (more().length === 0 && again.refetch()));
  const cursor = (): string | null | undefined => (next() === undefined ? known(rule)?.next : next());
  const load = async (): Promise<void> => {
    setBusy(true);
    await get<AlertRuleFull>(`/alerts/rules/${props.name}`, { limit: PART, cursor: cursor() })
      .then((part) => (setMore([...more(), ...part.followed]), setNext(part.next)))
      .catch(toastError);
    setBusy(false);
  };
  const followed = (): AlertRuleFull["followed"] => [...(known(rule)?.followed ?? []), ...more()];
  return (
    <Switch fallback={<Loading what="the rule" />}>
      <Match when={rule.error && !known(rule)}>
        <Trouble error={rule.error} retry={() => void again.refetch()} />
      </Match>
      <Match when={known(rule)}>
        {(rule) => (
          <>
            <section class="panel" aria-label="About the rule">
              <div class="body">
                <dl class="alerts-facts-list">
                  <Fact name="Severity" value={<Severity of={rule().severity} />} />
                  <Fact name="State" value={<State rule={rule()} />} />
                  <Fact name="Watches" value={rule().watches} />
                  <Fact name="Condition" value={`${bound(rule().condition)}${rule().for_s > 0 ? ` for ${span(rule().for_s)}` : ""}`} />
                  <Fact name="Routes" value={rule().routes.join(", ") || "none: nobody is notified"} />
                  <Fact name="Depends on" value={rule().depends.join(", ") || "no other rules"} />
                </dl>
              </div>
            </section>
            <section class="panel" aria-label="Subjects">
              <header>
                <h2>Subjects</h2>
                <span class="muted">{of(rule().subjects, "subject", "subjects")}</span>
              </header>
              <Show
                when={followed().length > 0}
                fallback={
                  <Empty title={rule().subjects === 0 ? "No data yet" : "Subjects are hidden"}>
                    {rule().subjects === 0 ? "Data arrives with the next polling cycle, the next calls, or the next reading of the metrics. If it does not, check that a template, device or metric of this name exists." : "The subjects of this rule are phone numbers, and your role sees numbers masked."}
                  </Empty>
                }
              >
                <div class="scroll" tabindex="0" role="group" aria-label="Table of subjects">
                  <table class="table">
                    <thead>
                      <tr>
                        <th scope="col">Subject</th>
                        <th scope="col">State</th>
                        <th scope="col">Since</th>
                        <th scope="col" class="right">
                          Last value
                        </th>
                      </tr>
                    </thead>
                    <tbody>
                      <For each={followed()}>
                        {(one) => (
                          <tr>
                            <td>{one.subject}</td>
                            <td>
                              <Show when={one.alert} fallback={<Tag meaning={one.standing === "ok" ? "good" : one.standing === "unknown" ? "none" : "warn"}>{standing(one.standing, one.kept_back_by)}</Tag>}>
                                {(id) => (
                                  <A href={`/alerts/${id()}`}>
                                    <Tag meaning="bad">{standing(one.standing, one.kept_back_by)}</Tag>
                                  </A>
                                )}
                              </Show>
                            </td>
                            <td>
                              <Time at={one.since} shape="short" />
                            </td>
                            <td class="right">{figure(one.value)}</td>
                          </tr>
                        )}
                      </For>
                    </tbody>
                  </table>
                </div>
                <Show when={cursor()}>
                  <p class="body">
                    <button class="button" disabled={busy()} onClick={() => void load()}>
                      Load more
                    </button>
                  </p>
                </Show>
              </Show>
            </section>
            <Show when={rule().text}>
              {(text) => (
                <section class="panel" aria-label="Definition">
                  <header>
                    <h2>Definition</h2>
                  </header>
                  <pre class="body alerts-text" tabindex="0">
                    {text().trim()}
                  </pre>
                </section>
              )}
            </Show>
          </>
        )}
      </Match>
    </Switch>
  );
}

function Fact(props: { name: string; value: JSX.Element }): JSX.Element {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>{props.value}</dd>
    </div>
  );
}
