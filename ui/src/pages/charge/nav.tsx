import { A } from "@solidjs/router";
import { Show, type JSX } from "solid-js";
import { Empty } from "../../parts/states";
import "./charge.css";

/** The pages of charging. */
const PARTS = [
  { path: "/charge", name: "Overview" },
  { path: "/charge/sessions", name: "Sessions" },
  { path: "/charge/accounts", name: "Accounts" },
  { path: "/charge/tariffs", name: "Tariffs" },
  { path: "/charge/rated", name: "Rated calls" },
  { path: "/charge/bill", name: "Reconciliation" },
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

/** What a page says where no node serves. */
export function NoNode(props: { trouble?: string | null | undefined }): JSX.Element {
  return (
    <Show
      when={props.trouble}
      fallback={
        <Empty icon="charge" title="No charging node is running">
          <p>
            <code>trunkline charge serve --host ocs.example.org --realm example.org</code> starts a node; <code>[charge] listen = ["127.0.0.1:3868"]</code> starts it in <code>trunkline run</code>. Use the data folder of this web server.
          </p>
        </Empty>
      }
    >
      <Empty icon="bad" title="The charging node did not answer">
        <p>{props.trouble}</p>
      </Empty>
    </Show>
  );
}
