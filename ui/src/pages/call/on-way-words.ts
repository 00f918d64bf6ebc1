// What was on the way of a call, in the order in which it is to be looked at, and in words.

import type { CallWay, GraphLoss, GraphPicture, GraphStop, Loss } from "../../api/types";
import { whole } from "../../format";
import { amount, said } from "../../parts/graph-shape";
import { ms } from "../../time";
import { printed, printName } from "../graphs/words";

/** A graph on the way. */
export interface Lane {
  stop: GraphStop;
  graph: GraphStop["graphs"][number];
  /** Whether it shows what was lost in the time of the call. */
  lost: boolean;
}

/** What a graph shows, in the order in which graphs stand. */
const ORDER = ["losses", "traffic", "processor", "round-trip"];

export const SHOWS: Record<string, string> = {
  losses: "Errors and discards",
  traffic: "Traffic",
  processor: "Processor",
  "round-trip": "Round trip",
};

/** Where: "core-1 Gi0/1". */
export const nameOf = (stop: GraphStop): string => [stop.device_name, stop.interface].filter(Boolean).join(" ");

/** Graphs of what lost something, then traffic, processors, round trips; graphs of losses where nothing was lost apart. */
export function lanes(stops: readonly GraphStop[]): { first: Lane[]; sound: Lane[] } {
  const all = stops.flatMap((stop) => stop.graphs.map((graph): Lane => ({ stop, graph, lost: graph.shows === "losses" && stop.losses.length > 0 })));
  const rank = (lane: Lane): number => (lane.lost ? -1 : ORDER.indexOf(lane.graph.shows));
  const first = all.filter((lane) => lane.lost || lane.graph.shows !== "losses").sort((a, b) => rank(a) - rank(b));
  return { first, sound: all.filter((lane) => !lane.lost && lane.graph.shows === "losses") };
}

/** "312 discards out on core-1 Gi0/1 in the call's minutes". */
export function lostThere(stop: GraphStop, loss: GraphLoss): string {
  const amount = loss.unit === "%" ? `up to ${loss.amount.toFixed(loss.amount < 10 ? 1 : 0)} % ` : `${whole(loss.amount)} `;
  return `${amount}${loss.what} on ${nameOf(stop)} during the call`;
}

/** What a graph shows, for those who do not see the lines. Shares of a loss have no place at an axis of seconds: the legend has them. */
export function says(picture: GraphPicture): string {
  const shares = printed(picture).filter((print) => print.is_number && print.format.includes("%%") && (print.value ?? 0) > 0);
  return [...said(picture), ...shares.map((print) => `${printName(print)}: ${amount(print.value, picture.base, "%")}`)].join("; ");
}

/** What the capture itself lost in a time. */
export function lostHere(losses: readonly Loss[], from: number, to: number): Loss[] {
  return losses.filter((loss) => ms(loss.since) < to && ms(loss.at) > from);
}

/** Whether any device is known to be near any address. */
export const isFound = (way: CallWay): boolean => way.near.stops.length > 0;
