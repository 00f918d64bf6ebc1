import { createSignal, type JSX } from "solid-js";
import { post } from "../../api/client";
import { refreshSession, session } from "../../session";
import { Form } from "./form";

/** Changes one's own password. The program then ends the other sessions and gives this one a new secret. */
export function PasswordForm(): JSX.Element {
  const [old, setOld] = createSignal("");
  const [next, setNext] = createSignal("");
  const send = async (): Promise<void> => {
    await post("/session/password", { old: old(), new: next() });
    setOld("");
    setNext("");
    await refreshSession();
  };
  return (
    <Form action="Change the password" done="Password changed. Your other sessions were signed out." send={send}>
      <input type="text" autocomplete="username" value={session()?.user?.name ?? ""} hidden readonly />
      <label class="field">
        <span>Current password</span>
        <input class="input" type="password" autocomplete="current-password" required value={old()} onInput={(e) => setOld(e.currentTarget.value)} />
      </label>
      <label class="field">
        <span>New password, at least 10 characters</span>
        <input class="input" type="password" autocomplete="new-password" minlength="10" required value={next()} onInput={(e) => setNext(e.currentTarget.value)} />
      </label>
    </Form>
  );
}
