// Work of the server that takes longer than a request and is kept for a day: asked for again and again while it runs,
// its end, and what was asked before. Comparisons and ratings alike.

import { A, useNavigate } from "@solidjs/router";
import { createEffect, createMemo, createSignal, For, Match, on, Show, Switch, type Accessor, type JSX } from "solid-js";
import { get, remove } from "../../api/client";
import { Problem } from "../../api/problem";
import { Empty, Loading, Trouble } from "../../parts/states";
import { Time } from "../../parts/time";
import { toastError } from "../../parts/toast";
import { useEvery } from "./every";

/** How often one that runs is asked for, and how often the list is while one of it runs. */
const LOOK_MS = 700;
const LIST_MS = 2000;

/** What all kinds of such work tell. */
export interface Work {
  id: string;
  state: string;
  step: string | null;
  read: number;
  asked: string;
  error: string | null;
}

export interface Followed<T> {
  one: Accessor<T | undefined>;
  error: Accessor<unknown>;
  running: Accessor<boolean>;
  look: () => void;
}

/** One piece of work, by its path of the API: followed to its end. */
export function useWork<T extends Work>(path: () => string): Followed<T> {
  const [one, setOne] = createSignal<T>();
  const [error, setError] = createSignal<unknown>();
  const running = createMemo(() => one()?.state === "running");
  const look = (): void => {
    get<T>(path())
      .then((found) => {
        setOne(() => found);
        setError(undefined);
      })
      .catch((problem) => setError(() => problem));
  };
  createEffect(on(path, look));
  createEffect(() => running() && useEvery(LOOK_MS, look));
  return { one, error, running, look };
}

/** How a kind of work is spoken of. */
export interface WorkWords {
  /** "comparison" */
  noun: string;
  /** "Compare again" */
  again: string;
  /** Where it is begun: "/charge/bill". */
  begin: string;
  /** "Comparing" */
  doing: string;
  /** "The comparison failed" */
  failed: string;
  /** What is said aloud, by state. */
  said: Record<string, string>;
  /** How far it is, in a sentence. */
  far: (one: Work) => string;
}

/** One piece of work: how far it is, how it failed, or what came of it. */
export function OneWork<T extends Work>(props: { of: Followed<T>; path: string; words: WorkWords; children: (one: T) => JSX.Element }): JSX.Element {
  const navigate = useNavigate();
  const one = (): T | undefined => props.of.one();
  const gone = (): boolean => props.of.error() instanceof Problem && (props.of.error() as Problem).kind === "not-found";
  const cancel = (): void => {
    remove(props.path)
      .then(() => navigate(props.words.begin))
      .catch(toastError);
  };
  const again = (): string => `${props.words.begin}?again=${one()?.id ?? ""}`;
  return (
    <>
      <p class="sr" role="status">
        {props.words.said[one()?.state ?? ""] ?? ""}
      </p>
      <div class="charge">
        <Switch fallback={<Loading what={`the ${props.words.noun}`} />}>
          <Match when={gone()}>
            <Empty icon="charge" title={`${props.words.noun.replace(/^./, (letter) => letter.toUpperCase())} not found`}>
              <p>
                A ${props.words.noun} is kept for one day, until the program restarts, and only the user who started it can see it. <A href={props.words.begin}>{props.words.again}</A>.
              </p>
            </Empty>
          </Match>
          <Match when={props.of.error() && !one()}>
            <Trouble error={props.of.error()} retry={props.of.look} />
          </Match>
          <Match when={props.of.running()}>
            <section class="panel" aria-label="Running">
              <div class="body stack">
                <progress class="charge-progress" aria-label={props.words.doing} />
                <p class="row">
                  <span>{props.words.far(one()!)} You can leave this page; it continues.</span>
                  <button class="button spread" onClick={cancel}>
                    Cancel
                  </button>
                </p>
                <Show when={props.of.error()}>{(error) => <p class="bad-ink">The progress is unknown now: {error() instanceof Error ? (error() as Error).message : String(error())}</p>}</Show>
              </div>
            </section>
          </Match>
          <Match when={one()?.state === "cancelled"}>
            <Empty icon="charge" title="Cancelled" />
          </Match>
          <Match when={one()?.state === "failed"}>
            <Empty icon="bad" title={props.words.failed}>
              <p class="charge-said" role="alert">
                {one()!.error}
              </p>
              <p>
                <A href={again()}>Change and start again</A>.
              </p>
            </Empty>
          </Match>
          <Match when={one()?.state === "done"}>{props.children(one()!)}</Match>
        </Switch>
      </div>
    </>
  );
}

export interface Kept<T> {
  all: Accessor<T[] | undefined>;
  error: Accessor<unknown>;
  load: () => void;
}

/** Work of one's own that is kept; the list is asked for again while some of it runs. */
export function useKept<T extends Work>(list: () => Promise<T[]>): Kept<T> {
  // Signals in place of resources: a resource that is made while the router goes from a result back here is not heard of.
  const [all, setAll] = createSignal<T[]>();
  const [error, setError] = createSignal<unknown>();
  const load = (): void => {
    list()
      .then((found) => {
        setError(undefined);
        setAll(() => found);
      })
      .catch((problem) => setError(() => problem));
  };
  const isRunning = createMemo(() => all()?.some((one) => one.state === "running") ?? false);
  createEffect(() => isRunning() && useEvery(LIST_MS, load));
  return { all, error, load };
}

/** What was asked before, each with what came of it. */
export function Before<T extends Work>(props: { kept: Kept<T>; path: string; name: string; title: string; what: (one: T) => JSX.Element; came: (one: T) => string }): JSX.Element {
  const forget = (id: string): void => {
    remove(`${props.path}/${id}`)
      .then(props.kept.load)
      .catch(toastError);
  };
  const came = (one: T): string => {
    if (one.state === "running") return "running";
    if (one.state === "cancelled") return "cancelled";
    return one.state === "failed" ? "failed" : props.came(one);
  };
  return (
    <Show when={(props.kept.all()?.length ?? 0) > 0}>
      <section class="panel" aria-label={props.name}>
        <header>
          <h2>{props.title}</h2>
          <span class="muted">kept for one day, visible to you only</span>
        </header>
        <div class="scroll" tabindex="0" role="group" aria-label={`Table of ${props.name.toLowerCase()}`}>
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Started</th>
                <th scope="col">Result</th>
                <th scope="col">
                  <span class="sr">Delete</span>
                </th>
              </tr>
            </thead>
            <tbody>
              <For each={props.kept.all()}>
                {(one) => (
                  <tr>
                    <td>{props.what(one)}</td>
                    <td>
                      <Time at={one.asked} shape="short" />
                    </td>
                    <td>{came(one)}</td>
                    <td class="right">
                      <button class="button quiet" onClick={() => forget(one.id)}>
                        {one.state === "running" ? "Cancel" : "Delete"}
                      </button>
                    </td>
                  </tr>
                )}
              </For>
            </tbody>
          </table>
        </div>
      </section>
    </Show>
  );
}
