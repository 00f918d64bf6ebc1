import { A } from "@solidjs/router";
import type { JSX } from "solid-js";
import "./alerts.css";

/** The pages of alerts. */
const PARTS = [
  { path: "/alerts", name: "Open" },
  { path: "/alerts/history", name: "History" },
  { path: "/alerts/rules", name: "Rules" },
  { path: "/alerts/silences", name: "Silences" },
  { path: "/alerts/channels", name: "Channels" },
];

export function AlertsNav(): JSX.Element {
  return (
    <nav class="alerts-nav" aria-label="Alerts">
      {PARTS.map((part) => (
        <A href={part.path} end={part.path === "/alerts"} activeClass="here">
          {part.name}
        </A>
      ))}
    </nav>
  );
}
