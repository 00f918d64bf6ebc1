import { A } from "@solidjs/router";
import { createResource, For, Show, type JSX } from "solid-js";
import { get, put, remove } from "../../api/client";
import type { SavedFilter } from "../../api/types";
import { Icon } from "../../parts/icon";
import { known } from "../../parts/known";
import { Tag } from "../../parts/meaning";
import { toastError } from "../../parts/toast";
import { may } from "../../session";

/** Filters that one saved on the Calls page, and those that others share. */
export function Filters(): JSX.Element {
  const [filters, { refetch }] = createResource(async () => (await get<{ filters: SavedFilter[] }>("/filters")).filters);
  const place = (filter: SavedFilter): string => `/filters/${encodeURIComponent(filter.name)}`;
  // What is shared stands beside what one keeps for oneself, under the same name: to move is to save there and delete here.
  const move = async (filter: SavedFilter): Promise<void> => {
    await put(place(filter), { text: filter.text, shared: !filter.shared });
    await remove(place(filter), { shared: filter.shared });
  };
  const mayChange = (filter: SavedFilter): boolean => !filter.shared || may("filters.share");
  const after = (done: Promise<void>): void => void done.then(() => refetch()).catch(toastError);
  return (
    <section class="panel">
      <header>
        <h2>Saved filters</h2>
      </header>
      <Show
        when={(known(filters)?.length ?? 0) > 0}
        fallback={
          <p class="body muted">
            {filters.error ? String(filters.error.message) : <>No saved filters. On <A href="/calls">Calls</A>, click the star next to a filter to save it.</>}
          </p>
        }
      >
        <ul class="saved">
          <For each={known(filters)}>
            {(filter) => (
              <li>
                <A href={`/calls?filter=${encodeURIComponent(filter.text)}`}>{filter.name}</A>
                <code class="clip">{filter.text}</code>
                {filter.shared ? <Tag meaning="note">shared by {filter.by}</Tag> : null}
                <span class="row spread">
                  <Show when={may("filters.share")}>
                    <button class="button quiet" onClick={() => after(move(filter))}>
                      {filter.shared ? "Make private" : "Share"}
                    </button>
                  </Show>
                  <Show when={mayChange(filter)}>
                    <button class="button quiet icon danger" aria-label={`Delete ${filter.name}`} onClick={() => after(remove(place(filter), { shared: filter.shared }))}>
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
