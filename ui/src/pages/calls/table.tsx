// The list of calls: a table on a desk, cards of two lines on a phone. A row is a link; a value in it is a filter.

import { A } from "@solidjs/router";
import { createMemo, For, Match, onCleanup, Show, Switch, type JSX } from "solid-js";
import type { Call } from "../../api/types";
import { duration, of } from "../../format";
import { Icon } from "../../parts/icon";
import { Mos, StateTag } from "../../parts/meaning";
import { PHONE, useMedia } from "../../parts/media";
import { Time } from "../../parts/time";
import { Virtual, type VirtualHandle } from "../../parts/virtual";
import { keepTrail } from "../../trail";
import { isMasked, WIDTH_MAX, WIDTH_MIN, type Column } from "./columns";
import { written, type Test } from "./edit";
import { setWidth, shownColumns, template, widthOf, widthOfAll } from "./layout";
import type { Selection } from "./selection";
import "./table.css";

const ROW_PX = 32;
const CARD_PX = 64;
const HEAD_PX = 32;

export interface TableProps {
  calls: Selection;
  cursor: number;
  onCursor: (row: number) => void;
  add: (test: Test, exclude: boolean) => void;
  handle: (handle: VirtualHandle) => void;
}

export function CallsTable(props: TableProps): JSX.Element {
  const phone = useMedia(PHONE);
  const coarse = useMedia("(pointer: coarse)");
  const rowPx = (): number => (phone() ? CARD_PX : coarse() ? 44 : ROW_PX);
  const opened = (call: Call): void => keepTrail({ back: location.pathname + location.search, ids: props.calls.rows().map((row) => row.id) }, call.id);
  return (
    <div class="calls-table" classList={{ busy: props.calls.busy() }} style={{ "--cols": template() }}>
      <Virtual
        count={props.calls.count()}
        more={props.calls.more()}
        rowHeight={rowPx()}
        label={props.calls.oldestFirst() ? "Calls, oldest first" : "Calls, newest first"}
        rows="calls"
        cursor={props.cursor}
        onCursor={props.onCursor}
        onRows={props.calls.seen}
        scroller={phone() ? "page" : "self"}
        head={phone() ? undefined : <Head calls={props.calls} />}
        headHeight={HEAD_PX}
        {...(phone() ? {} : { width: `${widthOfAll()}px` })}
        handle={props.handle}
        foot={<Foot calls={props.calls} />}
      >
        {(row) => (
          <Show when={props.calls.row(row)} fallback={<span class="virtual-waiting" role="cell" aria-label="Loading" />}>
            {(call) => (phone() ? <Card call={call()} opened={opened} /> : <Row call={call()} opened={opened} add={props.add} />)}
          </Show>
        )}
      </Virtual>
    </div>
  );
}

function Head(props: { calls: Selection }): JSX.Element {
  const order = (): "ascending" | "descending" => (props.calls.oldestFirst() ? "ascending" : "descending");
  return (
    <div class="calls-row calls-head" role="row">
      <For each={shownColumns()}>
        {(column) => (
          <div role="columnheader" classList={{ right: column.right ?? false }} title={column.help} aria-sort={column.id === "start" ? order() : undefined}>
            <Show when={column.id === "start"} fallback={<span class="clip">{column.title}</span>}>
              <button
                type="button"
                class="order"
                title={props.calls.oldestFirst() ? "Oldest first; click for newest first" : "Newest first; click for oldest first"}
                onClick={() => props.calls.setOldestFirst(!props.calls.oldestFirst())}
              >
                {column.title} <span aria-hidden="true">{props.calls.oldestFirst() ? "↑" : "↓"}</span>
              </button>
            </Show>
            <Grip column={column} />
          </div>
        )}
      </For>
    </div>
  );
}

/** The edge of a column: dragged, moved by arrow keys, reset by a double click. */
function Grip(props: { column: Column }): JSX.Element {
  let stop: (() => void) | undefined;
  onCleanup(() => stop?.());
  const down = (event: PointerEvent): void => {
    event.preventDefault();
    const target = event.currentTarget as HTMLElement;
    const from = event.clientX;
    const width = target.parentElement?.getBoundingClientRect().width ?? widthOf(props.column);
    const move = (now: PointerEvent): void => setWidth(props.column.id, width + now.clientX - from);
    stop = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", stop!);
      stop = undefined;
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop);
  };
  const key = (event: KeyboardEvent): void => {
    const step = { ArrowLeft: -8, ArrowRight: 8 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    setWidth(props.column.id, widthOf(props.column) + step);
  };
  return (
    <span
      class="grip"
      role="separator"
      aria-orientation="vertical"
      aria-label={`Width of ${props.column.title}`}
      aria-valuenow={widthOf(props.column)}
      aria-valuemin={WIDTH_MIN}
      aria-valuemax={WIDTH_MAX}
      tabindex="0"
      onPointerDown={down}
      onKeyDown={key}
      onDblClick={() => setWidth(props.column.id, undefined)}
    />
  );
}

/** For those who do not see the row: whose call it is, and how it went. */
const said = (call: Call): string => `Call from ${call.from || "none"} to ${call.to || "none"}, ${call.state}${call.verdict ? `: ${call.verdict}` : ""}`;

function Row(props: { call: Call; opened: (call: Call) => void; add: (test: Test, exclude: boolean) => void }): JSX.Element {
  // Left and right walk over the values of the row that can be asked for.
  const key = (event: KeyboardEvent): void => {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (way === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const stops = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[data-row-link], .facet")];
    const next = stops[stops.indexOf(document.activeElement as HTMLElement) + way];
    if (!next) return;
    event.preventDefault();
    next.focus();
  };
  return (
    <div class="calls-row" role="presentation" onKeyDown={key}>
      <For each={shownColumns()}>
        {(column, i) => (
          <div role="cell" classList={{ right: column.right ?? false }}>
            <Show when={i() === 0}>
              <A class="row-link" data-row-link href={`/calls/${props.call.id}`} aria-label={said(props.call)} onClick={() => props.opened(props.call)} />
            </Show>
            <Value column={column} call={props.call} add={props.add} />
          </div>
        )}
      </For>
    </div>
  );
}

function Value(props: { column: Column; call: Call; add: (test: Test, exclude: boolean) => void }): JSX.Element {
  const test = createMemo(() => props.column.test?.(props.call));
  return (
    <Show when={test()} fallback={props.column.cell(props.call)}>
      {(found) => (
        <button
          type="button"
          class="facet clip"
          tabindex="-1"
          title={`Filter ${written(found())} · Alt: exclude`}
          onClick={(event) => props.add(found(), event.altKey)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || !event.altKey) return;
            event.preventDefault();
            props.add(found(), true);
          }}
        >
          {props.column.cell(props.call)}
        </button>
      )}
    </Show>
  );
}

function Card(props: { call: Call; opened: (call: Call) => void }): JSX.Element {
  const party = (user: string): JSX.Element => (
    <span class="clip num" title={isMasked(user) ? "Masked: your role does not see full numbers" : undefined}>
      {user || "none"}
    </span>
  );
  return (
    <div class="calls-card" role="cell">
      <A class="row-link" data-row-link href={`/calls/${props.call.id}`} aria-label={said(props.call)} onClick={() => props.opened(props.call)} />
      <div class="card-line">
        {party(props.call.from)}
        <span aria-label="to">→</span>
        {party(props.call.to)}
        <span class="spread" />
        <StateTag state={props.call.state} code={props.call.code} />
      </div>
      <div class="card-line muted">
        <Time at={props.call.start} shape="clock" />
        <Show when={props.call.duration_ms !== null}>
          <span class="num nowrap">{duration(props.call.duration_ms)}</span>
        </Show>
        <Show when={props.call.mos !== null}>
          <Mos value={props.call.mos} range={props.call.mos_range} />
        </Show>
        <Show when={props.call.verdict}>
          <span class="clip verdict spread">
            <span class="warn-ink">
              <Icon name="warn" size={12} />
            </span>
            <span class="clip">{props.call.verdict}</span>
          </span>
        </Show>
      </div>
    </div>
  );
}

function Foot(props: { calls: Selection }): JSX.Element {
  return (
    <p class="calls-foot muted" role="status">
      <Switch fallback={props.calls.more() ? "Loading more calls …" : `End of list (${of(props.calls.count(), "call", "calls")})`}>
        <Match when={props.calls.busy() && props.calls.count() === 0}>Loading calls …</Match>
        <Match when={props.calls.pageError()}>
          Could not load more calls.{" "}
          <button class="button" onClick={props.calls.retryPage}>
            Try again
          </button>
        </Match>
        <Match when={props.calls.stopped()}>
          The search stopped after its time limit: no {props.calls.count() > 0 ? "more " : ""}calls found so far.{" "}
          <button class="button" onClick={props.calls.retryPage}>
            Continue search
          </button>
        </Match>
      </Switch>
    </p>
  );
}
