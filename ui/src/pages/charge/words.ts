// How money, units and results of charging are said.

import { NONE, octets, short, whole } from "../../format";

/** Amounts of an account or a plan: minor units of a currency. */
export interface Coin {
  currency: string | null;
  decimals: number | null;
}

/** 12.34 EUR */
export function money(minor: number | null | undefined, coin: Coin): string {
  if (minor === null || minor === undefined) return NONE;
  const sign = minor < 0 ? "\u2212" : "";
  // Without a plan nobody knows how many digits a currency has.
  if (coin.decimals === null || coin.decimals === undefined) return `${sign}${whole(Math.abs(minor))} minor units`;
  const digits = coin.decimals;
  const text = String(Math.abs(minor)).padStart(digits + 1, "0");
  const major = whole(Number(text.slice(0, text.length - digits)));
  const rest = digits > 0 ? `.${text.slice(text.length - digits)}` : "";
  return `${sign}${major}${rest}${coin.currency ? ` ${coin.currency}` : ""}`;
}

/** +12.34 EUR, with a sign where something came or went. */
export const signed = (minor: number, coin: Coin): string => (minor > 0 ? `+${money(minor, coin)}` : money(minor, coin));

/** Minor units of what somebody typed: "12.34", "12,3", "-5"; undefined where it is no amount of that currency. */
export function minorOf(text: string, coin: Coin): number | undefined {
  const digits = coin.decimals ?? 2;
  const found = /^([+-]?)(\d{1,12})(?:[.,](\d+))?$/.exec(text.trim());
  if (!found || (found[3] ?? "").length > digits) return undefined;
  const minor = Number(found[2]) * 10 ** digits + Number((found[3] ?? "").padEnd(digits, "0") || "0");
  return found[1] === "-" ? -minor : minor;
}

/** 10 MiB, 12 min, 3 units */
export function units(count: number | null | undefined, unit: string | null | undefined): string {
  if (count === null || count === undefined) return NONE;
  const sign = count < 0 ? "\u2212" : "";
  const much = Math.abs(count);
  switch (unit) {
    case "octets":
      return sign + octets(much);
    case "octets-in":
      return `${sign}${octets(much)} up`;
    case "octets-out":
      return `${sign}${octets(much)} down`;
    case "seconds":
      return sign + seconds(much);
    case "events":
      return `${sign}${whole(much)} ${much === 1 ? "event" : "events"}`;
    default:
      return `${sign}${whole(much)} ${much === 1 ? "unit" : "units"}`;
  }
}

/** "45 s", "1:05 min", "2:00:00 h" */
function seconds(s: number): string {
  const two = (n: number): string => String(n).padStart(2, "0");
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)}:${two(s % 60)} min`;
  return `${whole(Math.floor(s / 3600))}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)} h`;
}

/** Microseconds: "340 us", "1.2 ms", "2.1 s". */
export function micros(us: number | null | undefined): string {
  if (us === null || us === undefined) return NONE;
  if (us < 1000) return `${Math.round(us)} \u00b5s`;
  if (us < 1_000_000) return `${(us / 1000).toFixed(us < 10_000 ? 1 : 0)} ms`;
  return `${(us / 1_000_000).toFixed(1)} s`;
}

export const perSecond = (rate: number | null | undefined): string => (rate === null || rate === undefined ? NONE : `${short(rate < 10 ? Math.round(rate * 10) / 10 : Math.round(rate))}/s`);

/** What result codes say (RFC 6733, RFC 8506). */
const RESULTS: Record<number, string> = {
  2001: "granted",
  3004: "too busy",
  4010: "service denied",
  4011: "free of charge",
  4012: "no credit left",
  5002: "unknown session",
  5004: "invalid value",
  5012: "unable to comply",
  5030: "unknown subscriber",
  5031: "no price",
};

export const resultText = (code: number | null): string => (code === null ? NONE : `${code} ${RESULTS[code] ?? ""}`.trim());

/** What lines of a ledger are. */
const KINDS: Record<string, string> = {
  "top-up": "Top-up",
  refund: "Refund",
  adjustment: "Adjustment",
  bought: "Bundle bought",
  renewed: "Bundle renewed",
  expired: "Bundle expired",
  "units-adjusted": "Units adjusted",
  charge: "Usage",
};

export const kindText = (kind: string): string => KINDS[kind] ?? kind;

/** The service of a charge or a grant in words. */
export function serviceText(group: number | null, service: number | null): string {
  const parts = [group === null ? "" : `rating group ${group}`, service === null ? "" : `service ${service}`].filter(Boolean);
  return parts.join(", ") || "no rating group";
}

/** A new key of an order: what comes again with it is not done again. */
export function newKey(): string {
  const octetsOf = crypto.getRandomValues(new Uint8Array(16));
  return [...octetsOf].map((octet) => octet.toString(16).padStart(2, "0")).join("");
}

/** What is sought: an account by its number, or a subscriber by an identity; of bare digits, 10 to 15 may be an IMSI, a number that is called, or an account. */
export function sought(text: string): { account?: string; identities: string[] } | undefined {
  const typed = text.trim();
  if (/^(\d{1,9}|\d{16})$/.test(typed)) return { account: typed, identities: [] };
  if (/^(imsi|e164|sips?|nai|private):\S+$/.test(typed)) return { identities: [typed] };
  if (/^\+\d{5,15}$/.test(typed)) return { identities: [`e164:${typed.slice(1)}`] };
  if (/^\d{10,15}$/.test(typed)) return { account: typed, identities: [`imsi:${typed}`, `e164:${typed}`] };
  if (/^\S+@\S+$/.test(typed)) return { identities: [`sip:${typed}`, `nai:${typed}`] };
  return undefined;
}
