import { createResource, createSignal, For, Show, type JSX } from "solid-js";
import { get, post, remove } from "../../api/client";
import type { Token } from "../../api/types";
import { Confirm } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { known } from "../../parts/known";
import { Time } from "../../parts/time";
import { toast, toastError } from "../../parts/toast";
import { session, signOut } from "../../session";
import { rfc3339 } from "../../time";
import { Form } from "./form";
import { PasswordForm } from "./password-form";
import { SessionsTable } from "./sessions";

export function Account(): JSX.Element {
  return (
    <>
      <section class="panel">
        <header>
          <h2>{session()?.user?.display_name || session()?.user?.name}</h2>
          <span class="muted">{session()?.user?.role}</span>
          <button class="button" onClick={() => void signOut().catch(toastError)}>
            <Icon name="out" /> Sign out
          </button>
        </header>
        <div class="body">
          <PasswordForm />
        </div>
      </section>
      <section class="panel">
        <header>
          <h2>Your sessions</h2>
        </header>
        <SessionsTable />
      </section>
      <Tokens />
    </>
  );
}

const DAYS = [
  { days: 30, name: "30 days" },
  { days: 90, name: "90 days" },
  { days: 365, name: "a year" },
];

/** What shows whole numbers: no token has it without numbers.read. */
const RAW = ["messages.read", "packets.download", "packets.extract", "calls.export"];

/** What a token may be given of what its owner may: not the rule over others. */
const grantable = (may: string[]): string[] => may.filter((scope) => !scope.endsWith(".admin"));

function toggled(before: string[], scope: string, on: boolean): string[] {
  if (!on) return before.filter((one) => one !== scope && !(scope === "numbers.read" && RAW.includes(one)));
  return [...new Set([...before, scope, ...(RAW.includes(scope) ? ["numbers.read"] : [])])];
}

/** Tokens let programs use the API in one's name, with less. */
function Tokens(): JSX.Element {
  const [tokens, { refetch }] = createResource(async () => (await get<{ tokens: Token[] }>("/tokens")).tokens);
  const [name, setName] = createSignal("");
  const [scopes, setScopes] = createSignal<string[]>(["calls.read"]);
  const [days, setDays] = createSignal(90);
  const [secret, setSecret] = createSignal("");
  const [leaving, setLeaving] = createSignal<Token>();
  const make = async (): Promise<void> => {
    const made = await post<{ secret: string }>("/tokens", { name: name(), scopes: scopes(), expires: rfc3339(Date.now() + days() * 864e5) });
    setSecret(made.secret);
    setName("");
    setScopes(["calls.read"]);
    await refetch();
  };
  const toggle = (scope: string, on: boolean): unknown => setScopes((before) => toggled(before, scope, on));
  return (
    <section class="panel">
      <header>
        <h2>API tokens</h2>
        <span class="muted">
          sent as <code>Authorization: Bearer …</code>
        </span>
      </header>
      <Show when={secret()}>
        <div class="body secret">
          <p>The token is shown only once. Store it in a safe place.</p>
          <div class="row">
            <code>{secret()}</code>
            <button class="button" onClick={() => void navigator.clipboard.writeText(secret()).then(() => toast("Copied"))}>
              <Icon name="copy" /> Copy
            </button>
          </div>
        </div>
      </Show>
      <Show when={(known(tokens)?.length ?? 0) > 0} fallback={<p class="body muted">{tokens.error ? String(tokens.error.message) : tokens.loading ? "Loading …" : "No tokens yet."}</p>}>
        <div class="scroll">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Role</th>
                <th scope="col">Expires</th>
                <th scope="col">Last used</th>
                <th scope="col">
                  <span class="sr">Delete</span>
                </th>
              </tr>
            </thead>
            <tbody>
              <For each={known(tokens)}>
                {(token) => (
                  <tr>
                    <td>
                      {token.name}
                      <Show when={token.user !== session()?.user?.name}>
                        <span class="muted"> of {token.user}</span>
                      </Show>
                    </td>
                    <td>{token.scopes.join(", ")}</td>
                    <td>{token.expires ? <Time at={token.expires} shape="day" /> : "never"}</td>
                    <td>{token.last_used ? <Time at={token.last_used} /> : "never"}</td>
                    <td class="right">
                      <button class="button quiet icon danger" aria-label={`Delete ${token.name}`} onClick={() => setLeaving(token)}>
                        <Icon name="trash" />
                      </button>
                    </td>
                  </tr>
                )}
              </For>
            </tbody>
          </table>
        </div>
      </Show>
      <div class="body">
        <Form action="Create a token" send={make}>
          <label class="field">
            <span>Purpose</span>
            <input class="input" required maxlength="64" value={name()} onInput={(e) => setName(e.currentTarget.value)} />
          </label>
          <fieldset class="choices">
            <legend>Role</legend>
            <For each={grantable(session()?.may ?? [])}>
              {(scope) => (
                <label>
                  <input type="checkbox" checked={scopes().includes(scope)} onChange={(e) => toggle(scope, e.currentTarget.checked)} /> {scope}
                </label>
              )}
            </For>
          </fieldset>
          <label class="field">
            <span>Expires after</span>
            <select class="input" value={days()} onChange={(e) => setDays(Number(e.currentTarget.value))}>
              <For each={DAYS}>
                {(one) => (
                  <option value={one.days} selected={one.days === days()}>
                    {one.name}
                  </option>
                )}
              </For>
            </select>
          </label>
        </Form>
      </div>
      <Show when={leaving()}>
        {(token) => (
          <Confirm
            title="Delete the token?"
            text={`Requests with the token "${token().name}" will be rejected at once.`}
            action="Delete the token"
            close={() => setLeaving(undefined)}
            run={async () => {
              await remove(`/tokens/${token().id}`);
              await refetch();
            }}
          />
        )}
      </Show>
    </section>
  );
}
