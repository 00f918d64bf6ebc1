import { createSignal, For, onCleanup, Show, type JSX } from "solid-js";
import { get, post, remove, url } from "../../api/client";
import { Problem } from "../../api/problem";
import type { Extraction } from "../../api/types";
import { octets, of, whole } from "../../format";
import { Fill } from "../../parts/fill";
import { Icon } from "../../parts/icon";
import { Tag } from "../../parts/meaning";
import { Time } from "../../parts/time";
import { toastError } from "../../parts/toast";
import { rfc3339, span as inWords } from "../../time";

const EXAMPLES = ["host 10.1.2.3", "udp port 5060", "net 10.1.0.0/16 and not port 53", "inner host 192.0.2.7", "vlan 100"];
const POLL_MS = 700;

export interface ExtractProps {
  span: { from: number; to: number };
  /** Whether the span was chosen, or is all that is shown. */
  chosen: boolean;
  onWhole: () => void;
  filter: string;
  onFilter: (filter: string) => void;
  onZoom: (from: number, to: number) => void;
}

/** Asks for the packets of a span, shows how far it is, and hands out the file. */
export function ExtractPanel(props: ExtractProps): JSX.Element {
  const [list, setList] = createSignal<Extraction[]>([]);
  const [error, setError] = createSignal("");
  let timer: ReturnType<typeof setTimeout> | undefined;
  const refresh = async (): Promise<void> => {
    clearTimeout(timer);
    const { extractions } = await get<{ extractions: Extraction[] }>("/packets/extractions");
    setList(extractions);
    if (extractions.some((one) => one.state === "running")) timer = setTimeout(() => refresh().catch(toastError), POLL_MS);
  };
  refresh().catch(toastError);
  onCleanup(() => clearTimeout(timer));
  const start = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setError("");
    try {
      await post("/packets/extractions", { from: rfc3339(props.span.from), to: rfc3339(props.span.to), filter: props.filter });
      await refresh();
    } catch (problem) {
      setError(problem instanceof Problem ? problem.message : String(problem));
    }
  };
  const drop = (one: Extraction): void => void remove(`/packets/extractions/${one.id}`).then(refresh).catch(toastError);
  return (
    <section class="panel" aria-label="Extract packets">
      <header>
        <h2>Extract</h2>
        <span class="muted">
          <Time at={props.span.from} /> to <Time at={props.span.to} />, {inWords((props.span.to - props.span.from) / 1000)}
        </span>
        <Show when={props.chosen}>
          <span class="row">
            <button class="button quiet" onClick={() => props.onZoom(props.span.from, props.span.to)}>
              Zoom to selection
            </button>
            <button class="button quiet" onClick={() => props.onWhole()}>
              Select the whole range
            </button>
          </span>
        </Show>
      </header>
      <form class="body extract" onSubmit={(event) => void start(event)}>
        <label class="field">
          <span>
            Packet filter in tcpdump syntax; empty for all packets. <code>inner</code> looks into tunnels.
          </span>
          <input class="input mono" list="extract-examples" spellcheck={false} autocapitalize="none" aria-invalid={error() !== ""} value={props.filter} onInput={(event) => props.onFilter(event.currentTarget.value)} placeholder="host 10.1.2.3 and udp" />
          <datalist id="extract-examples">
            <For each={EXAMPLES}>{(example) => <option value={example} />}</For>
          </datalist>
        </label>
        <button class="button primary">
          <Icon name="download" /> Extract
        </button>
        <Show when={error()}>
          <p class="bad-ink row" role="alert">
            <Icon name="bad" /> {error()}
          </p>
        </Show>
      </form>
      <Show when={list().length > 0}>
        <ul class="extractions">
          <For each={list()}>{(one) => <Row one={one} drop={() => drop(one)} />}</For>
        </ul>
      </Show>
    </section>
  );
}

function Row(props: { one: Extraction; drop: () => void }): JSX.Element {
  const share = (): number => props.one.read_octets / Math.max(1, props.one.total_octets);
  return (
    <li>
      <span class="extraction-what">
        <code class="clip">{props.one.filter || "all packets"}</code>
        <span class="muted">
          <Time at={props.one.from} /> to <Time at={props.one.to} shape="clock" />
        </span>
      </span>
      <span class="extraction-how">
        <Show when={props.one.state === "running"}>
          <Fill share={share()} label="Read" />
          <span class="num nowrap muted">
            {octets(props.one.read_octets)} of {octets(props.one.total_octets)}, {of(props.one.packets, "packet", "packets")}
          </span>
        </Show>
        <Show when={props.one.state === "done"}>
          <span class="num nowrap">
            {of(props.one.packets, "packet", "packets")}, {octets(props.one.octets)}
          </span>
        </Show>
        <Show when={props.one.state === "failed"}>
          <Tag meaning="bad">failed</Tag> <span>{props.one.error}</span>
        </Show>
        <Show when={props.one.state === "cancelled"}>
          <Tag meaning="warn">cancelled</Tag> <span class="num">after {whole(props.one.packets)} packets</span>
        </Show>
      </span>
      <span class="row">
        <Show when={props.one.state === "done" && props.one.packets > 0}>
          <a class="button" href={url(`/packets/extractions/${props.one.id}/pcap`)} download="">
            <Icon name="download" /> Download
          </a>
        </Show>
        <button class="button quiet icon" aria-label={props.one.state === "running" ? "Cancel" : "Remove"} onClick={() => props.drop()}>
          <Icon name={props.one.state === "running" ? "close" : "trash"} />
        </button>
      </span>
    </li>
  );
}
