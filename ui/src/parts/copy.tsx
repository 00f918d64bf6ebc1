// Copying and sharing. Says that it happened; where the browser gives no clipboard (plain http on a real address), the
// old way is tried, and if that fails, too, it says so.

import { createSignal, onCleanup, Show, type JSX } from "solid-js";
import { Icon, type IconName } from "./icon";

interface CopyProps {
  /** What is copied, made when asked for. */
  text: () => string;
  /** What the button says; without it, it is only its sign. */
  children?: JSX.Element;
  /** What it does, for the hover and for readers of screens: "Copy the Call-ID". */
  what: string;
  icon?: IconName;
  quiet?: boolean;
}

const SAID_MS = 1600;

export function CopyButton(props: CopyProps): JSX.Element {
  const [said, setSaid] = createSignal<"" | "Copied" | "Could not copy">("");
  let timer: ReturnType<typeof setTimeout> | undefined;
  onCleanup(() => clearTimeout(timer));
  const run = async (): Promise<void> => {
    setSaid((await copyText(props.text())) ? "Copied" : "Could not copy");
    clearTimeout(timer);
    timer = setTimeout(() => setSaid(""), SAID_MS);
  };
  return (
    <button
      type="button"
      class="button"
      classList={{ quiet: props.quiet ?? false, icon: props.children === undefined }}
      title={said() || props.what}
      aria-label={props.children === undefined ? props.what : undefined}
      onClick={() => void run()}
    >
      <Icon name={said() === "Copied" ? "good" : said() ? "bad" : (props.icon ?? "copy")} />
      <Show when={props.children !== undefined}>{props.children}</Show>
      <span class="sr" role="status">
        {said()}
      </span>
    </button>
  );
}

/** Copies the address of the page; a phone offers its own sheet to share it. */
export function ShareButton(props: { title: string; children?: JSX.Element }): JSX.Element {
  const share = "share" in navigator && matchMedia("(pointer: coarse)").matches;
  if (!share) {
    return (
      <CopyButton text={() => location.href} what="Copy the link to what you see" icon="link">
        {props.children}
      </CopyButton>
    );
  }
  const run = (): void => {
    // Whoever closes the sheet changed his mind: no error.
    navigator.share({ title: props.title, url: location.href }).catch(() => {});
  };
  return (
    <button type="button" class="button" classList={{ icon: props.children === undefined }} title="Share the link" aria-label={props.children === undefined ? "Share the link" : undefined} onClick={run}>
      <Icon name="link" />
      {props.children}
    </button>
  );
}

/** Whether it worked. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "sr";
  document.body.append(area);
  area.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    area.remove();
  }
}
