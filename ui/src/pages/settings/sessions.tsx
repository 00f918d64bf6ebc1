import { createResource, For, Show, type JSX } from "solid-js";
import { browserOf } from "../../agent";
import { get, remove } from "../../api/client";
import type { SignedInSession } from "../../api/types";
import { Icon } from "../../parts/icon";
import { known } from "../../parts/known";
import { Tag } from "../../parts/meaning";
import { Time } from "../../parts/time";
import { toast, toastError } from "../../parts/toast";

/** One's own sessions, or those of a user whose name is given: where somebody is signed in, and an end to it. */
export function SessionsTable(props: { of?: string }): JSX.Element {
  const path = (): string => (props.of === undefined ? "/sessions" : `/users/${encodeURIComponent(props.of)}/sessions`);
  const [sessions, { refetch }] = createResource(async () => (await get<{ sessions: SignedInSession[] }>(path())).sessions);
  const end = (id: string | undefined, said: string): void => {
    remove(id === undefined ? path() : `${path()}/${encodeURIComponent(id)}`)
      .then(() => toast(said))
      .catch(toastError)
      .finally(() => void refetch());
  };
  const others = (): number => (known(sessions) ?? []).filter((one) => !one.this).length;
  const wordless = (): string => {
    if (sessions.error !== undefined) return `The sessions could not be loaded: ${sessions.error instanceof Error ? sessions.error.message : "the server did not answer"}`;
    return sessions.loading ? "Loading …" : "No sessions of this user.";
  };
  return (
    <Show when={(known(sessions)?.length ?? 0) > 0} fallback={<p class="body muted">{wordless()}</p>}>
      <div class="scroll">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Browser</th>
              <th scope="col">From</th>
              <th scope="col">Signed in</th>
              <th scope="col">Last used</th>
              <th scope="col">
                <span class="sr">Sign out</span>
              </th>
            </tr>
          </thead>
          <tbody>
            <For each={known(sessions)}>
              {(one) => (
                <tr>
                  <td title={one.agent}>
                    {browserOf(one.agent)}{" "}
                    <Show when={one.this}>
                      <Tag meaning="good">this one</Tag>
                    </Show>
                  </td>
                  <td>{one.address}</td>
                  <td>
                    <Time at={one.started} shape="short" />
                  </td>
                  <td>
                    <Time at={one.last_seen} shape="short" />
                  </td>
                  <td class="right">
                    <Show when={!one.this}>
                      <button class="button" aria-label={`Sign out ${browserOf(one.agent)} at ${one.address}`} onClick={() => end(one.id, "Session signed out")}>
                        <Icon name="out" /> Sign out
                      </button>
                    </Show>
                  </td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
      <Show when={others() > 0 && (props.of !== undefined || others() > 1)}>
        <div class="body">
          <button class="button" onClick={() => end(undefined, props.of === undefined ? "All other sessions signed out" : `${props.of}: all sessions signed out`)}>
            <Icon name="out" /> {props.of === undefined ? "Sign out everywhere else" : "Sign out everywhere"}
          </button>
        </div>
      </Show>
    </Show>
  );
}
