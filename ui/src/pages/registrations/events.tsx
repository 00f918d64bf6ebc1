import { For, Show, type JSX } from "solid-js";
import { nameOf } from "../../aliases";
import type { SipEvent } from "../../api/types";
import { duration } from "../../format";
import { Tag } from "../../parts/meaning";
import { Empty } from "../../parts/states";
import { Time } from "../../parts/time";
import { Paged } from "./paged";

/** Transactions outside calls and registrations: OPTIONS, SUBSCRIBE, MESSAGE and so on. */
export function Events(props: { from: string; to: string; q: string; method: string }): JSX.Element {
  const query = (): Record<string, string> => ({ from: props.from, to: props.to, q: props.q, method: props.method });
  const empty = (
    <Empty title="No transactions in this range">Choose a longer range, another method or a shorter search.</Empty>
  );
  return (
    <div class="panel">
      <Paged<SipEvent> path="/events" rows="events" what="transactions" query={query()} empty={empty}>
        {(rows) => (
          <div class="scroll">
            <table class="table">
              <thead>
                <tr>
                  <th scope="col">When</th>
                  <th scope="col">Method</th>
                  <th scope="col">Answer</th>
                  <th scope="col">From</th>
                  <th scope="col">To</th>
                  <th scope="col">Sent by</th>
                  <th scope="col">Sent to</th>
                  <th scope="col" class="right">After</th>
                  <th scope="col" class="right">Sent again</th>
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
  );
}

function Row(props: { row: SipEvent }): JSX.Element {
  const e = props.row;
  return (
    <tr>
      <td>
        <Time at={e.start} shape="short" />
      </td>
      <td>{e.method}</td>
      <td class="nowrap">
        <Show when={e.code} fallback={<Tag meaning="warn">no answer</Tag>}>
          {(code) => (
            <Tag meaning={code() < 300 ? "good" : "bad"}>
              {code()} {e.reason}
            </Tag>
          )}
        </Show>
      </td>
      <td class="nowrap">{e.from}</td>
      <td class="nowrap">{e.to}</td>
      <td class="nowrap num" title={e.src ?? ""}>
        {nameOf(e.src)}
      </td>
      <td class="nowrap num" title={e.dst ?? ""}>
        {nameOf(e.dst)}
      </td>
      <td class="right nowrap">{duration(e.response_ms)}</td>
      <td class="right">{e.retransmissions || ""}</td>
    </tr>
  );
}
