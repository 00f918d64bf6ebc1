// How streams are called where several stand together.

import { addressOf, nameOf } from "../../aliases";
import type { Stream } from "../../api/types";

/** "2. SBC London → Customers"; ends of one name by their addresses. */
export function pairName(stream: Stream, index: number): string {
  const { src, dst } = stream;
  if (!src || !dst || nameOf(src) !== nameOf(dst)) return `${index + 1}. ${nameOf(src)} → ${nameOf(dst)}`;
  const apart = addressOf(src) === addressOf(dst) ? [src, dst] : [addressOf(src), addressOf(dst)];
  return `${index + 1}. ${apart.join(" → ")}`;
}

/** A host's name where there is little room: of an address its end, which differs most. */
export const shortName = (name: string): string => {
  const parts = /^[\d.]+$|^[\da-f:]+$/i.test(name) ? name.split(/[.:]/).filter(Boolean) : [];
  return parts.length > 2 ? `…${parts.slice(-2).join(name.includes(":") ? ":" : ".")}` : name;
};
