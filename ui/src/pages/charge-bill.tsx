// Wire against bill: calls of the store beside a carrier's bill, or beside what was charged online.

import { A, useNavigate, useParams, useSearchParams } from "@solidjs/router";
import { createEffect, createMemo, createSignal, For, Match, on, onCleanup, onMount, Show, Switch, type JSX } from "solid-js";
import { get, remove } from "../api/client";
import { Problem } from "../api/problem";
import type { ChargeComparison, ChargeComparisons, ChargeNode, ChargeStatus } from "../api/types";
import { of } from "../format";
import { ShareButton } from "../parts/copy";
import { Head } from "../parts/head";
import { Empty, Loading, Trouble } from "../parts/states";
import { Time } from "../parts/time";
import { toastError } from "../parts/toast";
import { BillForm } from "./charge/bill-form";
import { BillResult } from "./charge/bill-result";
import { outcomeOf } from "./charge/bill-words";
import { ChargeNav } from "./charge/nav";

/** How often one that runs is asked for. */
const LOOK_MS = 700;
/** What is said aloud of one, by its state. */
const SAID: Record<string, string> = { running: "Calls are compared.", done: "The comparison is done.", failed: "The comparison failed.", cancelled: "The comparison was cancelled." };
/** How often the list is, while one of it runs. */
const LIST_MS = 2000;

export default function ChargeBillPage(): JSX.Element {
  const params = useParams<{ id?: string }>();
  return (
    <Show when={params.id} keyed fallback={<Begin />}>
      {(id) => <One id={id} />}
    </Show>
  );
}

/** What is compared, in words. */
function Title(props: { of: ChargeComparison }): JSX.Element {
  return <>{props.of.ask.bill ? (props.of.bill_name ?? "a bill") : "What was charged online"}</>;
}

/** What is to be compared, and what was. */
function Begin(): JSX.Element {
  const navigate = useNavigate();
  const [search] = useSearchParams<{ again?: string }>();
  // Signals in place of resources: a resource that is made while the router goes from a result back here is not heard of.
  const [node, setNode] = createSignal<ChargeNode | null>();
  const [all, setAll] = createSignal<ChargeComparison[]>();
  const [error, setError] = createSignal<unknown>();
  const load = (): void => {
    get<ChargeComparisons>("/charge/comparisons")
      .then(({ comparisons }) => {
        setError(undefined);
        setAll(comparisons);
      })
      .catch((problem) => setError(() => problem));
  };
  onMount(() => {
    load();
    get<ChargeStatus>("/charge").then(
      (status) => setNode(status.node),
      () => setNode(null),
    );
  });
  const isRunning = createMemo(() => all()?.some((one) => one.state === "running") ?? false);
  createEffect(() => isRunning() && every(LIST_MS, load));
  const before = (): ChargeComparison | undefined => all()?.find((one) => one.id === search.again);
  const forget = (id: string): void => {
    remove(`/charge/comparisons/${id}`)
      .then(load)
      .catch(toastError);
  };
  return (
    <>
      <Head title="Wire against bill" />
      <ChargeNav />
      <div class="charge">
        <Switch fallback={<Loading what="comparisons" />}>
          <Match when={error() && !all()}>
            <Trouble error={error()} retry={load} />
          </Match>
          <Match when={all() && node() !== undefined}>
            {/* A form begins with what it is given: another one to be changed is another form. */}
            <Show when={before()?.id ?? "new"} keyed>
              {(_of) => <BillForm before={before()} node={node() ?? null} begun={(id) => navigate(`/charge/bill/${id}`)} />}
            </Show>
            <Show when={all()!.length > 0}>
              <section class="panel" aria-label="Comparisons">
                <header>
                  <h2>Compared before</h2>
                  <span class="muted">kept for a day, and for you alone</span>
                </header>
                <div class="scroll" tabindex="0" role="group" aria-label="Table of comparisons">
                  <table class="table">
                    <thead>
                      <tr>
                        <th scope="col">What</th>
                        <th scope="col">When asked</th>
                        <th scope="col">What came of it</th>
                        <th scope="col">
                          <span class="sr">Forget it</span>
                        </th>
                      </tr>
                    </thead>
                    <tbody>
                      <For each={all()}>
                        {(one) => (
                          <tr>
                            <td>
                              <A href={`/charge/bill/${one.id}`}>
                                <Title of={one} />
                              </A>
                              <Show when={one.compared}>
                                {(compared) => (
                                  <div class="muted charge-small">
                                    <Time at={compared().from} shape="short" /> to <Time at={compared().to} shape="short" />
                                  </div>
                                )}
                              </Show>
                            </td>
                            <td>
                              <Time at={one.asked} shape="short" />
                            </td>
                            <td>{outcome(one)}</td>
                            <td class="right">
                              <button class="button quiet" onClick={() => forget(one.id)}>
                                {one.state === "running" ? "Cancel" : "Forget"}
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
          </Match>
        </Switch>
      </div>
    </>
  );
}

function outcome(one: ChargeComparison): string {
  if (one.state === "running") return "under way";
  if (one.state === "cancelled") return "cancelled";
  if (!one.compared) return "it failed";
  return outcomeOf(one.compared);
}

/** Does it again and again while somebody looks, for as long as the effect around it holds. */
function every(milliseconds: number, look: () => void): void {
  const timer = setInterval(() => document.hidden || look(), milliseconds);
  onCleanup(() => clearInterval(timer));
}

/** A comparison, while it runs and afterwards. */
function One(props: { id: string }): JSX.Element {
  const navigate = useNavigate();
  const [one, setOne] = createSignal<ChargeComparison>();
  const [error, setError] = createSignal<unknown>();
  const running = createMemo(() => one()?.state === "running");
  /** What is said aloud: that it began, and its end. */
  const said = createMemo(() => SAID[one()?.state ?? ""] ?? "");
  const look = (): void => {
    get<ChargeComparison>(`/charge/comparisons/${encodeURIComponent(props.id)}`)
      .then((found) => {
        setOne(found);
        setError(undefined);
      })
      .catch((problem) => setError(() => problem));
  };
  createEffect(on(() => props.id, look));
  // The live feed beats slowly where nothing is captured: a comparison is over in a second or a minute.
  createEffect(() => running() && every(LOOK_MS, look));
  const gone = (): boolean => error() instanceof Problem && (error() as Problem).kind === "not-found";
  const cancel = (): void => {
    remove(`/charge/comparisons/${props.id}`)
      .then(() => navigate("/charge/bill"))
      .catch(toastError);
  };
  return (
    <>
      <Head title="Wire against bill" about={<span class="muted">{one() && <Title of={one()!} />}</span>}>
        <Show when={one() && !running()}>
          <A class="button" href={`/charge/bill?again=${props.id}`}>
            Change and compare again
          </A>
          <ShareButton title="Wire against bill">Copy link</ShareButton>
        </Show>
        <A class="button" href="/charge/bill">
          New comparison
        </A>
      </Head>
      <ChargeNav />
      <p class="sr" role="status">
        {said()}
      </p>
      <div class="charge">
        <Switch fallback={<Loading what="the comparison" />}>
          <Match when={gone()}>
            <Empty icon="charge" title="There is no such comparison">
              <p>
                It is kept for a day, as long as the program runs, and only who asked for it sees it. <A href="/charge/bill">Compare again</A>.
              </p>
            </Empty>
          </Match>
          <Match when={error() && !one()}>
            <Trouble error={error()} retry={look} />
          </Match>
          <Match when={running()}>
            <section class="panel" aria-label="Under way">
              <div class="body stack">
                <progress class="charge-progress" aria-label="Comparing" />
                <p class="row">
                  <span>{of(one()!.read, "call was read", "calls were read")} so far. One may leave this page: it goes on.</span>
                  <button class="button spread" onClick={cancel}>
                    Cancel
                  </button>
                </p>
                <Show when={error()}>
                  <p class="bad-ink">How far it is cannot be told now: {error() instanceof Error ? (error() as Error).message : String(error())}</p>
                </Show>
              </div>
            </section>
          </Match>
          <Match when={one()?.state === "cancelled"}>
            <Empty icon="charge" title="It was cancelled" />
          </Match>
          <Match when={one()?.state === "failed"}>
            <Empty icon="bad" title="It could not be compared">
              <p class="charge-said" role="alert">
                {one()!.error}
              </p>
              <p>
                <A href={`/charge/bill?again=${props.id}`}>Change it and compare again</A>.
              </p>
            </Empty>
          </Match>
          <Match when={one()?.compared}>{(compared) => <BillResult one={one()!} compared={compared()} />}</Match>
        </Switch>
      </div>
    </>
  );
}
