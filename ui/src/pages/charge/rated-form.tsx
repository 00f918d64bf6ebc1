// What is to be rated: the time, by which plans, how numbers are written, which calls are told.

import { createMemo, createEffect, createResource, createSignal, createUniqueId, For, on, Show, type JSX } from "solid-js";
import { get, post } from "../../api/client";
import type { ChargeNode, ChargePlan, ChargeRating } from "../../api/types";
import { known } from "../../parts/known";
import { RangePicker } from "../../parts/range-picker";
import { kept, zone } from "../../prefs";
import { useRange } from "../../range";
import { may } from "../../session";
import { BillProfile } from "./bill-profile-form";
import { PLAIN, toml, type Profile } from "./bill-profile";

export interface FormProps {
  /** One that is to be changed. */
  before: ChargeRating | undefined;
  /** The node, whose plans there are. */
  node: ChargeNode | null;
  begun: (id: string) => void;
}

export function RatedForm(props: FormProps): JSX.Element {
  const before = props.before?.ask;
  const [range, setRange] = useRange("now-24h");
  /** "": all plans; "text": one that is written here; else the name of one, with a mark before it. */
  const [plan, setPlan] = createSignal(before?.plan ? "text" : before?.plan_name ? `=${before.plan_name}` : "");
  const [entry, setEntry] = createSignal(before?.plan_entry ?? null);
  const [planText, setPlanText] = createSignal(before?.plan ?? "");
  const [profile, setProfile] = kept<Profile>("bill-profile", { ...PLAIN, zone: zone() });
  /** The profile as text, where somebody writes it; undefined: as the form says. */
  const [text, setText] = createSignal<string | undefined>(before?.profile ?? undefined);
  const [more, setMore] = createSignal<MoreValues>({ filter: before?.filter ?? "", group: before?.rating_group ?? null, service: before?.service ?? null });
  const [busy, setBusy] = createSignal(false);
  const [error, setError] = createSignal("");
  // A memo: the list that it stands in is loaded again while one of it runs.
  const from = createMemo(() => props.before?.ask.from);
  createEffect(on(from, (from) => from && setRange({ from, to: props.before?.ask.to ?? "now" })));
  const name = (): string | undefined => (plan().startsWith("=") ? plan().slice(1) : undefined);
  const begin = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setError("");
    setBusy(true);
    try {
      const m = more();
      const begun = await post<{ id: string }>("/charge/ratings", {
        ...{ from: range().from, to: range().to, tz: zone() },
        plan: plan() === "text" ? planText() : undefined,
        plan_name: name(),
        plan_entry: name() === undefined ? undefined : (entry() ?? undefined),
        // Who sees masked numbers has no prefixes of their own.
        profile: may("numbers.read") ? (text() ?? toml(profile(), false)) : undefined,
        filter: m.filter.trim() || undefined,
        rating_group: m.group ?? undefined,
        service: m.service ?? undefined,
      });
      props.begun(begun.id);
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem));
    }
    setBusy(false);
  };
  return (
    <section class="panel" aria-label="What to rate">
      <header>
        <h2>Cost of captured calls</h2>
        <span class="muted">by the plans of the paying accounts; nothing is debited</span>
      </header>
      <form class="body stack charge-begin" onSubmit={(event) => void begin(event)}>
        <div class="row charge-when">
          <span>Time range</span>
          <RangePicker range={range()} onChange={setRange} />
        </div>
        <Plans
          node={props.node}
          plan={plan()}
          setPlan={(to) => {
            setPlan(to);
            setEntry(null);
          }}
          entry={entry()}
          setEntry={setEntry}
        />
        <Show when={plan() === "text"}>
          <textarea class="input charge-text" aria-label="Text of the plan" spellcheck={false} placeholder={'[plan]\nname = "standard"\ncurrency = "EUR"'} value={planText()} onInput={(event) => setPlanText(event.currentTarget.value)} />
        </Show>
        <Show when={may("numbers.read")}>
          <BillProfile profile={profile()} change={(to) => setProfile({ ...profile(), ...to })} text={text()} setText={setText} head={undefined} isBill={false} />
        </Show>
        <More values={more()} change={(to) => setMore({ ...more(), ...to })} />
        <Show when={error()}>
          <p class="bad-ink charge-said" role="alert">
            {error()}
          </p>
        </Show>
        <p class="row">
          <button class="button primary" disabled={busy()}>
            {busy() ? "Starting …" : "Rate calls"}
          </button>
          <span class="muted">The account of the caller pays.</span>
        </p>
      </form>
    </section>
  );
}

/** By which plans, and by which of a plan's texts. */
function Plans(props: { node: ChargeNode | null; plan: string; setPlan: (plan: string) => void; entry: number | null; setEntry: (entry: number | null) => void }): JSX.Element {
  const name = (): string | undefined => (props.plan.startsWith("=") ? props.plan.slice(1) : undefined);
  const [plan] = createResource(name, (name) => get<ChargePlan>(`/charge/plans/${encodeURIComponent(name)}`));
  /** The former texts, the newest first, each with its number. */
  const former = (): { entry: number; version: number }[] => {
    const found = name() === undefined ? undefined : known(plan);
    return [...(found?.former ?? [])].reverse().map((entry, at) => ({ entry, version: found!.version - 1 - at }));
  };
  return (
    <div class="charge-form">
      <label class="field">
        <span>Plans</span>
        <select class="input" value={props.plan} onChange={(event) => props.setPlan(event.currentTarget.value)}>
          <option value="">all plans, current</option>
          <For each={props.node?.plans ?? []}>
            {(plan) => (
              <option value={`=${plan.name}`} selected={`=${plan.name}` === props.plan}>
                accounts with “{plan.name}”
              </option>
            )}
          </For>
          <Show when={may("numbers.read")}>
            <option value="text" selected={props.plan === "text"}>
              edited plan text
            </option>
          </Show>
        </select>
      </label>
      <Show when={name() !== undefined}>
        <label class="field">
          <span>Version</span>
          <select class="input" value={props.entry ?? ""} onChange={(event) => props.setEntry(event.currentTarget.value === "" ? null : Number(event.currentTarget.value))}>
            <option value="">current version</option>
            <For each={former()}>
              {({ entry, version }) => (
                <option value={entry} selected={entry === props.entry}>
                  version {version} (entry {entry})
                </option>
              )}
            </For>
          </select>
        </label>
      </Show>
    </div>
  );
}

interface MoreValues {
  filter: string;
  group: number | null;
  service: number | null;
}

/** Which calls are told, and what they are in the plans. */
function More(props: { values: MoreValues; change: (to: Partial<MoreValues>) => void }): JSX.Element {
  const help = createUniqueId();
  const field = (name: "group" | "service", label: string): JSX.Element => (
    <label class="field">
      <span>{label}</span>
      <input class="input" type="number" step="1" min={0} placeholder="none" value={props.values[name] ?? ""} onChange={(event) => props.change({ [name]: event.currentTarget.value === "" ? null : Number(event.currentTarget.value) })} />
    </label>
  );
  const isUsual = (): boolean => props.values.filter === "" && props.values.group === null && props.values.service === null;
  return (
    <details open={!isUsual()}>
      <summary>Filter and services</summary>
      <div class="charge-form">
        <label class="field charge-wide">
          <span>Calls to show</span>
          <input class="input" type="search" placeholder="all; for example src:10.0.0.0/8 or caller:+4420*" aria-describedby={help} value={props.values.filter} onChange={(event) => props.change({ filter: event.currentTarget.value })} />
          <span id={help} class="muted charge-small">
            The same filter language as on the Calls page. All calls are rated, because all of them use up bundles.
          </span>
        </label>
        {field("group", "Rating group of calls")}
        {field("service", "Service of calls")}
      </div>
    </details>
  );
}
