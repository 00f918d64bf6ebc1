// What rules about graphs are about, and whose they are.

import { whole } from "../../format";
import type { GraphRights, GraphRuleTold, Role } from "../../api/types";

/** A role or a user. */
export interface Whose {
  role?: Role;
  user?: string;
}

export interface Kind {
  kind: string;
  name: string;
  ask: string;
  example: string;
  isNumber?: boolean;
}

const PATTERN = "name; * matches any characters, ? matches one";

export const KINDS: Kind[] = [
  { kind: "site", name: "devices of a site", ask: `Site: ${PATTERN}`, example: "London*" },
  { kind: "device-name", name: "devices by name", ask: `Device: ${PATTERN}`, example: "ams-edge-*" },
  { kind: "device-template", name: "devices of a kind", ask: `Device template: ${PATTERN}`, example: "cisco-*" },
  { kind: "tree", name: "trees with their contents", ask: `Tree: ${PATTERN}`, example: "Customers*" },
  { kind: "graph-template", name: "graphs of a kind", ask: `Graph template: ${PATTERN}`, example: "interface-*" },
  { kind: "graph-title", name: "graphs by title", ask: `Title: ${PATTERN}`, example: "*customer 4711*" },
  { kind: "device", name: "one device", ask: "Number of the device, as in the address of its page", example: "17", isNumber: true },
  { kind: "place", name: "a folder in a tree with its contents", ask: "Number of the place, as in the address of the graphs' page (node)", example: "17", isNumber: true },
  { kind: "graph", name: "one graph", ask: "Number of the graph, as in the address of its page", example: "17", isNumber: true },
];

/** One that is not known here says its own name. */
export function kindOf(kind: string): Kind {
  return KINDS.find((one) => one.kind === kind) ?? { kind, name: kind, ask: kind, example: "" };
}

const isRole = (text: string): text is Role => ["viewer", "support", "engineer", "administrator"].includes(text);

/** `role:viewer` or `user:anna`; viewers when nothing is said, or nonsense. */
export function whoseOf(text: string | undefined): Whose {
  const [kind, ...rest] = (text ?? "").split(":");
  const name = rest.join(":");
  if (kind === "user" && name) return { user: name };
  return { role: kind === "role" && isRole(name) ? name : "viewer" };
}

export const queryOf = (of: Whose): string => (of.user ? `user=${encodeURIComponent(of.user)}` : `role=${of.role}`);

export const bodyOf = (of: Whose): Whose => (of.user ? { user: of.user } : { role: of.role ?? "viewer" });

/** The rules of somebody; who has none begins with what their role says, and a role with everything. */
export function rightsOf(all: GraphRights[], of: Whose): GraphRights {
  const own = all.find((one) => (of.user ? one.user === of.user : one.role === of.role));
  return own ?? { role: of.role ?? null, user: of.user ?? null, default: of.user ? "role" : "everything", rules: [] } as unknown as GraphRights;
}

/** What a rule is about at present, or nothing. */
export function takes(rule: Pick<GraphRuleTold, "devices" | "graphs" | "places">): string | undefined {
  const part = (count: number, one: string): string[] => (count === 0 ? [] : [`${whole(count)} ${one}${count === 1 ? "" : "s"}`]);
  const parts = [...part(rule.devices, "device"), ...part(rule.graphs, "graph"), ...part(rule.places, "place")];
  return parts.length === 0 ? undefined : parts.join(", ");
}
