import { A } from "@solidjs/router";
import { createResource, For, Show, type JSX } from "solid-js";
import { get, put, remove } from "../../api/client";
import type { SavedFilter } from "../../api/types";
import { Icon } from "../../parts/icon";
import { Tag } from "../../parts/meaning";
import { toastError } from "../../parts/toast";
import { may, session } from "../../session";

/** Filters that one saved on the Calls page, and those that others share. */
export function Filters(): JSX.Element {
  const [filters, { refetch }] = createResource(() => get<SavedFilter[]>("/filters"));
  const isOwn = (filter: SavedFilter): boolean => filter.by === session()?.user?.name;
  const after = (done: Promise<void>): void => void done.then(() => refetch()).catch(toastError);
  return (
    <section class="panel">
      <header>
        <h2>Saved filters</h2>
      </header>
      <Show
        when={(filters.latest?.length ?? 0) > 0}
        fallback={
          <p class="body muted">
            {filters.error ? String(filters.error.message) : <>There are none. On <A href="/calls">Calls</A>, the star beside a filter saves it.</>}
          </p>
        }
      >
        <ul class="saved">
          <For each={filters.latest}>
            {(filter) => (
              <li>
                <A href={`/calls?filter=${encodeURIComponent(filter.text)}`}>{filter.name}</A>
                <code class="clip">{filter.text}</code>
                {filter.shared ? <Tag meaning="note">shared{isOwn(filter) ? "" : ` by ${filter.by}`}</Tag> : null}
                <span class="row spread">
                  <Show when={isOwn(filter) && may("filters.share")}>
                    <button class="button quiet" onClick={() => after(put(`/filters/${encodeURIComponent(filter.name)}`, { text: filter.text, shared: !filter.shared }))}>
                      {filter.shared ? "Keep to myself" : "Share"}
                    </button>
                  </Show>
                  <Show when={isOwn(filter)}>
                    <button class="button quiet icon danger" aria-label={`Delete ${filter.name}`} onClick={() => after(remove(`/filters/${encodeURIComponent(filter.name)}`))}>
                      <Icon name="trash" />
                    </button>
                  </Show>
                </span>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </section>
  );
}
