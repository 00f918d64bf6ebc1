import { A } from "@solidjs/router";
import { createResource, For, Show, type JSX } from "solid-js";
import { nameOf } from "../../aliases";
import { get } from "../../api/client";
import type { Registration } from "../../api/types";
import { duration, whole } from "../../format";
import { Tag } from "../../parts/meaning";
import { Empty } from "../../parts/states";
import { Time } from "../../parts/time";
import { Paged } from "./paged";

interface ListProps {
  from: string;
  to: string;
  q: string;
  state: string;
  onState: (state: string | undefined) => void;
}

type Counts = Record<"ok" | "failed" | "unanswered", number>;

export function RegistrationList(props: ListProps): JSX.Element {
  const query = (): Record<string, string> => ({ from: props.from, to: props.to, q: props.q, state: props.state });
  return (
    <>
      <CountsLine {...props} />
      <div class="panel">
        <Paged<Registration> path="/registrations" rows="registrations" what="registrations" query={query()} empty={<Nothing isSearch={props.q !== "" || props.state !== ""} />}>
          {(rows) => (
            <div class="scroll">
              <table class="table registrations-table">
                <thead>
                  <tr>
                    <th scope="col">When</th>
                    <th scope="col">User</th>
                    <th scope="col">State</th>
                    <th scope="col">From</th>
                    <th scope="col">At</th>
                    <th scope="col" class="expires right">Expires</th>
                    <th scope="col" class="right">Answered in</th>
                    <th scope="col">User agent</th>
                  </tr>
                </thead>
                <tbody>
                  <For each={rows}>{(row) => <Row row={row} />}</For>
                </tbody>
              </table>
            </div>
          )}
        </Paged>
      </div>
    </>
  );
}

function Row(props: { row: Registration }): JSX.Element {
  const r = props.row;
  return (
    <>
      <tr classList={{ "has-why": r.verdict !== null }}>
        <td>
          <Time at={r.start} shape="short" />
        </td>
        <td class="who nowrap">
          <A data-row-link href={`/calls?filter=${encodeURIComponent(`number:"${r.user}"`)}`} title={`Calls of ${r.aor}`}>
            {r.user || r.aor}
          </A>
        </td>
        <td class="how at-right nowrap">
          <State row={r} />
        </td>
        <td class="at-right nowrap num" title={r.src ?? ""}>
          {nameOf(r.src)}
        </td>
        <td class="wide nowrap num" title={r.dst ?? ""}>
          {nameOf(r.dst)}
        </td>
        <td class="wide expires right nowrap">{r.expires === null ? "–" : r.expires === 0 ? "signs off" : `${whole(r.expires)} s`}</td>
        <td class="wide right nowrap">
          {duration(r.response_ms)}
          <Show when={r.retransmissions > 0}>
            <span class="muted" title={`Sent again ${r.retransmissions} times`}>
              {" "}
              ↻{r.retransmissions}
            </span>
          </Show>
        </td>
        <td class="wide registrations-agent clip" title={r.user_agent ?? ""}>
          {r.user_agent ?? "–"}
        </td>
      </tr>
      <Show when={r.verdict}>
        <tr class="registrations-why">
          <td class="wide" />
          <td colspan={7}>{r.verdict}</td>
        </tr>
      </Show>
    </>
  );
}

function State(props: { row: Registration }): JSX.Element {
  const code = (): number | null => props.row.code;
  return (
    <Show when={code()} fallback={<Tag meaning="warn">no answer</Tag>}>
      {(code) => (
        <Tag meaning={code() < 300 ? "good" : "bad"}>
          {code()} {props.row.reason}
        </Tag>
      )}
    </Show>
  );
}

/** How many of each state; each is a filter. */
function CountsLine(props: ListProps): JSX.Element {
  const [counts] = createResource(
    () => [props.from, props.to, props.q].join(" "),
    () => get<Counts>("/registrations/summary", { from: props.from, to: props.to, q: props.q }),
  );
  const choice = (state: keyof Counts, meaning: "good" | "bad" | "warn"): JSX.Element => (
    <button class="button quiet" aria-pressed={props.state === state} onClick={() => props.onState(props.state === state ? undefined : state)}>
      <Tag meaning={meaning}>{state}</Tag> <b class="num">{whole(counts.latest?.[state])}</b>
    </button>
  );
  return (
    <div class="row" role="group" aria-label="By state">
      {choice("ok", "good")}
      {choice("failed", "bad")}
      {choice("unanswered", "warn")}
    </div>
  );
}

function Nothing(props: { isSearch: boolean }): JSX.Element {
  return (
    <Show
      when={props.isSearch}
      fallback={
        <Empty icon="registrations" title="No registrations in this range">
          Choose a longer range. REGISTER is seen only where Trunkline listens between the phones and their registrar.
        </Empty>
      }
    >
      <Empty icon="search" title="Nothing fits">
        No registration of this range fits the search and the state. <code>*</code> stands for any characters: <code>49*</code>, <code>*Yealink*</code>.
      </Empty>
    </Show>
  );
}
