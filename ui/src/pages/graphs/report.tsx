// How much went where: figures of graphs over a span, as a table and as a file.

import { A } from "@solidjs/router";
import { createResource, For, Match, Show, Switch, type JSX } from "solid-js";
import { get, url, type Query } from "../../api/client";
import type { GraphFiguresList } from "../../api/types";
import { of } from "../../format";
import { Icon } from "../../parts/icon";
import { known } from "../../parts/known";
import { Empty, Loading, Trouble } from "../../parts/states";
import type { Range } from "../../range";
import { span } from "../../time";
import { asked, figureOf, spanOf } from "./words";

/** Graphs of the table; the file has more. */
const GRAPHS = 100;

export function Report(props: { question: Query; name: string; range: Range; link: (id: number) => string }): JSX.Element {
  const question = (): Query => ({ ...props.question, ...asked(spanOf(props.range)) });
  const [list, again] = createResource(
    () => JSON.stringify({ ...props.question, ...props.range }),
    () => get<GraphFiguresList>("/graphs/figures", { ...question(), limit: GRAPHS }),
  );
  return (
    <section class="panel" aria-label="Report">
      <header>
        <h2>{props.name}</h2>
        <span class="muted">
          <Show when={known(list)}>{(list) => (list().total > GRAPHS ? `first ${GRAPHS} of ${of(list().total, "graph", "graphs")}: narrow the search` : of(list().total, "graph", "graphs"))}</Show>
        </span>
        <a class="button" href={url("/graphs/figures/csv", question())} download="graphs.csv" aria-label="Download the report as CSV">
          <Icon name="download" size={16} /> CSV
        </a>
      </header>
      <Switch fallback={<Loading what="the report" />}>
        <Match when={list.error}>
          <Trouble error={list.error} retry={() => void again.refetch()} />
        </Match>
        <Match when={known(list)?.total === 0}>
          <Empty icon="graphs" title="No graphs">
            The title must contain all words.
          </Empty>
        </Match>
        <Match when={known(list)}>
          {(list) => (
            <div class="scroll" tabindex="0" role="group" aria-label="Table of figures">
              <table class="table">
                <thead>
                  <tr>
                    <th scope="col">Graph</th>
                    <th scope="col">Series</th>
                    <For each={["Average", "95 %", "Max", "Total", "Resolution"]}>
                      {(name) => (
                        <th scope="col" class="right">
                          {name}
                        </th>
                      )}
                    </For>
                  </tr>
                </thead>
                <tbody>
                  <For each={list().graphs}>{(graph) => <Rows graph={graph} link={props.link} />}</For>
                </tbody>
              </table>
            </div>
          )}
        </Match>
      </Switch>
      <p class="body muted">Resolution is the finest that the files have for the whole time range; at a coarser resolution the percentile is lower. A total exists for rates only: the sum over the time range.</p>
    </section>
  );
}

function Rows(props: { graph: GraphFiguresList["graphs"][number]; link: (id: number) => string }): JSX.Element {
  const name = (): JSX.Element => <A href={props.link(props.graph.id)}>{props.graph.title}</A>;
  return (
    <Show
      when={props.graph.trouble === null && props.graph.series.length > 0}
      fallback={
        <tr>
          <td>{name()}</td>
          <td colSpan={6} class="muted">
            {props.graph.trouble ?? "No named series."}
          </td>
        </tr>
      }
    >
      <For each={props.graph.series}>
        {(series, at) => (
          <tr>
            <td>{at() === 0 ? name() : ""}</td>
            <td>{series.label}</td>
            <For each={["average", "p95", "max", "total"] as const}>{(figure) => <td class="right nowrap">{figureOf(figure, series[figure], 1000, props.graph.unit)}</td>}</For>
            <td class="right nowrap">{props.graph.step === null ? "–" : span(props.graph.step)}</td>
          </tr>
        )}
      </For>
    </Show>
  );
}
