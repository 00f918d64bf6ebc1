import { createSignal, Show, type JSX } from "solid-js";
import { Problem } from "../api/problem";
import { Icon } from "../parts/icon";
import { said, say } from "../said";
import { session, signIn } from "../session";
import "./sign-in.css";

export default function SignIn(): JSX.Element {
  const [name, setName] = createSignal("");
  const [password, setPassword] = createSignal("");
  const [error, setError] = createSignal("");
  const [busy, setBusy] = createSignal(false);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError("");
    say("");
    try {
      await signIn(name(), password());
    } catch (problem) {
      setError(problem instanceof Problem ? problem.message : "Sign-in failed. Try again.");
      setPassword("");
    }
    setBusy(false);
  };
  document.title = "Sign in · Trunkline";
  return (
    <main class="door">
      <form class="panel" onSubmit={(event) => void submit(event)}>
        <img src="/mark.svg" alt="" width="40" height="40" />
        <h1>Sign in to Trunkline</h1>
        <Show when={said()}>
          <p class="warn-ink row" role="alert">
            <Icon name="warn" /> <span>{said()}</span>
          </p>
        </Show>
        <Show when={session()?.first_run}>
          <p class="muted">
            There are no accounts yet. Trunkline printed a one-time link when it started: open it to create the first administrator. <code>trunkline user link</code> prints a new link.
          </p>
        </Show>
        <label class="field">
          <span>Name</span>
          <input class="input" autocomplete="username" autocapitalize="none" required value={name()} onInput={(e) => setName(e.currentTarget.value)} />
        </label>
        <label class="field">
          <span>Password</span>
          <input class="input" type="password" autocomplete="current-password" required value={password()} onInput={(e) => setPassword(e.currentTarget.value)} />
        </label>
        <Show when={error()}>
          <p class="bad-ink row" role="alert">
            <Icon name="bad" /> {error()}
          </p>
        </Show>
        <button class="button primary" disabled={busy()}>
          {busy() ? "Signing in …" : "Sign in"}
        </button>
        <Show when={session()?.oidc}>
          {(oidc) => (
            <a class="button" href={`${oidc().start}?return_to=${encodeURIComponent(location.pathname + location.search + location.hash)}`}>
              <Icon name="key" /> {oidc().label}
            </a>
          )}
        </Show>
      </form>
    </main>
  );
}
