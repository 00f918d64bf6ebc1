import { A } from "@solidjs/router";
import { For, type JSX } from "solid-js";
import { seesAllGraphs } from "../../session";
import "./alerts.css";

/** The pages of alerts; some are for those who see all devices. */
const PARTS = [
  { path: "/alerts", name: "Open", ofAll: false },
  { path: "/alerts/history", name: "History", ofAll: false },
  { path: "/alerts/rules", name: "Rules", ofAll: true },
  { path: "/alerts/silences", name: "Silences", ofAll: false },
  { path: "/alerts/channels", name: "Channels", ofAll: true },
];

export function AlertsNav(): JSX.Element {
  return (
    <nav class="alerts-nav" aria-label="Alerts">
      <For each={PARTS.filter((part) => seesAllGraphs() || !part.ofAll)}>
        {(part) => (
          <A href={part.path} end={part.path === "/alerts"} activeClass="here">
            {part.name}
          </A>
        )}
      </For>
    </nav>
  );
}
