// The pages: one line each. docs/adding/page.md says how to add one.

import { lazy, type Component } from "solid-js";
import type { IconName } from "./parts/icon";

export interface Page {
  path: string;
  name: string;
  /** In the rail; pages without one are reached from others. */
  icon?: IconName;
  /** Second key after g. */
  key?: string;
  /** What one must be allowed to do to see it in the rail. */
  needs?: string;
  body: Component;
}

export const PAGES: Page[] = [
  { path: "/", name: "Now", icon: "now", key: "n", body: lazy(() => import("./pages/now")) },
  { path: "/calls", name: "Calls", icon: "calls", key: "c", body: lazy(() => import("./pages/calls")) },
  { path: "/calls/:id", name: "Call", body: lazy(() => import("./pages/call")) },
  { path: "/registrations", name: "Registrations", icon: "registrations", key: "r", body: lazy(() => import("./pages/registrations")) },
  { path: "/packets", name: "Packets", icon: "packets", key: "p", body: lazy(() => import("./pages/packets")) },
  { path: "/cache", name: "Cache", icon: "cache", key: "k", body: lazy(() => import("./pages/cache")) },
  { path: "/graphs", name: "Graphs", icon: "graphs", key: "g", needs: "graphs.read", body: lazy(() => import("./pages/graphs")) },
  { path: "/graphs/map", name: "Map", body: lazy(() => import("./pages/graphs-map")) },
  { path: "/graphs/device/:id", name: "Device", body: lazy(() => import("./pages/graph-device")) },
  { path: "/graphs/:id", name: "Graph", body: lazy(() => import("./pages/graph")) },
  { path: "/alerts", name: "Alerts", icon: "alerts", key: "a", needs: "alerts.read", body: lazy(() => import("./pages/alerts")) },
  { path: "/alerts/history", name: "Alert history", body: lazy(() => import("./pages/alert-history")) },
  { path: "/alerts/rules/:name?", name: "Alert rules", body: lazy(() => import("./pages/alert-rules")) },
  { path: "/alerts/silences", name: "Silences", body: lazy(() => import("./pages/alert-silences")) },
  { path: "/alerts/channels", name: "Alert channels", body: lazy(() => import("./pages/alert-channels")) },
  { path: "/alerts/:id", name: "Alert", body: lazy(() => import("./pages/alert")) },
  { path: "/charge", name: "Charging", icon: "charge", key: "b", needs: "charge.read", body: lazy(() => import("./pages/charge")) },
  { path: "/charge/sessions", name: "Charging sessions", body: lazy(() => import("./pages/charge-sessions")) },
  { path: "/charge/sessions/:key", name: "Session", body: lazy(() => import("./pages/charge-session")) },
  { path: "/charge/accounts/:number?", name: "Accounts", body: lazy(() => import("./pages/charge-account")) },
  { path: "/charge/tariffs/:name?", name: "Tariffs", body: lazy(() => import("./pages/charge-tariffs")) },
  { path: "/charge/rated/:id?", name: "Rated calls", body: lazy(() => import("./pages/charge-rated")) },
  { path: "/charge/bill/:id?", name: "Reconciliation", body: lazy(() => import("./pages/charge-bill")) },
  { path: "/charge/clients", name: "Clients", body: lazy(() => import("./pages/charge-clients")) },
  { path: "/system", name: "System", icon: "system", key: "s", body: lazy(() => import("./pages/system")) },
  { path: "/settings/:part?", name: "Settings", icon: "settings", key: ",", body: lazy(() => import("./pages/settings")) },
];
