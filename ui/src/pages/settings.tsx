// Settings, a part each; parts that one may not change do not show.

import { A, useParams } from "@solidjs/router";
import { createEffect, For, Show, type Component, type JSX } from "solid-js";
import { Dynamic } from "solid-js/web";
import { Head } from "../parts/head";
import { Empty } from "../parts/states";
import { may } from "../session";
import { Account } from "./settings/account";
import { Aliases } from "./settings/aliases";
import { Appearance } from "./settings/appearance";
import { Audit } from "./settings/audit";
import { Filters } from "./settings/filters";
import { GraphRightsPart } from "./settings/graph-rights-part";
import { RetentionPart } from "./settings/retention";
import { Users } from "./settings/users";
import "./settings/settings.css";

interface Part {
  path: string;
  name: string;
  needs?: string;
  body: Component;
}

const PARTS: Part[] = [
  { path: "appearance", name: "Appearance", body: Appearance },
  { path: "account", name: "Account", body: Account },
  { path: "aliases", name: "Aliases", body: Aliases },
  { path: "filters", name: "Saved filters", body: Filters },
  { path: "retention", name: "Retention", body: RetentionPart },
  { path: "users", name: "Users", needs: "users.admin", body: Users },
  { path: "graph-rights", name: "Graph permissions", needs: "users.admin", body: GraphRightsPart },
  { path: "audit", name: "Audit", needs: "audit.read", body: Audit },
];

export default function Settings(): JSX.Element {
  let nav: HTMLElement | undefined;
  const params = useParams<{ part?: string }>();
  const shown = (): Part[] => PARTS.filter((part) => !part.needs || may(part.needs));
  const part = (): Part | undefined => shown().find((part) => part.path === (params.part ?? "appearance"));
  // On a phone the parts stand in a line that is longer than the screen.
  createEffect(() => {
    const link = nav?.querySelector<HTMLElement>(`a[href="/settings/${part()?.path}"]`);
    if (nav && link) nav.scrollLeft = link.offsetLeft - nav.offsetLeft - (nav.clientWidth - link.offsetWidth) / 2;
  });
  return (
    <>
      <Head title="Settings" />
      <div class="settings">
        <nav ref={nav} aria-label="Settings">
          <For each={shown()}>
            {(one) => (
              <A href={`/settings/${one.path}`} classList={{ here: one === part() }} aria-current={one === part() ? "page" : undefined}>
                {one.name}
              </A>
            )}
          </For>
        </nav>
        <div class="stack">
          <Show
            when={part()}
            fallback={
              <Empty icon="warn" title="Settings page not found">
                Your role may not see it. Ask an administrator.
              </Empty>
            }
          >
            {(part) => <Dynamic component={part().body} />}
          </Show>
        </div>
      </div>
    </>
  );
}
