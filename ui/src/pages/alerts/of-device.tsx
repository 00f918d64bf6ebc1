// Alerts of a device, for the pages of graphs.

import { A } from "@solidjs/router";
import { createResource, createSignal, For, Show, type JSX } from "solid-js";
import { get } from "../../api/client";
import type { Alerts } from "../../api/types";
import { alerts } from "../../live";
import { known } from "../../parts/known";
import { Time } from "../../parts/time";
import { may, mayKeepBack } from "../../session";
import { useAlertsAgain } from "./again";
import { Severity } from "./severity";
import { SilenceDialog } from "./silence-dialog";
import { standing } from "./words";
import "./alerts.css";

/** More are on the page of alerts. */
const SHOWN = 5;

/** The open ones; nothing where there are none, or nobody looks after alerts. */
export function AlertsOfDevice(props: { device: string }): JSX.Element {
  const shows = (): boolean => may("alerts.read") && alerts()?.serving === true;
  const [list, again] = createResource(
    () => (shows() ? props.device : undefined),
    (device) => get<Alerts>("/alerts", { device, limit: SHOWN }).catch(() => undefined),
  );
  const [silencing, setSilencing] = createSignal(false);
  useAlertsAgain(() => void (shows() && !list.loading && again.refetch()));
  const all = (): string => `/alerts?device=${encodeURIComponent(props.device)}`;
  return (
    <Show when={(known(list)?.total ?? 0) > 0}>
      <section class="panel" aria-label="Alerts of the device">
        <header>
          <h2>Alerts</h2>
          <A href={all()}>{known(list)!.total > SHOWN ? `all ${known(list)!.total}` : "all alerts"}</A>
          <Show when={mayKeepBack()}>
            <button class="button" onClick={() => setSilencing(true)}>
              Silence …
            </button>
          </Show>
        </header>
        <ul class="alerts-brief">
          <For each={known(list)!.alerts}>
            {(alert) => (
              <li>
                <Severity of={alert.severity} />
                <A href={`/alerts/${alert.id}`}>{alert.title}</A>
                <span class="muted">
                  {standing(alert.standing ?? alert.state, alert.kept_back_by)}, since <Time at={alert.began} shape="short" />
                  {alert.acknowledged ? `, acknowledged by ${alert.acknowledged.by}` : ""}
                </span>
              </li>
            )}
          </For>
        </ul>
        <Show when={silencing()}>
          <SilenceDialog device={props.device} close={() => setSilencing(false)} done={() => void again.refetch()} />
        </Show>
      </section>
    </Show>
  );
}
