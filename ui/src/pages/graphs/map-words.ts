// Links as one of their ends sees them.

import type { GraphLink, GraphLinkEnd, GraphMap, GraphMapNode } from "../../api/types";

export interface Beside {
  link: GraphLink;
  near: GraphLinkEnd;
  far: GraphLinkEnd;
  node: GraphMapNode;
}

/** Who is beside a node, in the order of the links. */
export function beside(map: GraphMap, key: string): Beside[] {
  const nodes = new Map(map.nodes.map((node) => [node.key, node]));
  return map.links.flatMap((link) => {
    const [a, b] = link.ends;
    if (!a || !b || (a.node !== key && b.node !== key)) return [];
    const [near, far] = a.node === key ? [a, b] : [b, a];
    const node = nodes.get(far.node);
    return node ? [{ link, near, far, node }] : [];
  });
}

/** Links between the same two nodes, drawn as one. */
export interface Strand {
  a: string;
  b: string;
  count: number;
  oneSided: boolean;
}

export function strands(map: GraphMap): Strand[] {
  const all = new Map<string, Strand>();
  for (const { ends, one_sided } of map.links) {
    const [a, b] = [ends[0]?.node ?? "", ends[1]?.node ?? ""];
    const strand = all.get(`${a} ${b}`);
    if (strand) all.set(`${a} ${b}`, { ...strand, count: strand.count + 1, oneSided: strand.oneSided && one_sided });
    else all.set(`${a} ${b}`, { a, b, count: 1, oneSided: one_sided });
  }
  return [...all.values()];
}
