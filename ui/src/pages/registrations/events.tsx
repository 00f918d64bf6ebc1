import { A } from "@solidjs/router";
import { Show, type JSX } from "solid-js";
import { nameOf } from "../../aliases";
import type { SipEvent } from "../../api/types";
import { duration } from "../../format";
import { Tag } from "../../parts/meaning";
import { Empty } from "../../parts/states";
import { Time } from "../../parts/time";
import { callsOf } from "./list";
import { Paged } from "./paged";

/** Transactions outside calls and registrations: OPTIONS, SUBSCRIBE, MESSAGE and so on. */
export function Events(props: { from: string; to: string; q: string; method: string }): JSX.Element {
  const query = (): Record<string, string> => ({ from: props.from, to: props.to, q: props.q, method: props.method });
  return (
    <Paged<SipEvent>
      path="/events"
      rows="events"
      what="transactions"
      label="Transactions, newest first"
      query={query()}
      heights={[34, 60]}
      empty={<Nothing isSearch={props.q !== "" || props.method !== ""} />}
      head={<Head />}
    >
      {(row) => <Row row={row} />}
    </Paged>
  );
}

function Head(): JSX.Element {
  return (
    <div class="listed listed-head events-row" role="row">
      <div role="columnheader">When</div>
      <div role="columnheader">Method</div>
      <div role="columnheader">Answer</div>
      <div role="columnheader">From</div>
      <div role="columnheader">To</div>
      <div role="columnheader" class="wide">
        Source
      </div>
      <div role="columnheader" class="wide">
        Destination
      </div>
      <div role="columnheader" class="wide right">
        Response time
      </div>
      <div role="columnheader" class="wide least right">
        Retransmissions
      </div>
    </div>
  );
}

function Row(props: { row: SipEvent }): JSX.Element {
  const e = (): SipEvent => props.row;
  const user = (name: string): JSX.Element => (
    <Show when={name} fallback={<span class="muted">none</span>}>
      <A data-row-link class="clip" href={callsOf(name)} title={`Calls of ${name}`}>
        {name}
      </A>
    </Show>
  );
  return (
    <div class="listed events-row" role="presentation">
      <div role="cell" class="when">
        <Time at={e().start} shape="short" />
      </div>
      <div role="cell" class="method">
        {e().method}
      </div>
      <div role="cell" class="how">
        <Show when={e().code} fallback={<Tag meaning="warn">no answer</Tag>}>
          {(code) => (
            <Tag meaning={code() < 300 ? "good" : "bad"}>
              {code()} {e().reason}
            </Tag>
          )}
        </Show>
      </div>
      <div role="cell" class="who">
        {user(e().from)}
      </div>
      <div role="cell" class="whom">
        {user(e().to)}
      </div>
      <div role="cell" class="wide num" title={e().src ?? ""}>
        <span class="clip">{nameOf(e().src)}</span>
      </div>
      <div role="cell" class="wide num" title={e().dst ?? ""}>
        <span class="clip">{nameOf(e().dst)}</span>
      </div>
      <div role="cell" class="wide right">
        {duration(e().response_ms)}
      </div>
      <div role="cell" class="wide least right">
        {e().retransmissions || ""}
      </div>
    </div>
  );
}

function Nothing(props: { isSearch: boolean }): JSX.Element {
  return (
    <Show
      when={props.isSearch}
      fallback={
        <Empty icon="registrations" title="No transactions in this range">
          Choose a longer range. OPTIONS, SUBSCRIBE, MESSAGE and others are listed here; transactions of a call are on the page of the call.
        </Empty>
      }
    >
      <Empty icon="search" title="No matches">
        No transactions in this range match the search and the method. <code>*</code> matches any characters: <code>49*</code>, <code>*gateway*</code>.
      </Empty>
    </Show>
  );
}
