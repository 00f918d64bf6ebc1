import { A } from "@solidjs/router";
import { Show, type JSX } from "solid-js";
import type { Alert } from "../../api/types";
import { may } from "../../session";
import { callsLink } from "./words";

/** What an alert is of, with where it is shown: the device, its graph, the calls that were counted. */
export function Subject(props: { alert: Alert }): JSX.Element {
  const alert = (): Alert => props.alert;
  const rest = (): string => (alert().device && alert().subject?.startsWith(alert().device!) ? alert().subject!.slice(alert().device!.length).trim() : (alert().subject ?? ""));
  return (
    <span class="alerts-subject">
      <Show when={alert().device}>
        {(device) => (
          <Show when={alert().device_id !== null && may("graphs.read")} fallback={<span>{device()}</span>}>
            <A href={`/graphs/device/${alert().device_id}`}>{device()}</A>
          </Show>
        )}
      </Show>
      <Show when={rest() && rest() !== "all"}>
        <span>{rest()}</span>
      </Show>
      <Show when={alert().graph_id !== null && may("graphs.read")}>
        <A href={`/graphs/${alert().graph_id}`}>graph</A>
      </Show>
      <Show when={may("calls.read") && callsLink(alert())}>{(link) => <A href={link()}>its calls</A>}</Show>
    </span>
  );
}
