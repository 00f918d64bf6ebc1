// A one-time link: /link#TOKEN. The token stands behind the #, so that no log or proxy sees it.

import { createSignal, Match, onMount, Show, Switch, type JSX } from "solid-js";
import { post } from "../api/client";
import { Problem } from "../api/problem";
import type { Session } from "../api/types";
import { Icon } from "../parts/icon";
import { Loading } from "../parts/states";
import { refreshSession, take } from "../session";
import "./sign-in.css";

export default function Link(): JSX.Element {
  const token = location.hash.slice(1);
  const [kind, setKind] = createSignal<"setup" | "password" | "bad" | undefined>();
  const [why, setWhy] = createSignal("");
  const enter = (): void => {
    history.replaceState(null, "", "/");
    void refreshSession();
  };
  onMount(async () => {
    try {
      const { kind } = await post<{ kind: "signed-in" | "setup" | "password" }>("/session/link", { token });
      if (kind === "signed-in") enter();
      else setKind(kind);
    } catch (problem) {
      setWhy(problem instanceof Problem ? problem.message : String(problem));
      setKind("bad");
    }
  });
  return (
    <Switch fallback={<Loading what="your link" />}>
      <Match when={kind() === "bad"}>
        <main class="door">
          <div class="state">
            <span class="warn-ink">
              <Icon name="warn" size={28} />
            </span>
            <h1>This link does not work</h1>
            <p>
              {why()} A link works once and expires. <code>trunkline user link</code> prints a new link.
            </p>
            <button class="button" onClick={enter}>
              Go to sign-in
            </button>
          </div>
        </main>
      </Match>
      <Match when={kind()}>
        <Setup token={token} first={kind() === "setup"} />
      </Match>
    </Switch>
  );
}

function Setup(props: { token: string; first: boolean }): JSX.Element {
  const [name, setName] = createSignal("");
  const [password, setPassword] = createSignal("");
  const [error, setError] = createSignal("");
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setError("");
    const asked = props.first ? { token: props.token, name: name(), password: password() } : { token: props.token, password: password() };
    try {
      const session = await post<Session>("/session/setup", asked);
      history.replaceState(null, "", "/");
      take(session);
    } catch (problem) {
      setError(problem instanceof Problem ? problem.message : String(problem));
    }
  };
  return (
    <main class="door">
      <form class="panel" onSubmit={(event) => void submit(event)}>
        <img src="/mark.svg" alt="" width="40" height="40" />
        <h1>{props.first ? "Create the first administrator" : "Set a password"}</h1>
        <p class="muted">{props.first ? "There is no default password. This account can create the others." : "It replaces your current password."}</p>
        <Show when={props.first}>
          <label class="field">
            <span>Name</span>
            <input class="input" autocomplete="username" autocapitalize="none" required value={name()} onInput={(e) => setName(e.currentTarget.value)} />
          </label>
        </Show>
        <label class="field">
          <span>Password, at least 10 characters</span>
          <input class="input" type="password" autocomplete="new-password" minlength="10" required value={password()} onInput={(e) => setPassword(e.currentTarget.value)} />
        </label>
        <Show when={error()}>
          <p class="bad-ink row" role="alert">
            <Icon name="bad" /> {error()}
          </p>
        </Show>
        <button class="button primary">{props.first ? "Create the account" : "Set the password"}</button>
      </form>
    </main>
  );
}
