import { useSearchParams } from "@solidjs/router";
import { createResource, createSignal, For, Show, type JSX } from "solid-js";
import { get } from "../../api/client";
import type { AuditEntry } from "../../api/types";
import { known } from "../../parts/known";
import { Tag } from "../../parts/meaning";
import { Time } from "../../parts/time";
import { toastError } from "../../parts/toast";

interface AuditPage {
  entries: AuditEntry[];
  next: string | null;
}

/** Who saw, downloaded and changed what. */
export function Audit(): JSX.Element {
  const [search, setSearch] = useSearchParams<{ user?: string }>();
  const [more, setMore] = createSignal<AuditEntry[]>([]);
  const [next, setNext] = createSignal<string | null>(null);
  const ask = (cursor?: string): Promise<AuditPage> => get<AuditPage>("/audit", { user: search.user, limit: 100, cursor });
  const [first] = createResource(
    () => search.user ?? "",
    async () => {
      const page = await ask();
      setMore([]);
      setNext(page.next);
      return page.entries;
    },
  );
  const goOn = (): void => {
    ask(next() ?? undefined)
      .then((page) => {
        setMore((before) => [...before, ...page.entries]);
        setNext(page.next);
      })
      .catch(toastError);
  };
  const entries = (): AuditEntry[] => [...(known(first) ?? []), ...more()];
  return (
    <section class="panel">
      <header>
        <h2>Audit</h2>
        <input class="input" type="search" aria-label="User" placeholder="user name" value={search.user ?? ""} onChange={(e) => setSearch({ user: e.currentTarget.value || undefined })} />
      </header>
      <Show when={entries().length > 0} fallback={<p class="body muted">{first.error ? String(first.error.message) : "No entries yet."}</p>}>
        <div class="scroll">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">User</th>
                <th scope="col">From</th>
                <th scope="col">Action</th>
                <th scope="col">Object</th>
                <th scope="col">Result</th>
              </tr>
            </thead>
            <tbody>
              <For each={entries()}>
                {(entry) => (
                  <tr>
                    <td>
                      <Time at={entry.at} />
                    </td>
                    <td>{entry.user}</td>
                    <td class="num nowrap">{entry.address}</td>
                    <td class="nowrap">{entry.action}</td>
                    <td>{entry.object}</td>
                    <td>{entry.outcome === "ok" ? "ok" : <Tag meaning="warn">{entry.outcome}</Tag>}</td>
                  </tr>
                )}
              </For>
            </tbody>
          </table>
        </div>
        <Show when={next()}>
          <div class="body">
            <button class="button" onClick={goOn}>
              Older entries
            </button>
          </div>
        </Show>
      </Show>
    </section>
  );
}
