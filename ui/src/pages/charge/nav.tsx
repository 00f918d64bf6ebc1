import { A } from "@solidjs/router";
import { createEffect, on, Show, type JSX } from "solid-js";
import { beat } from "../../live";
import { Empty } from "../../parts/states";
import "./charge.css";

/** The pages of charging. */
const PARTS = [
  { path: "/charge", name: "Overview" },
  { path: "/charge/sessions", name: "Sessions" },
  { path: "/charge/accounts", name: "Accounts" },
  { path: "/charge/tariffs", name: "Tariffs" },
  { path: "/charge/bill", name: "Wire against bill" },
  { path: "/charge/clients", name: "Clients" },
];

export function ChargeNav(): JSX.Element {
  return (
    <nav class="charge-nav" aria-label="Charging">
      {PARTS.map((part) => (
        <A href={part.path} end={part.path === "/charge"} activeClass="here">
          {part.name}
        </A>
      ))}
    </nav>
  );
}

/** Does something each time that so many milliseconds have passed while somebody looks: by the beat of the live feed. */
export function useEvery(ms: number, run: () => void): void {
  let last = Date.now();
  createEffect(
    on(
      beat,
      () => {
        if (Date.now() - last < ms) return;
        last = Date.now();
        run();
      },
      { defer: true },
    ),
  );
}

/** What a page says where no node serves. */
export function NoNode(props: { trouble?: string | null | undefined }): JSX.Element {
  return (
    <Show
      when={props.trouble}
      fallback={
        <Empty icon="charge" title="No charging node serves here">
          <p>
            <code>trunkline charge serve --host ocs.example.org --realm example.org</code> serves one by itself; <code>[charge] listen = ["127.0.0.1:3868"]</code> lets <code>trunkline run</code> serve it beside the capture. Both with the data
            folder of these pages.
          </p>
        </Empty>
      }
    >
      <Empty icon="bad" title="The charging node cannot be asked">
        <p>{props.trouble}</p>
      </Empty>
    </Show>
  );
}
