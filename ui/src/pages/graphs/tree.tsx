// Trees of graphs: folders open when they are asked for; administrators arrange what stands in them.

import { createResource, createSignal, For, Show, type JSX } from "solid-js";
import { get } from "../../api/client";
import type { GraphNode, GraphNodes, GraphTrees } from "../../api/types";
import { Icon } from "../../parts/icon";
import { known } from "../../parts/known";
import type { Arranged } from "./arrange";

export interface Chosen {
  node?: number | undefined;
  choose: (node: GraphNode) => void;
  /** Arranges a tree or a place; none where nobody may. */
  arrange?: ((what: Arranged) => void) | undefined;
  /** Another one when places have changed: what is open is asked for again. */
  version: number;
}

/** Which folders are open. Kept for all of them, because places that come anew from the server are new places here. */
interface Doors {
  isOpen: (place: number) => boolean;
  turn: (place: number) => void;
}

export function Trees(props: { trees: GraphTrees } & Chosen): JSX.Element {
  const [opened, setOpened] = createSignal<ReadonlySet<number>>(new Set<number>());
  const doors: Doors = {
    isOpen: (place) => opened().has(place),
    turn: (place) => setOpened((all) => (all.has(place) ? new Set([...all].filter((one) => one !== place)) : new Set([...all, place]))),
  };
  return (
    <For each={props.trees.trees}>
      {(tree) => (
        <section class="graphs-tree">
          <div class="graphs-place">
            <h2 class="clip">{tree.name}</h2>
            <Show when={props.arrange}>{(arrange) => <Change name={tree.name} run={() => arrange()({ tree: tree.id, name: tree.name, siblings: [], kind: "tree" })} />}</Show>
          </div>
          <Level nodes={tree.nodes} doors={doors} {...props} />
        </section>
      )}
    </For>
  );
}

function Change(props: { name: string; run: () => void }): JSX.Element {
  return (
    <button class="button quiet icon graphs-change" aria-label={`Arrange ${props.name}`} onClick={props.run}>
      <Icon name="settings" size={14} />
    </button>
  );
}

function Level(props: { nodes: GraphNode[]; parent?: number | undefined; doors: Doors } & Chosen): JSX.Element {
  return (
    <ul>
      <For each={props.nodes}>{(node) => <Place place={node} siblings={props.nodes} parent={props.parent} doors={props.doors} node={props.node} choose={props.choose} arrange={props.arrange} version={props.version} />}</For>
    </ul>
  );
}

function Place(props: { place: GraphNode; siblings: GraphNode[]; parent: number | undefined; doors: Doors } & Chosen): JSX.Element {
  const open = (): boolean => props.doors.isOpen(props.place.id);
  const [inside] = createResource(
    () => open() && { place: props.place, version: props.version },
    ({ place }) => get<GraphNodes>(`/graphs/trees/${place.tree}/nodes`, { parent: place.id }),
  );
  return (
    <li>
      <div class="graphs-place">
        <Show when={props.place.opens} fallback={<span class="graphs-leaf" />}>
          <button class="graphs-opens" aria-expanded={open()} aria-label={`${open() ? "Close" : "Open"} ${props.place.name}`} onClick={() => props.doors.turn(props.place.id)}>
            <Icon name={open() ? "down" : "right"} size={14} />
          </button>
        </Show>
        <button class="graphs-node clip" aria-current={props.node === props.place.id ? "true" : undefined} onClick={() => props.choose(props.place)}>
          {props.place.name}
        </button>
        <Show when={props.arrange}>
          {(arrange) => (
            <Change
              name={props.place.name}
              run={() => arrange()({ tree: props.place.tree, place: props.place.id, parent: props.parent, name: props.place.name, kind: props.place.kind, siblings: props.siblings.map(({ id }) => id) })}
            />
          )}
        </Show>
      </div>
      <Show when={open() && known(inside)}>
        {(level) => <Level nodes={level().nodes} parent={props.place.id} doors={props.doors} node={props.node} choose={props.choose} arrange={props.arrange} version={props.version} />}
      </Show>
      <Show when={open() && inside.error}>
        <p class="bad-ink">{String(inside.error)}</p>
      </Show>
    </li>
  );
}
