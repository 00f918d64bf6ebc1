// Who registers, who fails and why; and the other transactions of SIP that are no calls.

import { useSearchParams } from "@solidjs/router";
import { Show, type JSX } from "solid-js";
import { Head } from "../parts/head";
import { RangePicker } from "../parts/range-picker";
import { useRange } from "../range";
import { Events } from "./registrations/events";
import { CountsLine, RegistrationList, type ListProps } from "./registrations/list";
import "./registrations/registrations.css";

export default function Registrations(): JSX.Element {
  const [range, setRange] = useRange("now-24h");
  const [search, setSearch] = useSearchParams<{ show?: string; q?: string; state?: string; method?: string }>();
  const show = (kind: string | undefined): void => setSearch({ show: kind, state: undefined, method: undefined });
  const asked = (): ListProps => ({ from: range().from, to: range().to, q: search.q ?? "", state: search.state ?? "", onState: (state) => setSearch({ state }) });
  return (
    <div class="registrations">
      <Head title="Registrations">
        <RangePicker range={range()} onChange={setRange} />
      </Head>
      <div class="registrations-ask">
        <div class="row">
          <div class="row" role="group" aria-label="View">
            <button class="button" aria-pressed={search.show === undefined} onClick={() => show(undefined)}>
              Registrations
            </button>
            <button class="button" aria-pressed={search.show === "events"} onClick={() => show("events")}>
              Other transactions
            </button>
          </div>
          <input
            class="input registrations-q"
            type="search"
            aria-label="Search"
            placeholder={search.show === "events" ? "number or address" : "user, address or user agent; * matches anything"}
            value={search.q ?? ""}
            onChange={(event) => setSearch({ q: event.currentTarget.value || undefined })}
          />
          <Show when={search.show === undefined}>
            <select class="input" aria-label="State" value={search.state ?? ""} onChange={(event) => setSearch({ state: event.currentTarget.value || undefined })}>
              <option value="">all states</option>
              <option value="ok">ok</option>
              <option value="failed">failed</option>
              <option value="unanswered">unanswered</option>
            </select>
          </Show>
          <Show when={search.show === "events"}>
            <select class="input" aria-label="Method" value={search.method ?? ""} onChange={(event) => setSearch({ method: event.currentTarget.value || undefined })}>
              <option value="">all methods</option>
              {["OPTIONS", "SUBSCRIBE", "NOTIFY", "MESSAGE", "PUBLISH", "INFO"].map((method) => (
                <option value={method}>{method}</option>
              ))}
            </select>
          </Show>
        </div>
        <Show when={search.show === undefined}>
          <CountsLine {...asked()} />
        </Show>
      </div>
      <div class="registrations-list">
        <Show when={search.show === "events"} fallback={<RegistrationList {...asked()} />}>
          <Events from={range().from} to={range().to} q={search.q ?? ""} method={search.method ?? ""} />
        </Show>
      </div>
    </div>
  );
}
