import { createResource, createSignal, For, Show, type JSX } from "solid-js";
import { get } from "../../api/client";
import type { Segment } from "../../api/types";
import { octets, whole } from "../../format";
import { known } from "../../parts/known";
import { Tag } from "../../parts/meaning";
import { Time } from "../../parts/time";
import { toastError } from "../../parts/toast";

interface SegmentsPage {
  segments: Segment[];
  next: string | null;
}

/** Asked for at once: a day of the log has thousands. */
const SHOWN = 25;
const CLASSES = ["", "sip", "rtp", "other"];

/** The files of the log in the range. */
export function Segments(props: { range: { from: string; to: string } }): JSX.Element {
  const [kind, setKind] = createSignal("");
  const [more, setMore] = createSignal<Segment[]>([]);
  const [next, setNext] = createSignal<string | null>(null);
  const ask = (cursor?: string): Promise<SegmentsPage> => get<SegmentsPage>("/packets/segments", { ...props.range, class: kind(), limit: SHOWN, cursor });
  const [first] = createResource(
    () => [props.range.from, props.range.to, kind()].join(" "),
    async () => {
      const page = await ask();
      setMore([]);
      setNext(page.next);
      return page.segments;
    },
  );
  const goOn = (): void => {
    ask(next() ?? undefined)
      .then((page) => {
        setMore((before) => [...before, ...page.segments]);
        setNext(page.next);
      })
      .catch(toastError);
  };
  const all = (): Segment[] => [...(known(first) ?? []), ...more()];
  return (
    <section class="panel" aria-label="Segments">
      <header>
        <h2>Segments</h2>
        <select class="input" aria-label="Class" value={kind()} onChange={(event) => setKind(event.currentTarget.value)}>
          <For each={CLASSES}>{(one) => <option value={one}>{one || "all classes"}</option>}</For>
        </select>
      </header>
      <Show when={all().length > 0} fallback={<p class="body muted">{first.error ? String(first.error.message) : first.loading ? "Loading …" : "No segments in this range."}</p>}>
        <div class="scroll">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Segment</th>
                <th scope="col">From</th>
                <th scope="col">To</th>
                <th scope="col" class="right">Packets</th>
                <th scope="col" class="right">Octets</th>
                <th scope="col" class="right">On disk</th>
                <th scope="col">State</th>
              </tr>
            </thead>
            <tbody>
              <For each={all()}>
                {(segment) => (
                  <tr>
                    <td>
                      <code class="nowrap">{segment.name}</code>
                    </td>
                    <td>
                      <Time at={segment.from} />
                    </td>
                    <td>
                      <Time at={segment.to} shape="clock" />
                    </td>
                    <td class="right">{whole(segment.packets)}</td>
                    <td class="right nowrap">{octets(segment.octets)}</td>
                    <td class="right nowrap">{octets(segment.stored_octets)}</td>
                    <td class="nowrap">
                      <Tag meaning={segment.state === "damaged" ? "bad" : segment.state === "growing" ? "note" : "none"}>{segment.state}</Tag>{" "}
                      {segment.compressed ? <Tag meaning="none">zstd</Tag> : null} {segment.pinned ? <Tag meaning="note">pinned</Tag> : null}
                    </td>
                  </tr>
                )}
              </For>
            </tbody>
          </table>
        </div>
        <Show when={next()}>
          <div class="body">
            <button class="button" onClick={goOn}>
              More segments
            </button>
          </div>
        </Show>
      </Show>
    </section>
  );
}
