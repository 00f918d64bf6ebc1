// Captures that are dropped onto the page, or chosen: sent, read, and their calls shown.

import { createSignal, For, onCleanup, onMount, Show, type JSX } from "solid-js";
import { get, upload } from "../../api/client";
import { Problem } from "../../api/problem";
import type { CaptureRead } from "../../api/types";
import { octets, of } from "../../format";
import { Icon } from "../../parts/icon";
import { absolute, type Range } from "../../range";
import { may, session } from "../../session";
import { ms } from "../../time";
import "./bring.css";

const LOOK_MS = 500;
/** Captures shown at a time; older ones that are done go first. */
const SHOWN_MAX = 6;

interface Brought {
  key: number;
  name: string;
  size: number;
  sent: number;
  capture?: CaptureRead;
  error?: string;
}

export const mayBring = (): boolean => (session()?.uploads ?? false) && may("captures.upload");

export function Bring(props: { show: (range: Range | undefined) => void; chooser: (open: () => void) => void }): JSX.Element {
  const [over, setOver] = createSignal(false);
  const [brought, setBrought] = createSignal<Brought[]>([]);
  const gone = new AbortController();
  let input: HTMLInputElement | undefined;
  let keys = 0;
  props.chooser(() => input?.click());

  const change = (key: number, to: Partial<Brought>): void => void setBrought((all) => all.map((one) => (one.key === key ? { ...one, ...to } : one)));
  const bring = async (file: File): Promise<void> => {
    const key = (keys += 1);
    setBrought((all) => [...all, { key, name: file.name, size: file.size, sent: 0 }].slice(-SHOWN_MAX));
    try {
      const { id } = await upload<{ id: string }>("/captures", { name: file.name }, file, (sent) => change(key, { sent }), gone.signal);
      change(key, { sent: file.size });
      const capture = await untilRead(id, (capture) => change(key, { capture }), gone.signal);
      if (capture.state === "done") props.show(rangeOf(capture));
      else change(key, { error: capture.error ?? "The capture could not be read." });
    } catch (problem) {
      if (!gone.signal.aborted) change(key, { error: problem instanceof Problem ? problem.message : "The request failed." });
    }
  };
  // One after the other: the second file's progress would only slow down the first one's.
  const bringAll = async (files: FileList | null | undefined): Promise<void> => {
    for (const file of [...(files ?? [])]) await bring(file);
  };

  onMount(() => {
    const holdsFiles = (event: DragEvent): boolean => mayBring() && (event.dataTransfer?.types.includes("Files") ?? false);
    const enter = (event: DragEvent): void => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent): void => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      setOver(false);
      void bringAll(event.dataTransfer?.files);
    };
    document.addEventListener("dragenter", enter);
    document.addEventListener("dragover", enter);
    document.addEventListener("dragleave", leave);
    document.addEventListener("drop", drop);
    onCleanup(() => {
      gone.abort();
      document.removeEventListener("dragenter", enter);
      document.removeEventListener("dragover", enter);
      document.removeEventListener("dragleave", leave);
      document.removeEventListener("drop", drop);
    });
  });

  return (
    <>
      <input ref={input} type="file" multiple hidden aria-label="Captures" onChange={(event) => void bringAll(event.currentTarget.files).then(() => input && (input.value = ""))} />
      <Show when={over()}>
        <div class="bring-over">
          <Icon name="upload" size={32} />
          <strong>Drop captures here</strong>
          <span>pcap and pcapng, also gzip or zstd</span>
        </div>
      </Show>
      <Show when={brought().length > 0}>
        <ul class="bring-list" aria-label="Uploaded captures">
          <For each={brought()}>{(one) => <Line one={one} show={props.show} forget={() => setBrought((all) => all.filter((other) => other.key !== one.key))} />}</For>
        </ul>
      </Show>
    </>
  );
}

function Line(props: { one: Brought; show: (range: Range | undefined) => void; forget: () => void }): JSX.Element {
  const done = (): boolean => props.one.capture?.state === "done";
  const share = (): number => {
    const { capture, sent, size } = props.one;
    return capture ? capture.read_octets / Math.max(1, capture.total_octets) : sent / Math.max(1, size);
  };
  const said = (): string => {
    const { capture, sent, size, error } = props.one;
    if (error) return error;
    if (!capture || sent < size) return `Sending: ${octets(sent)} of ${octets(size)}`;
    if (!done()) return `Reading: ${of(capture.packets, "packet", "packets")}, ${of(capture.calls, "call", "calls")}`;
    return `${of(capture.calls, "call", "calls")} in ${of(capture.packets, "packet", "packets")}`;
  };
  return (
    <li>
      <span class={props.one.error ? "bad-ink" : done() ? "good-ink" : ""}>
        <Icon name={props.one.error ? "bad" : done() ? "good" : "upload"} size={16} />
      </span>
      <span class="clip">{props.one.name}</span>
      <span class="muted num" role="status">
        {said()}
      </span>
      <Show when={!done() && !props.one.error}>
        <progress value={share()} aria-label={`Progress of ${props.one.name}`} />
      </Show>
      <Show when={done() && props.one.capture!.calls === 0 && props.one.capture!.oddities.length > 0}>
        <span class="bring-why">{props.one.capture!.oddities.join(" ")}</span>
      </Show>
      <span class="spread" />
      <Show when={done()}>
        <button class="button" onClick={() => props.show(rangeOf(props.one.capture!))}>
          Show calls
        </button>
      </Show>
      <Show when={done() || props.one.error}>
        <button class="button icon quiet" aria-label={`Dismiss ${props.one.name}`} title="Dismiss" onClick={() => props.forget()}>
          <Icon name="close" size={14} />
        </button>
      </Show>
    </li>
  );
}

async function untilRead(id: string, told: (capture: CaptureRead) => void, signal: AbortSignal): Promise<CaptureRead> {
  for (;;) {
    const capture = await get<CaptureRead>(`/captures/${encodeURIComponent(id)}`, {}, signal);
    told(capture);
    if (["done", "failed", "cancelled"].includes(capture.state)) return capture;
    await new Promise((then) => setTimeout(then, LOOK_MS));
  }
}

/** The time of a capture with a second before and behind; none if it is not told. */
function rangeOf(capture: CaptureRead): Range | undefined {
  return capture.from && capture.to ? absolute(Math.floor(ms(capture.from)) - 1000, Math.ceil(ms(capture.to)) + 1000) : undefined;
}
