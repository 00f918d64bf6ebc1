// A password that must be changed is asked for before anything else.

import { createSignal, Show, type JSX } from "solid-js";
import { session, signOut } from "../session";
import { PasswordForm } from "./settings/password-form";
import "./sign-in.css";
import "./password-due.css";

export default function PasswordDue(): JSX.Element {
  const [error, setError] = createSignal("");
  document.title = "Change your password · Trunkline";
  return (
    <main class="door">
      <div class="panel due">
        <img src="/mark.svg" alt="" width="40" height="40" />
        <h1>Change your password</h1>
        <p class="muted">
          {session()?.user?.display_name || session()?.user?.name}, your password was set by an administrator or has expired. Choose a new one.
        </p>
        <PasswordForm />
        <button class="button quiet" onClick={() => void signOut().catch((problem: unknown) => setError(problem instanceof Error ? problem.message : String(problem)))}>
          Sign out
        </button>
        <Show when={error()}>
          <p class="bad-ink" role="alert">
            {error()}
          </p>
        </Show>
      </div>
    </main>
  );
}
