// A call that cannot be shown: there is none, there are several, or it is not over yet.

import { A } from "@solidjs/router";
import { createResource, createSignal, For, onCleanup, Show, type JSX } from "solid-js";
import { get } from "../../api/client";
import type { Problem } from "../../api/problem";
import type { CallsPage, CallUp } from "../../api/types";
import { StateTag } from "../../parts/meaning";
import { Empty } from "../../parts/states";
import { Time } from "../../parts/time";
import { full, ms, ofNs } from "../../time";
import { timeOfId } from "./words";

/** Why there is no such call, as far as can be told. */
export function Absent(props: { id: string }): JSX.Element {
  const [oldest] = createResource(async () => {
    const page = await get<CallsPage>("/calls", { order: "oldest", limit: 1 });
    return page.calls[0];
  });
  const why = (): string => {
    const kept = oldest.state === "ready" ? oldest() : undefined;
    const at = timeOfId(props.id);
    if (oldest.state === "ready" && !kept) return "No calls are stored yet.";
    if (at !== undefined && kept && at < ms(kept.start)) {
      return `The call started at ${full(at)}, by its identifier. The oldest stored call started at ${full(ms(kept.start))}: retention has deleted it.`;
    }
    if (at !== undefined) return `The call started at ${full(at)}, by its identifier, but it is not stored here. Perhaps another Trunkline captured it.`;
    return "No identifier starts with this, and no Call-ID is exactly this. Call-IDs are case-sensitive.";
  };
  return (
    <Empty icon="search" title="Call not found">
      <div class="stack">
        <p>
          <code>{props.id}</code>
        </p>
        <p>{why()}</p>
        <p>
          <A href={`/calls?${new URLSearchParams({ filter: `callid:"${props.id.replace(/[\\"]/g, "\\$&")}*"`, from: "now-30d" }).toString()}`}>Search for Call-IDs that start with it</A>
        </p>
      </div>
    </Empty>
  );
}

export function Several(props: { problem: Problem; id: string }): JSX.Element {
  const candidates = (): { id: string; start: string }[] => (props.problem.details["candidates"] as { id: string; start: string }[] | undefined) ?? [];
  return (
    <div class="several">
      <Empty icon="calls" title="Several calls match">
        <p>
          <code>{props.id}</code> matches {candidates().length} calls. Choose one:
        </p>
        <ul class="stack">
          <For each={candidates()}>
            {(candidate) => (
              <li>
                <A href={`/calls/${candidate.id}`}>
                  <code>{candidate.id}</code>
                </A>{" "}
                <Time at={candidate.start} />
              </li>
            )}
          </For>
        </ul>
      </Empty>
    </div>
  );
}

/** Not stored yet: it is up, or has just ended. The page asks for it again and again. */
export function StillUp(props: { call: CallUp; listed: boolean }): JSX.Element {
  const [now, setNow] = createSignal(Date.now());
  const timer = setInterval(() => setNow(Date.now()), 1000);
  onCleanup(() => clearInterval(timer));
  const since = (): number => Math.max(0, now() - ofNs(props.call.answer_ns ?? props.call.start_ns));
  return (
    <Empty icon="phone" title={`${props.call.from} calls ${props.call.to}`}>
      <div class="stack">
        <Show when={props.listed} fallback={<p>The call has ended or is no longer among the newest active calls. It appears here as soon as it is stored.</p>}>
          <p class="row still-up">
            <StateTag state={props.call.state} />
            <span class="num">
              {clockOf(since())} {props.call.answer_ns ? "since answer" : "since start"}
            </span>
          </p>
          <p>Call in progress. The ladder, streams and verdict appear when it ends: at the BYE, or after four hours without packets.</p>
        </Show>
        <p>
          From <code>{props.call.src}</code> to <code>{props.call.dst}</code>, started at <Time at={ofNs(props.call.start_ns)} />.
        </p>
      </div>
    </Empty>
  );
}

/** A running time: "0:42", "1:02:33". */
function clockOf(elapsed: number): string {
  const s = Math.floor(elapsed / 1000);
  const two = (n: number): string => String(n).padStart(2, "0");
  const minutes = Math.floor(s / 60) % 60;
  return s < 3600 ? `${minutes}:${two(s % 60)}` : `${Math.floor(s / 3600)}:${two(minutes)}:${two(s % 60)}`;
}
