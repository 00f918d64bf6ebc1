// Calls: ask, see how they went over time, find the one.

import { createEffect, createMemo, createSignal, Match, on, onCleanup, Show, Switch, type JSX } from "solid-js";
import { Problem } from "../api/problem";
import { of, whole } from "../format";
import { Head } from "../parts/head";
import { Icon } from "../parts/icon";
import { useKeys } from "../parts/keys";
import { PHONE, useMedia } from "../parts/media";
import { RangePicker } from "../parts/range-picker";
import { widened } from "../parts/range-text";
import { Empty, Loading, Trouble } from "../parts/states";
import type { VirtualHandle } from "../parts/virtual";
import { absolute, type Range } from "../range";
import { Bring, mayBring } from "./calls/bring";
import { ColumnChoice } from "./calls/column-choice";
import { codecsOf } from "./calls/columns";
import { withTest, type Test } from "./calls/edit";
import { ExportMenu } from "./calls/export-menu";
import { Figures } from "./calls/figures";
import { FilterBar } from "./calls/filter-bar";
import { remember } from "./calls/known-fields";
import { Nothing } from "./calls/nothing";
import { OverTime } from "./calls/over-time";
import { SavedFilters } from "./calls/saved-filters";
import { seenIn } from "./calls/seen";
import { useSelection } from "./calls/selection";
import { CallsTable } from "./calls/table";
import "./calls/calls.css";

export default function Calls(): JSX.Element {
  const calls = useSelection();
  const phone = useMedia(PHONE);
  const [cursor, setCursor] = createSignal(calls.place?.cursor ?? -1);
  const [zooms, setZooms] = createSignal<Range[]>([]);
  let list: VirtualHandle | undefined;
  let choose: (() => void) | undefined;

  const zoom = (from: number, to: number): void => {
    setZooms((all) => [...all, calls.range()]);
    calls.setRange(absolute(from, to));
  };
  const back = (): void => {
    const before = zooms().at(-1);
    setZooms((all) => all.slice(0, -1));
    calls.setRange(before ?? widened(calls.range()));
  };
  const setRange = (range: Range): void => {
    setZooms([]);
    calls.setRange(range);
  };
  const setFilter = (filter: string): void => {
    if (filter === calls.filter()) calls.reload();
    else calls.setFilter(filter);
  };
  const add = (test: Test, exclude: boolean): void => {
    const filter = withTest(calls.filter(), test, exclude);
    remember(filter);
    setFilter(filter);
  };

  // What one reads must not move: new calls come in by themselves only at the top, and while no row is held.
  calls.follow(() => (list?.atTop() ?? true) && cursor() < 0);
  const toNewest = (): void => {
    setCursor(-1);
    list?.toTop();
    void calls.load();
  };
  const held = (handle: VirtualHandle): void => {
    const first = list === undefined;
    list = handle;
    const place = calls.place;
    // The frame scrolls a new page to its top first.
    if (first && place) requestAnimationFrame(() => (handle.scrollTo(place.top), handle.focus(place.cursor)));
  };
  onCleanup(() => calls.lay({ top: list?.top() ?? 0, cursor: cursor() }));
  const asked = (): string => JSON.stringify(calls.question());
  createEffect(
    on(asked, () => {
      setCursor(-1);
      list?.toTop();
    }, { defer: true }),
  );
  useKeys([
    { keys: "Escape", what: "Deselect the row, then zoom out", run: () => (cursor() >= 0 ? release() : zooms().length > 0 && back()) },
    { keys: "f", what: "Follow new calls", run: () => calls.setFollowing(!calls.following()) },
    { keys: "-", what: "Zoom out", run: back },
  ]);
  const release = (): void => {
    setCursor(-1);
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  };

  const codecs = createMemo(() => [...new Set([...CODECS, ...calls.rows().slice(0, 200).flatMap(codecsOf)])]);
  const badFilter = (): boolean => calls.error() instanceof Problem && (calls.error() as Problem).kind === "bad-filter";
  const none = (): boolean => calls.begun() && !calls.busy() && calls.count() === 0 && !calls.more();
  return (
    <div class="calls" classList={{ none: none() || calls.error() !== undefined }}>
      <Head title="Calls">
        <button
          class="button"
          aria-pressed={calls.following()}
          disabled={calls.oldestFirst()}
          title={calls.oldestFirst() ? "Available when the newest call is first" : "Show new calls as they arrive (f)"}
          onClick={() => calls.setFollowing(!calls.following())}
        >
          <span class="follow-sign" classList={{ on: calls.following() }} aria-hidden="true" />
          Follow
        </button>
        <Show when={mayBring()}>
          <button class="button" title="Upload a capture and show its calls" onClick={() => choose?.()}>
            <Icon name="upload" size={16} />
            <span class="tool-name">Open capture</span>
          </button>
        </Show>
        <Show when={!phone()}>
          <ColumnChoice />
        </Show>
        <ExportMenu calls={calls} />
        <RangePicker range={calls.range()} onChange={setRange} onWider={back} />
      </Head>
      <div class="calls-ask">
        <FilterBar filter={calls.filter()} onFilter={setFilter} error={calls.error()} seen={(field) => seenIn(calls.rows(), field)} codecs={codecs()} ready={calls.begun()}>
          <SavedFilters filter={calls.filter()} use={setFilter} />
        </FilterBar>
      </div>
      <Bring show={(range) => (range ? setRange(range) : calls.reload())} chooser={(open) => (choose = open)} />
      <div class="calls-sum" classList={{ busy: calls.summing() && calls.summary() !== undefined }} hidden={badFilter()}>
        <Figures summary={calls.summary()} error={calls.summaryError()} retry={calls.reload} />
        <div class="over-time">
          <OverTime summary={calls.summary()} onZoom={zoom} height={phone() ? 56 : 64} />
          <Show when={zooms().length > 0}>
            <button class="button zoom-out" onClick={back}>
              Zoom out <kbd>Esc</kbd>
            </button>
          </Show>
        </div>
      </div>
      <Show when={calls.skipped().length > 0}>
        <p class="calls-skipped warn-ink row" role="status">
          <Icon name="warn" size={14} />
          {of(calls.skipped().length, "day", "days")} could not be read: {calls.skipped().map((one) => `${one.day} (${one.why})`).join("; ")}
        </p>
      </Show>
      <div class="calls-list">
        <Show when={calls.fresh().count > 0}>
          <button class="new-calls" onClick={toNewest}>
            {whole(calls.fresh().count)}
            {calls.fresh().atLeast ? " or more" : ""} new {calls.fresh().count === 1 ? "call" : "calls"}
          </button>
        </Show>
        <Switch fallback={<CallsTable calls={calls} cursor={cursor()} onCursor={setCursor} add={add} handle={held} />}>
          <Match when={!calls.begun()}>
            <Loading what="calls" />
          </Match>
          <Match when={badFilter()}>
            <Empty icon="filter" title="The filter is not valid">
              The error is marked in the filter. Press <kbd>/</kbd> to edit it; field names are suggested as you type.
            </Empty>
          </Match>
          <Match when={calls.error()}>
            <Trouble error={calls.error()} retry={calls.reload} />
          </Match>
          <Match when={none()}>
            <Nothing filter={calls.filter()} range={calls.range()} setFilter={setFilter} setRange={setRange} upload={() => choose?.()} />
          </Match>
        </Switch>
      </div>
    </div>
  );
}

const CODECS = ["PCMA", "PCMU", "G722", "G729", "opus", "AMR", "AMR-WB", "EVS", "GSM", "iLBC", "telephone-event"];
