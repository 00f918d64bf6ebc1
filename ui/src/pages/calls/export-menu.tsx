// The filtered calls as a file, or as a link.

import { createSignal, onCleanup, Show, type JSX } from "solid-js";
import { get, url, type Query } from "../../api/client";
import { Problem } from "../../api/problem";
import type { CallsPage } from "../../api/types";
import { of, whole } from "../../format";
import { CopyButton } from "../../parts/copy";
import { Icon } from "../../parts/icon";
import { Popover } from "../../parts/popover";
import { may } from "../../session";
import { shownColumns } from "./layout";
import type { Selection } from "./selection";

/** Most calls of a JSON file: the page holds them all at once. For more there are CSV and the API. */
export const JSON_CALLS_MAX = 20_000;
/** Most rows of a CSV file, as the program has it. */
const CSV_ROWS_MAX = 1_000_000;

export function ExportMenu(props: { calls: Selection }): JSX.Element {
  return (
    <Popover
      label="Export"
      align="end"
      title="Export the filtered calls"
      button={
        <>
          <Icon name="download" size={16} />
          <span class="tool-name">Export</span>
        </>
      }
    >
      {(close) => <Panel calls={props.calls} close={close} />}
    </Popover>
  );
}

function Panel(props: { calls: Selection; close: () => void }): JSX.Element {
  const total = (): number | undefined => props.calls.summary()?.totals.calls;
  const exact = (): boolean => props.calls.summary()?.exact ?? false;
  const columns = (): string => [...new Set(["id", ...shownColumns().flatMap((column) => column.csv ?? [])])].join(",");
  const csv = (columns?: string): string => url("/calls.csv", { ...props.calls.question(), columns });
  const count = (): string => (total() === undefined ? "Filtered calls" : `${exact() ? "" : "At least "}${of(total()!, "call", "calls")}`);
  const [progress, setProgress] = createSignal<number>();
  const [error, setError] = createSignal("");
  const abort = new AbortController();
  onCleanup(() => abort.abort());
  const json = async (): Promise<void> => {
    setError("");
    setProgress(0);
    try {
      download(await lines(props.calls.question(), setProgress, abort.signal), "calls.jsonl");
      props.close();
    } catch (problem) {
      if (!abort.signal.aborted) setError(problem instanceof Problem ? problem.message : "The request failed.");
    }
    setProgress(undefined);
  };
  return (
    <div class="export-panel">
      <p class="muted num">{count()}, with the current filter and time range.</p>
      <Show when={may("calls.export")} fallback={<p class="muted">CSV needs the role support or higher.</p>}>
        <a class="choice" href={csv(columns())} download="calls.csv" onClick={props.close}>
          <Icon name="download" size={16} /> CSV, columns of the table
        </a>
        <a class="choice" href={csv()} download="calls.csv" onClick={props.close}>
          <Icon name="download" size={16} /> CSV, all columns
        </a>
        <Show when={(total() ?? 0) > CSV_ROWS_MAX}>
          <p class="warn-ink row">
            <Icon name="warn" size={14} /> The newest {whole(CSV_ROWS_MAX)} of them.
          </p>
        </Show>
      </Show>
      <button type="button" class="choice" disabled={progress() !== undefined} onClick={() => void json()}>
        <Icon name="download" size={16} />
        <Show when={progress() !== undefined} fallback={<>JSON, one call per line{(total() ?? 0) > JSON_CALLS_MAX ? ` (the newest ${whole(JSON_CALLS_MAX)})` : ""}</>}>
          <span class="num">{of(progress()!, "call", "calls")} so far …</span>
        </Show>
      </button>
      <Show when={error()}>
        <p class="bad-ink row" role="alert">
          <Icon name="bad" size={14} /> {error()}
        </p>
      </Show>
      <div class="row export-copies">
        <CopyButton text={() => location.href} what="Copy the link to this list" icon="link">
          Copy link
        </CopyButton>
        <CopyButton text={() => new URL(url("/calls", props.calls.question()), location.href).href} what="Copy the API URL of this list">
          Copy API URL
        </CopyButton>
      </div>
    </div>
  );
}

/** Pages through the selection. */
async function lines(question: Query, told: (calls: number) => void, signal: AbortSignal): Promise<string[]> {
  const found: string[] = [];
  let cursor: string | null = null;
  do {
    const page: CallsPage = await get<CallsPage>("/calls", { ...question, limit: 1000, cursor }, signal);
    for (const call of page.calls) found.push(`${JSON.stringify(call)}\n`);
    told(found.length);
    cursor = page.next;
  } while (cursor !== null && found.length < JSON_CALLS_MAX);
  return found;
}

function download(parts: string[], name: string): void {
  const address = URL.createObjectURL(new Blob(parts, { type: "application/x-ndjson" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
