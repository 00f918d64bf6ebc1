// Previews of graphs: a page of them in one question.

import { A } from "@solidjs/router";
import { createMemo, createResource, For, Match, Show, Switch, type JSX } from "solid-js";
import { get } from "../../api/client";
import type { GraphBrief, GraphPictures } from "../../api/types";
import { GraphChart } from "../../parts/graph-chart";
import { Icon } from "../../parts/icon";
import { known } from "../../parts/known";
import type { Range } from "../../range";
import { isRelative } from "../../ranges";
import { useEvery } from "../charge/every";
import { asked, spanOf } from "./words";

/** Milliseconds between two looks at what goes on. */
const LOOK_MS = 30_000;
/** Rows of a preview. */
const WIDTH = 240;

type Seen = { span: [number, number]; by: Map<number, GraphPictures["pictures"][number]> };

export function Previews(props: { graphs: GraphBrief[]; range: Range; link: (id: number) => string }): JSX.Element {
  const ids = createMemo(() => props.graphs.map((graph) => graph.id).join(","));
  const [seen, again] = createResource(
    () => (ids() === "" ? undefined : { ids: ids(), range: props.range }),
    async ({ ids, range }): Promise<Seen> => {
      const span = spanOf(range);
      const { pictures } = await get<GraphPictures>("/graphs/pictures", { ids, width: WIDTH, ...asked(span) });
      return { span, by: new Map(pictures.map((one) => [one.id, one])) };
    },
  );
  useEvery(LOOK_MS, () => void (isRelative(props.range) && !seen.loading && again.refetch()));
  return (
    <ul class="graphs-previews" aria-busy={seen.loading}>
      <For each={props.graphs}>
        {(graph, at) => (
          <>
            <Show when={graph.group && graph.group !== props.graphs[at() - 1]?.group}>
              <li class="graphs-group">
                <h2>{graph.group}</h2>
              </li>
            </Show>
            <li class="panel graphs-preview">
              <A href={props.link(graph.id)} data-row-link>
                {graph.title}
              </A>
              <div class="graphs-preview-body">
                <Switch>
                  <Match when={seen.error}>
                    <Bad text={String(seen.error instanceof Error ? seen.error.message : seen.error)} />
                  </Match>
                  <Match when={known(seen)?.by.get(graph.id)?.trouble}>{(why) => <Bad text={why()} />}</Match>
                  <Match when={known(seen)?.by.get(graph.id)?.picture}>
                    {(picture) => <GraphChart picture={picture()} span={known(seen)!.span} height={130} small />}
                  </Match>
                </Switch>
              </div>
            </li>
          </>
        )}
      </For>
    </ul>
  );
}

function Bad(props: { text: string }): JSX.Element {
  return (
    <p class="remark muted">
      <span class="bad-ink">
        <Icon name="bad" size={14} />
      </span>
      {props.text}
    </p>
  );
}
