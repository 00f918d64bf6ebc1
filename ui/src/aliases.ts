// Names that people gave to addresses and networks. Asked for once; until the answer is here, and for whom there is
// none, the address itself is the name.

import { createSignal } from "solid-js";
import { get } from "./api/client";
import type { Alias } from "./api/types";

interface Network {
  octets: number[];
  bits: number;
  name: string;
}

const [networks, setNetworks] = createSignal<Network[]>([]);
/** When they may be asked for next, milliseconds since 1970. */
let askAt = 0;

/** Milliseconds after which aliases that could not be had are asked for again. */
const AGAIN_MS = 60_000;

/** The alias of an endpoint ("10.1.2.3:5060", "[2001:db8::1]:5060") or address; else its address without the port. */
export function nameOf(endpoint: string | null | undefined): string {
  if (!endpoint) return "unknown";
  return aliasOf(endpoint) ?? addressOf(endpoint);
}

/** The alias alone; none where nobody gave one. */
export function aliasOf(endpoint: string | null | undefined): string | undefined {
  if (Date.now() >= askAt) void refreshAliases();
  return endpoint ? find(networks(), addressOf(endpoint)) : undefined;
}

/** Asks anew: after somebody changed one. */
export async function refreshAliases(): Promise<void> {
  askAt = Infinity;
  try {
    setAliases((await get<{ aliases: Alias[] }>("/aliases")).aliases);
  } catch {
    // Names are a comfort: without them the addresses stand there.
    askAt = Date.now() + AGAIN_MS;
  }
}

export function setAliases(aliases: Alias[]): void {
  setNetworks(parseAliases(aliases));
}

export function parseAliases(aliases: Alias[]): Network[] {
  return aliases.flatMap(({ match, name }) => {
    const [address = "", length] = match.split("/");
    const octets = parseAddress(address);
    if (!octets || !name) return [];
    const bits = length === undefined ? octets.length * 8 : Number(length);
    return Number.isInteger(bits) && bits >= 0 && bits <= octets.length * 8 ? [{ octets, bits, name }] : [];
  });
}

/** The name of the longest network that holds the address. */
export function find(known: Network[], address: string): string | undefined {
  const octets = known.length > 0 ? parseAddress(address) : undefined;
  if (!octets) return undefined;
  let best: Network | undefined;
  for (const network of known) {
    if (holds(network, octets) && (!best || network.bits > best.bits)) best = network;
  }
  return best?.name;
}

function holds(network: Network, octets: number[]): boolean {
  if (network.octets.length !== octets.length) return false;
  for (let at = 0, left = network.bits; left > 0; at += 1, left -= 8) {
    const mask = left >= 8 ? 0xff : (0xff << (8 - left)) & 0xff;
    if ((((network.octets[at] ?? 0) ^ (octets[at] ?? 0)) & mask) !== 0) return false;
  }
  return true;
}

/** "10.1.2.3:5060" -> "10.1.2.3"; "[2001:db8::1]:5060" -> "2001:db8::1". */
export function addressOf(endpoint: string): string {
  const bracket = /^\[([^\]]*)\]/.exec(endpoint);
  if (bracket) return bracket[1] ?? "";
  return endpoint.split(":").length === 2 ? (endpoint.split(":")[0] ?? "") : endpoint;
}

/** The port of an endpoint; none if there is none. */
export function portOf(endpoint: string): number | undefined {
  const rest = endpoint.startsWith("[") ? endpoint.slice(endpoint.indexOf("]") + 1) : endpoint.slice(addressOf(endpoint).length);
  return /^:\d+$/.test(rest) ? Number(rest.slice(1)) : undefined;
}

/** Four or sixteen octets; none if it is no address. */
export function parseAddress(text: string): number[] | undefined {
  if (!text.includes(":")) return parseV4(text);
  const [head = "", tail, more] = text.split("::");
  if (more !== undefined) return undefined;
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  if (!before || !after) return undefined;
  const missing = 16 - before.length - after.length;
  if (tail === undefined ? missing !== 0 : missing < 2) return undefined;
  return [...before, ...new Array<number>(missing).fill(0), ...after];
}

function groups(text: string): number[] | undefined {
  if (text === "") return [];
  const octets: number[] = [];
  const parts = text.split(":");
  for (const [at, part] of parts.entries()) {
    const v4 = at === parts.length - 1 && part.includes(".") ? parseV4(part) : undefined;
    if (v4) octets.push(...v4);
    else if (/^[0-9a-f]{1,4}$/i.test(part)) octets.push(parseInt(part, 16) >> 8, parseInt(part, 16) & 0xff);
    else return undefined;
  }
  return octets;
}

function parseV4(text: string): number[] | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256)) return undefined;
  return parts.map(Number);
}
