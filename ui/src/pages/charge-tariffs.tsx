// Tariff plans: their texts and versions, an editor that checks, what a text would have charged, and putting it live.

import { A, useNavigate, useParams, useSearchParams } from "@solidjs/router";
import { createEffect, createMemo, createResource, createSignal, For, Match, on, onMount, Show, Switch, type JSX } from "solid-js";
import { get, post, remove } from "../api/client";
import { Problem } from "../api/problem";
import type { ChargeChecked, ChargePlan, ChargePlans, ChargePlanVersion, ChargeTryout, ChargeTryouts } from "../api/types";
import { of } from "../format";
import { Confirm } from "../parts/dialog";
import { Head } from "../parts/head";
import { Icon } from "../parts/icon";
import { known } from "../parts/known";
import { Empty, Loading, Trouble } from "../parts/states";
import { Time } from "../parts/time";
import { toast, toastError } from "../parts/toast";
import { unescaped } from "../parts/unescaped";
import { may } from "../session";
import { useEvery } from "./charge/every";
import { ChargeNav, NoNode } from "./charge/nav";
import { PlanDiff } from "./charge/plan-diff";
import { Tried } from "./charge/tried";

const NEW = `[plan]
name = "standard"
currency = "EUR"
time-zone = "UTC"

[[version]]
from = "2026-01-01"

[[version.rule]]
name = "data"
step = "1 KiB"
price = "0.1"
`;

export default function ChargeTariffs(): JSX.Element {
  const params = useParams<{ name?: string }>();
  const [plans, again] = createResource(() => get<ChargePlans>("/charge/plans"));
  const name = (): string | undefined => (params.name === undefined ? known(plans)?.plans[0]?.name : unescaped(params.name));
  const nobody = (): boolean => plans.error instanceof Problem && plans.error.kind === "not-found";
  const navigate = useNavigate();
  return (
    <>
      <Head title="Tariffs">
        <Show when={(known(plans)?.plans.length ?? 0) > 1}>
          <select class="input" aria-label="Plan" value={name()} onChange={(event) => navigate(`/charge/tariffs/${encodeURIComponent(event.currentTarget.value)}`)}>
            <For each={known(plans)!.plans}>
              {(plan) => (
                <option value={plan.name} selected={plan.name === name()}>
                  {plan.name} (version {plan.version})
                </option>
              )}
            </For>
          </select>
        </Show>
      </Head>
      <ChargeNav />
      <div class="charge">
        <Switch fallback={<Loading what="the plans" />}>
          <Match when={nobody()}>
            <NoNode />
          </Match>
          <Match when={plans.error}>
            <Trouble error={plans.error} retry={() => void again.refetch()} />
          </Match>
          <Match when={known(plans) && name() === undefined}>
            <Empty icon="charge" title="No tariff plans yet">
              <p>Without a plan nothing has a price. Write one below, or load a file: <code>trunkline charge plan standard.toml</code>.</p>
            </Empty>
            <Show when={may("charge.manage")}>
              <Editor plan={undefined} again={() => void again.refetch()} />
            </Show>
          </Match>
          <Match when={name()} keyed>
            {(name) => <One name={name} again={() => void again.refetch()} />}
          </Match>
        </Switch>
      </div>
    </>
  );
}

function One(props: { name: string; again: () => void }): JSX.Element {
  const [plan, planAgain] = createResource(() => get<ChargePlan>(`/charge/plans/${encodeURIComponent(props.name)}`));
  return (
    <Switch fallback={<Loading what="the plan" />}>
      <Match when={plan.error}>
        <Empty icon="charge" title="Plan not found">
          <p>
            {plan.error.message} <A href="/charge/tariffs">Show all plans</A>.
          </p>
        </Empty>
      </Match>
      <Match when={known(plan)}>
        {(plan) => (
          <>
            <Versions plan={plan()} />
            <Editor
              plan={plan()}
              again={() => {
                void planAgain.refetch();
                props.again();
              }}
            />
          </>
        )}
      </Match>
    </Switch>
  );
}

/** The texts that held before, each beside the current version. */
function Versions(props: { plan: ChargePlan }): JSX.Element {
  const [search, setSearch] = useSearchParams<{ version?: string }>();
  const entries = (): number[] => [...props.plan.former].reverse();
  const [former] = createResource(
    () => search.version,
    (entry) => get<ChargePlanVersion>(`/charge/plans/${encodeURIComponent(props.plan.name)}/versions/${encodeURIComponent(entry)}`),
  );
  return (
    <section class="panel" aria-label="Versions">
      <header>
        <h2>{props.plan.name}</h2>
        <span class="muted">
          version {props.plan.version}, since entry {props.plan.since}; {props.plan.currency}
        </span>
        <Show when={entries().length > 0}>
          <select class="input" aria-label="Compare with a previous version" value={search.version ?? ""} onChange={(event) => setSearch({ version: event.currentTarget.value || undefined })}>
            <option value="">compare with …</option>
            <For each={entries()}>
              {(entry, at) => (
                <option value={entry} selected={String(entry) === search.version}>
                  version {props.plan.version - 1 - at()} (entry {entry})
                </option>
              )}
            </For>
          </select>
        </Show>
      </header>
      <Show when={search.version} fallback={<p class="body muted">{entries().length > 0 ? "Charges made with a previous version do not change." : "This is the first version."}</p>}>
        <Show when={known(former)} fallback={<p class="body muted">{former.error ? String(former.error.message) : "Loading …"}</p>}>
          {(former) => (
            <>
              <p class="body muted">
                Changes since the version of <Time at={former().at} />:
              </p>
              <PlanDiff before={former().text} after={props.plan.text} />
            </>
          )}
        </Show>
      </Show>
    </section>
  );
}

function Editor(props: { plan: ChargePlan | undefined; again: () => void }): JSX.Element {
  const live = (): string => props.plan?.text ?? "";
  const [text, setText] = createSignal(props.plan?.text ?? NEW);
  const [checked, setChecked] = createSignal<ChargeChecked>();
  const [busy, setBusy] = createSignal(false);
  const [sure, setSure] = createSignal(false);
  let area: HTMLTextAreaElement | undefined;
  createEffect(on(live, (live) => live && setText(live), { defer: true }));
  const changed = createMemo(() => text() !== live());
  const check = async (): Promise<ChargeChecked | undefined> => {
    setBusy(true);
    try {
      return setChecked(await post<ChargeChecked>("/charge/check", { text: text() }));
    } catch (problem) {
      toastError(problem);
      return undefined;
    } finally {
      setBusy(false);
    }
  };
  /** Puts the cursor where something is wrong. */
  const goTo = (line: number | null, column: number | null): void => {
    if (!area || line === null) return;
    const before = text().split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    const at = before + Math.max(0, (column ?? 1) - 1);
    area.focus();
    area.setSelectionRange(at, at);
    area.scrollTop = Math.max(0, (line - 4) * (area.scrollHeight / Math.max(1, text().split("\n").length)));
  };
  const ask = async (): Promise<void> => {
    const found = await check();
    if (found && found.mistakes.length === 0) setSure(true);
  };
  return (
    <>
      <section class="panel" aria-label="Text">
        <header>
          <h2>{props.plan ? "Text" : "New plan"}</h2>
          <Show when={changed()} fallback={<span class="muted">current</span>}>
            <span class="muted">edited, not live</span>
          </Show>
          <Show when={may("charge.manage")}>
            <div class="row">
              <Show when={changed() && props.plan}>
                <button class="button quiet" onClick={() => setText(live())}>
                  Undo all
                </button>
              </Show>
              <button class="button" disabled={busy()} onClick={() => void check()}>
                Check
              </button>
              <Show when={changed()}>
                <button class="button primary" disabled={busy()} onClick={() => void ask()}>
                  Put live
                </button>
              </Show>
            </div>
          </Show>
        </header>
        <div class="body stack">
          <textarea
            ref={area}
            class="input charge-editor"
            aria-label="Text of the plan"
            spellcheck={false}
            readonly={!may("charge.manage")}
            value={text()}
            onInput={(event) => {
              setText(event.currentTarget.value);
              setChecked(undefined);
            }}
          />
          <Show when={checked()}>
            {(checked) => (
              <div role="status">
                <Show
                  when={checked().mistakes.length > 0}
                  fallback={
                    <p class="remark">
                      <span class="good-ink">
                        <Icon name="good" />
                      </span>
                      The plan is valid: “{checked().name}”.
                    </p>
                  }
                >
                  <p class="remark">
                    <span class="bad-ink">
                      <Icon name="bad" />
                    </span>
                    {of(checked().mistakes.length, "mistake", "mistakes")}:
                  </p>
                  <ul>
                    <For each={checked().mistakes}>
                      {(mistake) => (
                        <li>
                          <Show when={mistake.line !== null} fallback={mistake.what}>
                            <button class="button quiet" onClick={() => goTo(mistake.line, mistake.column)}>
                              Line {mistake.line}
                            </button>{" "}
                            {mistake.what}
                          </Show>
                        </li>
                      )}
                    </For>
                  </ul>
                </Show>
              </div>
            )}
          </Show>
        </div>
      </section>
      <Show when={changed() && props.plan}>
        <section class="panel" aria-label="Difference">
          <header>
            <h2>Changes</h2>
          </header>
          <PlanDiff before={live()} after={text()} />
        </section>
      </Show>
      <Show when={may("charge.manage") && props.plan}>
        <TryOut plan={props.plan!.name} text={text()} />
      </Show>
      <Show when={sure()}>
        <Confirm
          title={`Put “${checked()?.name ?? ""}” live?`}
          text="The plan replaces the plan of that name at once. The node asks clients of open sessions to re-authorize. Earlier charges do not change. The previous text is kept as a version."
          action="Put it live"
          close={() => setSure(false)}
          run={async () => {
            await post("/charge/plans", { text: text(), instead: checked()?.name === props.plan?.name ? (props.plan?.since ?? 0) : 0 });
            toast("The plan is live.");
            setChecked(undefined);
            props.again();
          }}
        />
      </Show>
    </>
  );
}

const SPANS = [
  { name: "Yesterday", from: () => day(-1), to: () => day(-1) },
  { name: "Today", from: () => day(0), to: () => "now" },
  { name: "The last 7 days", from: () => day(-7), to: () => day(-1) },
] as const;

/** The day so many days from today, UTC. */
const day = (by: number): string => new Date(Date.now() + by * 86_400_000).toISOString().slice(0, 10);

/** How often one that runs is asked for. */
const LOOK_MS = 700;

function TryOut(props: { plan: string; text: string }): JSX.Element {
  const [span, setSpan] = createSignal(0);
  const [tryout, setTryout] = createSignal<ChargeTryout>();
  const running = createMemo(() => tryout()?.state === "running");
  const begin = (): void => {
    const { from, to } = SPANS[span()]!;
    post<ChargeTryout>("/charge/tryouts", { text: props.text, from: from(), to: to() }).then(setTryout).catch(toastError);
  };
  const look = (): void => {
    const id = tryout()?.id;
    if (!running() || !id) return;
    get<ChargeTryout>(`/charge/tryouts/${id}`)
      .then(setTryout)
      .catch((problem) => {
        // Another page has removed it, or the server was started again.
        if (problem instanceof Problem && problem.kind === "not-found") setTryout(undefined);
        else toastError(problem);
      });
  };
  createEffect(() => running() && useEvery(LOOK_MS, look));
  // One that was begun before the page was left is found again.
  onMount(() => {
    get<ChargeTryouts>("/charge/tryouts")
      .then(({ tryouts }) => setTryout((now) => now ?? tryouts.find((one) => one.plan === props.plan)))
      .catch(toastError);
  });
  const cancel = (): void => {
    remove(`/charge/tryouts/${tryout()!.id}`)
      .then(() => setTryout(undefined))
      .catch(toastError);
  };
  return (
    <section class="panel" aria-label="Replay usage">
      <header>
        <h2>Replay usage</h2>
        <span class="muted">charges past usage again with this plan; nothing is stored</span>
        <div class="row">
          <select class="input" aria-label="Usage of" value={span()} onChange={(event) => setSpan(Number(event.currentTarget.value))}>
            <For each={SPANS}>{(one, at) => <option value={at()}>{one.name}</option>}</For>
          </select>
          <button class="button" disabled={running()} onClick={begin}>
            Replay usage
          </button>
        </div>
      </header>
      <Switch fallback={<p class="body muted">Days are UTC. Usage is replayed unchanged; changed behaviour is not modelled.</p>}>
        <Match when={running()}>
          <div class="body row">
            {/* Before the first entry the state of the accounts is read, which tells nothing of how far it is. */}
            <Show when={tryout()!.total > 0} fallback={<progress class="charge-progress" aria-label="Reading the state before that time" />}>
              <progress class="charge-progress" max={tryout()!.total} value={tryout()!.read} aria-label="Ledger entries read" />
            </Show>
            <button class="button" onClick={cancel}>
              Cancel
            </button>
          </div>
        </Match>
        <Match when={tryout()?.state === "failed"}>
          <p class="body bad-ink" role="alert">
            {tryout()!.error}
          </p>
        </Match>
        <Match when={tryout()?.state === "cancelled"}>
          <p class="body muted">Cancelled.</p>
        </Match>
        <Match when={tryout()?.tried}>
          {(tried) => (
            <>
              <p class="body muted">
                The plan as of <Time at={tryout()!.asked} shape="short" />:
              </p>
              <Tried tried={tried()} />
            </>
          )}
        </Match>
      </Switch>
    </section>
  );
}
