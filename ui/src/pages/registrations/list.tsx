import { A } from "@solidjs/router";
import { createResource, Show, type JSX } from "solid-js";
import { nameOf } from "../../aliases";
import { get } from "../../api/client";
import type { Registration } from "../../api/types";
import { duration, sentence, whole } from "../../format";
import { known } from "../../parts/known";
import { Tag } from "../../parts/meaning";
import { Empty } from "../../parts/states";
import { Time } from "../../parts/time";
import { Paged } from "./paged";

export interface ListProps {
  from: string;
  to: string;
  q: string;
  state: string;
  onState: (state: string | undefined) => void;
}

type Counts = Record<"ok" | "failed" | "unanswered", number>;

/** Where the calls of a user are listed. */
export const callsOf = (user: string): string => `/calls?filter=${encodeURIComponent(`number:"${user}"`)}`;

export function RegistrationList(props: ListProps): JSX.Element {
  const query = (): Record<string, string> => ({ from: props.from, to: props.to, q: props.q, state: props.state });
  return (
    <Paged<Registration>
      path="/registrations"
      rows="registrations"
      what="registrations"
      label="Registrations, newest first"
      query={query()}
      heights={[52, 88]}
      empty={<Nothing isSearch={props.q !== "" || props.state !== ""} />}
      head={<Head />}
    >
      {(row) => <Row row={row} />}
    </Paged>
  );
}

function Head(): JSX.Element {
  return (
    <div class="listed listed-head registrations-row" role="row">
      <div role="columnheader">When</div>
      <div role="columnheader">User</div>
      <div role="columnheader">State</div>
      <div role="columnheader">From</div>
      <div role="columnheader" class="wide">
        At
      </div>
      <div role="columnheader" class="wide least right">
        Expires
      </div>
      <div role="columnheader" class="wide right">
        Response time
      </div>
      <div role="columnheader" class="wide">
        User agent
      </div>
      <div role="columnheader" class="sr">
        Problem or contact
      </div>
    </div>
  );
}

function Row(props: { row: Registration }): JSX.Element {
  const r = (): Registration => props.row;
  return (
    <div class="listed registrations-row" role="presentation">
      <div role="cell" class="when">
        <Time at={r().start} shape="short" />
      </div>
      <div role="cell" class="who">
        <A data-row-link class="clip" href={callsOf(r().user)} title={`Calls of ${r().aor}`}>
          {r().user || r().aor}
        </A>
      </div>
      <div role="cell" class="how">
        <State row={r()} />
      </div>
      <div role="cell" class="at num" title={r().src ?? ""}>
        <span class="clip">{nameOf(r().src)}</span>
      </div>
      <div role="cell" class="wide num" title={r().dst ?? ""}>
        <span class="clip">{nameOf(r().dst)}</span>
      </div>
      <div role="cell" class="wide least right">
        {expires(r().expires)}
      </div>
      <div role="cell" class="wide right">
        {duration(r().response_ms)}
        <Show when={r().retransmissions > 0}>
          <span class="muted" title={`${r().retransmissions} retransmissions`}>
            ↻{r().retransmissions}
          </span>
        </Show>
      </div>
      <div role="cell" class="wide" title={r().user_agent ?? ""}>
        <span class="clip">{r().user_agent ?? "–"}</span>
      </div>
      <div role="cell" class="why" classList={{ muted: r().verdict === null }} title={r().verdict ?? r().contact ?? ""}>
        <span class="why-text">{r().verdict === null ? (r().contact ?? "no contact") : reasonOf(r().verdict!)}</span>
      </div>
    </div>
  );
}

const expires = (seconds: number | null): string => (seconds === null ? "–" : seconds === 0 ? "unregister" : `${whole(seconds)} s`);

/** The verdict without whose registration failed: that stands above it. */
function reasonOf(verdict: string): string {
  return sentence(verdict.replace(/^Registration of \S+ failed: /, ""));
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
export function CountsLine(props: ListProps): JSX.Element {
  const [counts] = createResource(
    () => [props.from, props.to, props.q].join(" "),
    () => get<Counts>("/registrations/summary", { from: props.from, to: props.to, q: props.q }),
  );
  // Where the rows say what failed, the counts say nothing.
  const told = (): Counts | undefined => known(counts);
  const choice = (state: keyof Counts, meaning: "good" | "bad" | "warn"): JSX.Element => (
    <button class="button quiet" aria-pressed={props.state === state} onClick={() => props.onState(props.state === state ? undefined : state)}>
      <Tag meaning={meaning}>{state}</Tag> <b class="num">{whole(told()?.[state])}</b>
    </button>
  );
  return (
    <div class="row registrations-counts" role="group" aria-label="By state">
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
          Choose a longer range. Trunkline sees REGISTER only if it captures between the phones and their registrar.
        </Empty>
      }
    >
      <Empty icon="search" title="No matches">
        No registrations in this range match the search and the state. <code>*</code> matches any characters: <code>49*</code>, <code>*Yealink*</code>.
      </Empty>
    </Show>
  );
}
