// Arranges trees: names, what stands where, and what is taken out. Devices and graphs stay whatever is done here.

import { createResource, createSignal, For, Show, type JSX } from "solid-js";
import { get, post, remove } from "../../api/client";
import type { GraphDevices, GraphNode, GraphNodes, GraphTrees } from "../../api/types";
import { Dialog } from "../../parts/dialog";
import { known } from "../../parts/known";

/** Folders that something can be moved to, and devices that can be chosen of. */
const FOLDERS_MAX = 200;
const DEVICES_MAX = 500;

/** A tree, or a place in one. */
export interface Arranged {
  tree: number;
  place?: number;
  parent?: number | undefined;
  name: string;
  kind: string;
  /** The places beside it, itself among them, in their order. */
  siblings: number[];
}

interface Doing {
  what: Arranged;
  close: () => void;
  changed: () => void;
}

/** What something is done by: an answer of the API, then the trees are asked for again. */
function useDoing(props: Doing): { error: () => string; run: (work: () => Promise<unknown>) => Promise<void> } {
  const [error, setError] = createSignal("");
  const run = async (work: () => Promise<unknown>): Promise<void> => {
    setError("");
    try {
      await work();
      props.changed();
      props.close();
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem));
    }
  };
  return { error, run };
}

const said = (event: SubmitEvent, name: string): string => {
  event.preventDefault();
  return String(new FormData(event.currentTarget as HTMLFormElement).get(name) ?? "").trim();
};

export function Arrange(props: Doing): JSX.Element {
  const { error, run } = useDoing(props);
  const isTree = (): boolean => props.what.place === undefined;
  const holds = (): boolean => isTree() || props.what.kind === "folder";
  const hasName = (): boolean => holds() || props.what.kind === "rule";
  const at = (): string => (isTree() ? `/graphs/trees/${props.what.tree}` : `/graphs/places/${props.what.place}`);
  return (
    <Dialog title={`Arrange ${props.what.name}`} close={props.close}>
      <div class="stack">
        <Show when={hasName()}>
          <form class="row" onSubmit={(event) => void run(() => post(at(), { name: said(event, "name") }))}>
            <input class="input graphs-wide" name="name" aria-label="Name" value={props.what.name} required autocomplete="off" />
            <button class="button">Rename</button>
          </form>
        </Show>
        <Show when={holds()}>
          <Put what={props.what} run={run} />
        </Show>
        <Show when={!isTree()}>
          <Move what={props.what} run={run} />
        </Show>
        <Show when={error()}>
          <p class="bad-ink" role="alert">
            {error()}
          </p>
        </Show>
        <footer class="row">
          <span class="muted">Devices and graphs are kept.</span>
          <button class="button danger spread" onClick={() => void run(() => remove(at()))}>
            {isTree() ? "Remove the tree" : "Remove from the tree"}
          </button>
        </footer>
      </div>
    </Dialog>
  );
}

type Run = (work: () => Promise<unknown>) => Promise<void>;

/** Puts something into a tree or a folder. */
function Put(props: { what: Arranged; run: Run }): JSX.Element {
  const [devices] = createResource(() => get<GraphDevices>("/graphs/devices", { limit: DEVICES_MAX }));
  const put = (place: Record<string, unknown>): void => void props.run(() => post("/graphs/places", { tree: props.what.tree, parent: props.what.place, ...place }));
  return (
    <>
      <form class="row" onSubmit={(event) => put({ kind: "folder", name: said(event, "name") })}>
        <input class="input graphs-wide" name="name" aria-label="Name of the new folder" placeholder="New folder" required autocomplete="off" />
        <button class="button">Add the folder</button>
      </form>
      <form class="row" onSubmit={(event) => put({ kind: "device", target: Number(said(event, "device")), group: "template" })}>
        <select class="input graphs-wide" name="device" aria-label="Device" required>
          <option value="">Choose a device …</option>
          <For each={known(devices)?.devices ?? []}>{(device) => <option value={String(device.id)}>{device.name}</option>}</For>
        </select>
        <button class="button">Add the device</button>
      </form>
      <form
        class="row"
        onSubmit={(event) => {
          const [name, device, row] = ["name", "device", "row"].map((field) => said(event, field));
          put({ kind: "rule", name, device: device || undefined, row: row || undefined, group: "device" });
        }}
      >
        <input class="input graphs-third" name="name" aria-label="Name of the rule" placeholder="A rule: all graphs" required autocomplete="off" />
        <input class="input graphs-third" name="device" aria-label="Devices of the rule" placeholder="of edge-*" autocomplete="off" />
        <input class="input graphs-third" name="row" aria-label="Rows of the rule" placeholder="and Gi0/*" autocomplete="off" />
        <button class="button">Add the rule</button>
      </form>
    </>
  );
}

/** Moves a place among its neighbours, or to another folder of its tree. */
function Move(props: { what: Arranged; run: Run }): JSX.Element {
  const [folders] = createResource(() => foldersOf(props.what.tree, props.what.place));
  const place = (): number => props.what.siblings.indexOf(props.what.place!);
  const move = (to: { parent?: number | undefined; before?: number | undefined }): void => void props.run(() => post(`/graphs/places/${props.what.place}/move`, to));
  return (
    <form
      class="row"
      onSubmit={(event) => {
        const to = said(event, "folder");
        move({ parent: to === "" ? undefined : Number(to) });
      }}
    >
      <button class="button" type="button" disabled={place() <= 0} onClick={() => move({ parent: props.what.parent, before: props.what.siblings[place() - 1] })}>
        Up
      </button>
      <button class="button" type="button" disabled={place() >= props.what.siblings.length - 1} onClick={() => move({ parent: props.what.parent, before: props.what.siblings[place() + 2] })}>
        Down
      </button>
      <select class="input graphs-wide" name="folder" aria-label="Folder">
        <option value="">top level</option>
        <For each={known(folders) ?? []}>{({ id, way }) => <option value={String(id)}>{way}</option>}</For>
      </select>
      <button class="button">Move</button>
    </form>
  );
}

/** The folders of a tree, but one and those in it. */
async function foldersOf(tree: number, without: number | undefined): Promise<{ id: number; way: string }[]> {
  const found: { id: number; way: string }[] = [];
  const { trees } = await get<GraphTrees>("/graphs/trees");
  const waiting: { way: string; nodes: GraphNode[] }[] = [{ way: "", nodes: trees.find(({ id }) => id === tree)?.nodes ?? [] }];
  for (let level = waiting.pop(); level && found.length < FOLDERS_MAX; level = waiting.pop()) {
    for (const node of level.nodes) {
      if (node.kind !== "folder" || node.id === without) continue;
      const way = level.way === "" ? node.name : `${level.way} / ${node.name}`;
      found.push({ id: node.id, way });
      if (node.opens) waiting.push({ way, nodes: (await get<GraphNodes>(`/graphs/trees/${tree}/nodes`, { parent: node.id })).nodes });
    }
  }
  return found;
}

/** Makes a tree. */
export function AddTree(props: { close: () => void; changed: () => void }): JSX.Element {
  const { error, run } = useDoing({ ...props, what: { tree: 0, name: "", kind: "tree", siblings: [] } });
  return (
    <Dialog title="Add a tree" close={props.close}>
      <form class="stack" onSubmit={(event) => void run(() => post("/graphs/trees", { name: said(event, "name") }))}>
        <label class="field">
          <span>Name</span>
          <input class="input" name="name" required autocomplete="off" />
        </label>
        <Show when={error()}>
          <p class="bad-ink" role="alert">
            {error()}
          </p>
        </Show>
        <button class="button primary">Add the tree</button>
      </form>
    </Dialog>
  );
}
