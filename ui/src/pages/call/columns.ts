// The columns of a ladder: which hosts stand side by side. Endpoints of one address are one host, unless they talk to
// each other; who only sends or hears media comes last.

import { addressOf } from "../../aliases";
import type { Ladder, Stream } from "../../api/types";

export interface Column {
  address: string;
  /** The endpoints of its signalling, as the ladder writes them; where there is none, of its media. */
  endpoints: string[];
  /** No signalling came from it or went to it. */
  mediaOnly: boolean;
}

export interface Columns {
  columns: Column[];
  /** Column of each host of the ladder. */
  ofHost: number[];
  /** Columns between which each stream goes. */
  ofStream: { from: number; to: number }[];
}

export function columnsOf(ladder: Ladder, streams: Stream[]): Columns {
  const apart = talkingToThemselves(ladder);
  const places = new Map<string, number>();
  const columns: Column[] = [];
  const place = (endpoint: string, mediaOnly: boolean): number => {
    const address = addressOf(endpoint);
    const key = apart.has(address) && !mediaOnly ? endpoint : address;
    const known = places.get(key);
    if (known !== undefined) {
      const column = columns[known]!;
      if (column.mediaOnly === mediaOnly && !column.endpoints.includes(endpoint)) column.endpoints.push(endpoint);
      return known;
    }
    columns.push({ address, endpoints: [endpoint], mediaOnly });
    places.set(key, columns.length - 1);
    // Media of an address whose endpoints stand apart belongs to the first of them.
    if (!places.has(address)) places.set(address, columns.length - 1);
    return columns.length - 1;
  };
  const ofHost = ladder.hosts.map((host) => place(host, false));
  const ofStream = streams.map((stream) => ({ from: place(stream.src ?? "unknown", true), to: place(stream.dst ?? "unknown", true) }));
  return { columns, ofHost, ofStream };
}

/** Addresses of which one endpoint talks to another (all on one machine, or behind one NAT). */
function talkingToThemselves(ladder: Ladder): Set<string> {
  const apart = new Set<string>();
  for (const message of ladder.messages) {
    const [from, to] = [ladder.hosts[message.src], ladder.hosts[message.dst]];
    if (from && to && from !== to && addressOf(from) === addressOf(to)) apart.add(addressOf(from));
  }
  return apart;
}
