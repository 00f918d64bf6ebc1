// One graph of many, and another title or template for one.

import { createResource, createSignal, For, Show, type JSX } from "solid-js";
import { get, post, type Query } from "../../api/client";
import type { GraphList, GraphShown, GraphTemplateList } from "../../api/types";
import { of } from "../../format";
import { Dialog } from "../../parts/dialog";
import { known } from "../../parts/known";

/** Graphs that one can be made of. */
export const OF_MANY_MAX = 500;

export interface Doing {
  close: () => void;
  done: () => void;
}

/** Has something saved, and the window closed when that was done. */
export function useSaving(props: Doing): { error: () => string; save: (work: () => Promise<unknown>) => Promise<void> } {
  const [error, setError] = createSignal("");
  const save = async (work: () => Promise<unknown>): Promise<void> => {
    setError("");
    try {
      await work();
      props.done();
      props.close();
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem));
    }
  };
  return { error, save };
}

const text = (event: SubmitEvent, name: string): string => {
  event.preventDefault();
  return String(new FormData(event.currentTarget as HTMLFormElement).get(name) ?? "").trim();
};

/** Makes one graph of all that a search has found. */
export function OneOfMany(props: Doing & { question: Query; words: string }): JSX.Element {
  const { error, save } = useSaving(props);
  const [list] = createResource(() => get<GraphList>("/graphs", { ...props.question, offset: 0, limit: OF_MANY_MAX }));
  const ids = (): number[] => known(list)?.graphs.map(({ id }) => id) ?? [];
  const [templates] = createResource(
    () => ids().length > 0 && ids().join(","),
    (graphs) => get<GraphTemplateList>("/graphs/graph-templates", { graphs }),
  );
  const fitting = (): GraphTemplateList["templates"] => (known(templates)?.templates ?? []).filter((template) => template.of_many);
  return (
    <Dialog title="Combine these graphs" close={props.close}>
      <form class="stack" onSubmit={(event) => void save(() => post("/graphs", { title: text(event, "title") || undefined, template: text(event, "template"), graphs: ids() }))}>
        <p>The new graph combines {of(ids().length, "graph", "graphs")}. Graphs that appear later are not added.</p>
        <label class="field">
          <span>Title</span>
          <input class="input" name="title" value={props.words} required autocomplete="off" />
        </label>
        <label class="field">
          <span>Template</span>
          <select class="input" name="template" required>
            <For each={fitting()}>{(template) => <option value={template.name}>{template.title || template.name}</option>}</For>
          </select>
        </label>
        <Show when={known(templates) && fitting().length === 0}>
          <p class="bad-ink">No template can combine these graphs. Interface traffic can be summed; your own templates can use <code>aggregate</code>.</p>
        </Show>
        <Show when={error()}>
          <p class="bad-ink" role="alert">
            {error()}
          </p>
        </Show>
        <button class="button primary" disabled={fitting().length === 0}>
          Create the graph
        </button>
      </form>
    </Dialog>
  );
}

/** Gives a graph another title or template. */
export function ChangeGraph(props: Doing & { graph: GraphShown }): JSX.Element {
  const { error, save } = useSaving(props);
  const [templates] = createResource(() => get<GraphTemplateList>("/graphs/graph-templates", { graphs: String(props.graph.id) }));
  const change = (event: SubmitEvent): void => {
    const [title, template] = [text(event, "title"), text(event, "template")];
    void save(() => post(`/graphs/${props.graph.id}`, { title: title === props.graph.title ? undefined : title, template: template === props.graph.template ? undefined : template }));
  };
  return (
    <Dialog title="Change the graph" close={props.close}>
      <form class="stack" onSubmit={change}>
        <label class="field">
          <span>Title with placeholders |device|, |name|, |label|. Leave it empty to use the template&#39;s title.</span>
          <input class="input" name="title" value={props.graph.title} autocomplete="off" />
        </label>
        <label class="field">
          <span>Template</span>
          <select class="input" name="template">
            <For each={known(templates)?.templates ?? []}>
              {(template) => (
                <option value={template.name} selected={template.name === props.graph.template}>
                  {template.title ? `${template.title} (${template.name})` : template.name}
                </option>
              )}
            </For>
          </select>
        </label>
        <Show when={error()}>
          <p class="bad-ink" role="alert">
            {error()}
          </p>
        </Show>
        <button class="button primary" disabled={!known(templates)}>
          Change the graph
        </button>
      </form>
    </Dialog>
  );
}
