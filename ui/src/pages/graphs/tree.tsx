// Trees of graphs: folders open when they are asked for.

import { createResource, createSignal, For, Show, type JSX } from "solid-js";
import { get } from "../../api/client";
import type { GraphNode, GraphNodes, GraphTrees } from "../../api/types";
import { Icon } from "../../parts/icon";
import { known } from "../../parts/known";

export interface Chosen {
  node?: number | undefined;
  choose: (node: GraphNode) => void;
}

export function Trees(props: { trees: GraphTrees } & Chosen): JSX.Element {
  return (
    <For each={props.trees.trees}>
      {(tree) => (
        <section class="graphs-tree">
          <h2>{tree.name}</h2>
          <Level nodes={tree.nodes} node={props.node} choose={props.choose} />
        </section>
      )}
    </For>
  );
}

function Level(props: { nodes: GraphNode[] } & Chosen): JSX.Element {
  return (
    <ul>
      <For each={props.nodes}>{(node) => <Place place={node} node={props.node} choose={props.choose} />}</For>
    </ul>
  );
}

function Place(props: { place: GraphNode } & Chosen): JSX.Element {
  const [open, setOpen] = createSignal(false);
  const [inside] = createResource(
    () => open() && props.place,
    (place) => get<GraphNodes>(`/graphs/trees/${place.tree}/nodes`, { parent: place.id }),
  );
  return (
    <li>
      <div class="graphs-place">
        <Show when={props.place.opens} fallback={<span class="graphs-leaf" />}>
          <button class="graphs-opens" aria-expanded={open()} aria-label={`${open() ? "Close" : "Open"} ${props.place.name}`} onClick={() => setOpen(!open())}>
            <Icon name={open() ? "down" : "right"} size={14} />
          </button>
        </Show>
        <button class="graphs-node clip" aria-current={props.node === props.place.id ? "true" : undefined} onClick={() => props.choose(props.place)}>
          {props.place.name}
        </button>
      </div>
      <Show when={open() && known(inside)}>{(level) => <Level nodes={level().nodes} node={props.node} choose={props.choose} />}</Show>
      <Show when={open() && inside.error}>
        <p class="bad-ink">{String(inside.error)}</p>
      </Show>
    </li>
  );
}
