// Clients that are connected to the charging node.

import { A } from "@solidjs/router";
import { createResource, createSignal, For, Match, Show, Switch, type JSX } from "solid-js";
import { get } from "../api/client";
import { Problem } from "../api/problem";
import type { ChargeCall, ChargePeer, ChargePeers } from "../api/types";
import type { Meaning } from "../format";
import { whole } from "../format";
import { Head } from "../parts/head";
import { known } from "../parts/known";
import { Tag } from "../parts/meaning";
import { Empty, Loading, Trouble } from "../parts/states";
import { Time } from "../parts/time";
import { useEvery } from "./charge/every";
import { ChargeNav, NoNode } from "./charge/nav";

const LOOK_MS = 4_800;

/** The first pages of them. */
async function load(pages: number): Promise<ChargePeers> {
  const all = await get<ChargePeers>("/charge/peers");
  for (let page = 1; page < pages && all.peers.length < all.total; page++) {
    const next = await get<ChargePeers>("/charge/peers", { after: all.peers.at(-1)?.number });
    if (next.peers.length === 0) break;
    all.peers.push(...next.peers);
  }
  return all;
}

export default function ChargeClients(): JSX.Element {
  const [pages, setPages] = createSignal(1);
  const [page, again] = createResource(pages, load);
  useEvery(LOOK_MS, () => void (!page.loading && again.refetch()));
  const calls = (): ChargeCall[] => known(page)?.calls ?? [];
  const all = (): ChargePeer[] => known(page)?.peers ?? [];
  return (
    <>
      <Head title="Clients" about={<span class="muted">{known(page) ? `${whole(known(page)!.total)} connected` : ""}</span>} />
      <ChargeNav />
      <div class="charge">
        <Switch fallback={<Loading what="the clients" />}>
          <Match when={page.error instanceof Problem && page.error.kind === "not-found"}>
            <NoNode />
          </Match>
          <Match when={page.error}>
            <Trouble error={page.error} retry={() => void again.refetch()} />
          </Match>
          <Match when={known(page) && all().length === 0 && calls().length === 0}>
            <Empty icon="charge" title="No clients connected">
              <p>
                Gateways (PGW, UPF, IMS) connect by Diameter to the node's listen addresses. The node's log lists refused connections. <code>--peer</code> and <code>--allow</code>, or <code>[charge] peers</code> and{" "}
                <code>allow</code> set which clients may connect.
              </p>
            </Empty>
          </Match>
          <Match when={known(page)}>
            <Show when={calls().length > 0}>
              <Calls calls={calls()} />
            </Show>
            <section class="panel" aria-label="Clients">
              <header>
                <h2>Connections</h2>
                <span class="muted">{all().length > 0 ? "incoming and outgoing" : "No connections."}</span>
              </header>
              <div class="scroll" tabindex="0" role="group" aria-label="Table of clients">
                <table class="table">
                  <thead>
                    <tr>
                      <th scope="col">Client</th>
                      <th scope="col">Realm</th>
                      <th scope="col">Address</th>
                      <th scope="col">Watchdog</th>
                      <th scope="col">Since</th>
                      <th scope="col">Last message</th>
                      <th scope="col" class="right">
                        Requests
                      </th>
                      <th scope="col" class="right">
                        Duplicates
                      </th>
                      <th scope="col" class="right">
                        Rejected
                      </th>
                      <th scope="col" class="right">
                        Too busy
                      </th>
                      <th scope="col" class="right">
                        Failed
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    <For each={all()}>{(peer) => <Row peer={peer} />}</For>
                  </tbody>
                </table>
              </div>
              <Show when={all().length < (known(page)?.total ?? 0)}>
                <div class="body">
                  <button class="button" disabled={page.loading} onClick={() => setPages(pages() + 1)}>
                    More clients
                  </button>
                </div>
              </Show>
            </section>
          </Match>
        </Switch>
      </div>
    </>
  );
}

const STATES: Record<string, { meaning: Meaning; text: string }> = {
  open: { meaning: "good", text: "connected" },
  came: { meaning: "good", text: "incoming" },
  dialling: { meaning: "none", text: "connecting" },
  greeting: { meaning: "none", text: "handshake" },
  down: { meaning: "bad", text: "down" },
};

/** Outgoing peers. */
function Calls(props: { calls: ChargeCall[] }): JSX.Element {
  return (
    <section class="panel" aria-label="Outgoing peers">
      <header>
        <h2>Outgoing peers</h2>
        <span class="muted">relays and gateways in the configuration</span>
      </header>
      <div class="scroll" tabindex="0" role="group" aria-label="Table of peers">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Peer</th>
              <th scope="col">Address</th>
              <th scope="col">State</th>
              <th scope="col" class="right">
                Attempts
              </th>
            </tr>
          </thead>
          <tbody>
            <For each={props.calls}>
              {(call) => (
                <tr>
                  <td class="charge-id">{call.host}</td>
                  <td class="num nowrap">
                    {call.address} {call.tls ? <Tag meaning="note">TLS</Tag> : null}
                  </td>
                  <td>
                    <Tag meaning={STATES[call.state]?.meaning ?? "none"}>{STATES[call.state]?.text ?? call.state}</Tag>{" "}
                    <span class="muted">{[call.why, call.next_s === null ? "" : `retry in ${whole(call.next_s)} s`].filter(Boolean).join("; ")}</span>
                  </td>
                  <td class="right num">{whole(call.tries)}</td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
    </section>
  );
}

const MEANINGS: Record<string, Meaning> = { okay: "good", asked: "none", suspect: "bad", closing: "warn" };

function Row(props: { peer: ChargePeer }): JSX.Element {
  const peer = (): ChargePeer => props.peer;
  return (
    <tr>
      <td class="charge-id">
        <A href={`/charge/sessions?origin=${encodeURIComponent(peer().host)}`} title="Sessions of this client">
          {peer().host}
        </A>
      </td>
      <td class="charge-id">{peer().realm}</td>
      <td class="num nowrap">
        {peer().address} {peer().tls ? <Tag meaning="note">TLS</Tag> : null}
      </td>
      <td>
        <Tag meaning={MEANINGS[peer().watchdog] ?? "none"}>{peer().watchdog}</Tag>
      </td>
      <td>
        <Time at={peer().since} shape="short" />
      </td>
      <td>
        <Time at={peer().heard} shape="clock" />
      </td>
      <td class="right num">{whole(peer().requests)}</td>
      <td class="right num">{whole(peer().copies)}</td>
      <td class="right num">{whole(peer().refused)}</td>
      <td class="right num">{whole(peer().busy)}</td>
      <td class="right num">{whole(peer().failed)}</td>
    </tr>
  );
}
