// What is to be compared: online charges or a bill that is brought, its profile, the time, and what counts as the same.

import { createEffect, createMemo, createSignal, createUniqueId, For, on, Show, type JSX } from "solid-js";
import { get, post } from "../../api/client";
import type { ChargeBill, ChargeComparison, ChargeNode, ChargePlan } from "../../api/types";
import { octets } from "../../format";
import { Icon } from "../../parts/icon";
import { RangePicker } from "../../parts/range-picker";
import { kept, zone } from "../../prefs";
import { useRange } from "../../range";
import { may } from "../../session";
import { BillProfile } from "./bill-profile-form";
import { guess, headOf, lacks, minorDigits, PLAIN, toml, type BillHead, type Profile } from "./bill-profile";

/** Octets of a bill that are looked at for its titles. */
const HEAD_OCTETS = 64 * 1024;

export interface FormProps {
  /** One that is to be changed. */
  before: ChargeComparison | undefined;
  /** The node, whose plans may be held against a bill. */
  node: ChargeNode | null;
  begun: (id: string) => void;
}

export function BillForm(props: FormProps): JSX.Element {
  const before = props.before?.ask;
  const [range, setRange] = useRange("now-24h");
  const [isBill, setIsBill] = createSignal(Boolean(before?.bill));
  const [file, setFile] = createSignal<File>();
  /** One that was brought before. */
  const [known, setKnown] = createSignal(before?.bill ? { id: before.bill, name: props.before?.bill_name ?? "the bill" } : undefined);
  const [head, setHead] = createSignal<BillHead>();
  const [profile, setProfile] = kept<Profile>("bill-profile", { ...PLAIN, zone: zone() });
  /** The profile as text, where somebody writes it; undefined: as the form says. */
  const [text, setText] = createSignal<string | undefined>(before?.profile ?? undefined);
  const [all, setAll] = createSignal(before ? before.from === null : true);
  const [plan, setPlan] = createSignal(before?.plan_name ?? (before?.plan ? "text" : ""));
  const [planText, setPlanText] = createSignal(before?.plan ?? "");
  const [more, setMore] = createSignal({ filter: before?.filter ?? "", begin: before?.begin_s ?? null, length: before?.length_s ?? null, ahead: before?.ahead_s ?? null, silence: before?.silence_s ?? null, group: before?.rating_group ?? null });
  const [busy, setBusy] = createSignal(false);
  const [error, setError] = createSignal("");
  // A memo: the list that it stands in is loaded again while one of it runs.
  const from = createMemo(() => props.before?.ask.from);
  createEffect(on(from, (from) => from && setRange({ from, to: props.before?.ask.to ?? "now" })));
  const take = async (files: FileList | null | undefined): Promise<void> => {
    const chosen = files?.[0];
    if (!chosen) return;
    setError("");
    setFile(chosen);
    setKnown(undefined);
    const found = headOf(await chosen.slice(0, HEAD_OCTETS).text());
    setHead(found);
    if (!found) return void setError("The file has no columns. A bill is text with a header line, and values separated by commas, semicolons or tabs.");
    setText(undefined);
    setProfile(guess(found, profile()));
  };
  const missing = (): string | undefined => {
    if (!isBill()) return undefined;
    if (!file() && !known()) return "Choose the bill first.";
    const without = text() === undefined && head() ? lacks(profile()) : [];
    return without.length > 0 ? `Which column is ${without.join(", and which ")}?` : undefined;
  };
  const bring = async (): Promise<string | undefined> => {
    if (!isBill()) return undefined;
    const there = known();
    if (there) return there.id;
    const brought = await post<ChargeBill>("/charge/bills", file(), { name: file()!.name });
    setKnown({ id: brought.id, name: brought.name });
    return brought.id;
  };
  /** The text of what lines should cost; "" where amounts are not checked. */
  const prices = async (): Promise<string> => {
    if (!isBill() || plan() === "") return "";
    return plan() === "text" ? planText() : (await get<ChargePlan>(`/charge/plans/${encodeURIComponent(plan())}`)).text;
  };
  const begin = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const lack = missing();
    if (lack) return void setError(lack);
    setError("");
    setBusy(true);
    try {
      const bill = await bring();
      const whole = isBill() && all();
      const m = more();
      const begun = await post<{ id: string }>("/charge/comparisons", {
        bill,
        // Who sees masked numbers has no prefixes of their own.
        profile: may("numbers.read") ? (text() ?? toml(profile(), isBill(), minorDigits(await prices()))) : undefined,
        plan: isBill() && plan() === "text" ? planText() : undefined,
        plan_name: isBill() && plan() && plan() !== "text" ? plan() : undefined,
        from: whole ? undefined : range().from,
        to: whole || range().to === "now" ? undefined : range().to,
        tz: zone(),
        filter: m.filter.trim() || undefined,
        begin_s: m.begin ?? undefined,
        length_s: m.length ?? undefined,
        ahead_s: m.ahead ?? undefined,
        silence_s: m.silence ?? undefined,
        rating_group: m.group ?? undefined,
      });
      props.begun(begun.id);
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem));
    }
    setBusy(false);
  };
  return (
    <section class="panel" aria-label="What to compare">
      <header>
        <h2>Compare captured calls with</h2>
        <div class="row" role="group" aria-label="Compare with">
          <button type="button" class="button" aria-pressed={!isBill()} onClick={() => setIsBill(false)}>
            online charges
          </button>
          <button type="button" class="button" aria-pressed={isBill()} onClick={() => setIsBill(true)}>
            a bill
          </button>
        </div>
      </header>
      <form class="body stack charge-begin" onSubmit={(event) => void begin(event)}>
        <Show when={isBill()}>
          <Bring file={file()} known={known()?.name} take={(files) => void take(files)} />
        </Show>
        <div class="row charge-when">
          <Show when={isBill()}>
            <label class="row">
              <input type="checkbox" checked={all()} onChange={(event) => setAll(event.currentTarget.checked)} /> all days of the bill
            </label>
          </Show>
          <Show when={!isBill() || !all()}>
            <span>Time range</span>
            <RangePicker range={range()} onChange={setRange} />
          </Show>
        </div>
        <Show when={may("numbers.read")}>
          <BillProfile profile={profile()} change={(to) => setProfile({ ...profile(), ...to })} text={text()} setText={setText} head={head()} isBill={isBill()} />
        </Show>
        <Show when={isBill()}>
          <Plan node={props.node} plan={plan()} setPlan={setPlan} text={planText()} setText={setPlanText} />
        </Show>
        <More values={more()} change={(to) => setMore({ ...more(), ...to })} />
        <Show when={error()}>
          <p class="bad-ink charge-said" role="alert">
            {error()}
          </p>
        </Show>
        <p class="row">
          <button class="button primary" disabled={busy()}>
            {busy() ? (isBill() && !known() ? "Uploading the bill …" : "Starting …") : "Compare"}
          </button>
          <span class="muted">This does not debit or change anything.</span>
        </p>
      </form>
    </section>
  );
}

/** Where a bill is dropped, or chosen. */
function Bring(props: { file: File | undefined; known: string | undefined; take: (files: FileList | null | undefined) => void }): JSX.Element {
  const [over, setOver] = createSignal(false);
  let input: HTMLInputElement | undefined;
  return (
    <Show when={may("numbers.read")} fallback={<p class="remark">Your role sees numbers masked, so it cannot compare a bill. It can compare online charges.</p>}>
      <div
        class="charge-drop"
        classList={{ over: over() }}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          props.take(event.dataTransfer?.files);
        }}
      >
        <Icon name="upload" size={22} />
        <span>
          <Show when={props.file ?? props.known} fallback="Drop the bill here: comma-separated values with a header line.">
            <b>{props.file?.name ?? props.known}</b>
            <Show when={props.file} fallback={<span class="muted"> uploaded before</span>}>
              <span class="muted"> {octets(props.file!.size)}</span>
            </Show>
          </Show>
        </span>
        <button type="button" class="button" onClick={() => input?.click()}>
          {props.file || props.known ? "Choose another" : "Choose a file"}
        </button>
        <input ref={input} class="sr" type="file" tabindex="-1" aria-label="The bill" accept=".csv,.txt,.tsv,text/csv,text/plain" onChange={(event) => props.take(event.currentTarget.files)} />
      </div>
    </Show>
  );
}

/** Expected price of lines. */
function Plan(props: { node: ChargeNode | null; plan: string; setPlan: (plan: string) => void; text: string; setText: (text: string) => void }): JSX.Element {
  return (
    <div class="stack">
      <label class="field charge-narrow">
        <span>Expected price of lines</span>
        <select class="input" value={props.plan} onChange={(event) => props.setPlan(event.currentTarget.value)}>
          <option value="">do not check amounts</option>
          <For each={props.node?.plans ?? []}>
            {(plan) => (
              <option value={plan.name} selected={plan.name === props.plan}>
                plan “{plan.name}”
              </option>
            )}
          </For>
          <option value="text" selected={props.plan === "text"}>
            plan text below
          </option>
        </select>
      </label>
      <Show when={props.plan === "text"}>
        <textarea class="input charge-text" aria-label="Plan text of the carrier's prices" spellcheck={false} placeholder={'[plan]\nname = "carrier"\ncurrency = "EUR"'} value={props.text} onInput={(event) => props.setText(event.currentTarget.value)} />
      </Show>
    </div>
  );
}

interface MoreValues {
  filter: string;
  begin: number | null;
  length: number | null;
  ahead: number | null;
  silence: number | null;
  group: number | null;
}

/** Filter and tolerances. */
function More(props: { values: MoreValues; change: (to: Partial<MoreValues>) => void }): JSX.Element {
  const help = createUniqueId();
  const field = (name: "begin" | "length" | "ahead" | "silence" | "group", label: string, usual: string, min?: number, max?: number): JSX.Element => (
    <label class="field">
      <span>{label}</span>
      <input
        class="input"
        type="number"
        step="any"
        min={min}
        max={max}
        placeholder={usual}
        value={props.values[name] ?? ""}
        onChange={(event) => props.change({ [name]: event.currentTarget.value === "" ? null : Number(event.currentTarget.value) })}
      />
    </label>
  );
  const isUsual = (): boolean => Object.values(props.values).every((value) => value === null || value === "");
  return (
    <details open={!isUsual()}>
      <summary>Filter and tolerances</summary>
      <div class="charge-form">
        <label class="field charge-wide">
          <span>Calls that must have a line</span>
          <input class="input" type="search" placeholder="all; for example src:10.0.0.0/8 or caller:+4420*" aria-describedby={help} value={props.values.filter} onChange={(event) => props.change({ filter: event.currentTarget.value })} />
          <span id={help} class="muted charge-small">
            The same filter language as on the Calls page. Lines of other calls are ignored, lines without a call are reported.
          </span>
        </label>
        {field("begin", "Maximum difference of start times, seconds", "10", 0, 300)}
        {field("length", "Maximum difference of durations, seconds", "2", 0, 600)}
        {field("ahead", "Clock of the bill is ahead by, seconds", "measured", -86_400, 86_400)}
        {field("silence", "Gap that counts as not captured, seconds", "3600", 60, 86_400)}
        {field("group", "Rating group of calls", "any", 0)}
      </div>
    </details>
  );
}
