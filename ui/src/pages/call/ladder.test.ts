import { describe, expect, it } from "vitest";
import type { Ladder, LadderMessage, Stream } from "../../api/types";
import { columnsOf } from "./columns";
import { fit, labelMiddle, labelOn, layOut, visible, type Sizes } from "./layout";
import { membersOf, rowOfMessage, rowsOf } from "./rows";
import { said, since, toneOf } from "./said";

const START = Date.parse("2026-11-20T10:00:00Z");
const SIZES: Sizes = { width: 700, times: 100, columnMin: 80, row: 30, gap: 20 };

function message(at: number, src: number, dst: number, what: string, more: Partial<LadderMessage> = {}): LadderMessage {
  const [first = "", method] = what.split(" ");
  const status = /^\d/.test(first) ? Number(first) : null;
  return {
    at: new Date(START + at).toISOString(), src, dst, method: status === null ? first : (method ?? "INVITE"), status, cseq: 1, text: null, sdp: false,
    retransmission: false, odd: false, cut: false, tcp: false, copy: false, octets: 400, packet: at, file: 0, offset: 0, ...more,
  };
}

function stream(src: string, dst: string, first: number, last: number): Stream {
  return { id: src + dst, src, dst, first: new Date(START + first).toISOString(), last: new Date(START + last).toISOString() } as Stream;
}

const again = { retransmission: true };

describe("columns", () => {
  const ladder = (hosts: string[], messages: LadderMessage[] = []): Ladder => ({ hosts, messages, not_kept: 0 });
  it("are hosts: ports of one address and its media stand together", () => {
    const { columns, ofHost, ofStream } = columnsOf(ladder(["10.0.0.1:5060", "10.0.0.2:5060", "10.0.0.1:40123"]), [stream("10.0.0.1:4000", "10.0.0.9:4002", 0, 1)]);
    expect(columns.map((column) => column.address)).toEqual(["10.0.0.1", "10.0.0.2", "10.0.0.9"]);
    expect([ofHost, ofStream]).toEqual([[0, 1, 0], [{ from: 0, to: 2 }]]);
    expect(columns.map((column) => column.mediaOnly)).toEqual([false, false, true]);
  });
  it("stay apart where an address talks to itself", () => {
    const hosts = ["127.0.0.1:5060", "127.0.0.1:5061"];
    const { ofHost, ofStream, columns } = columnsOf(ladder(hosts, [message(0, 0, 1, "INVITE")]), [stream("127.0.0.1:4000", "127.0.0.1:4002", 0, 1)]);
    expect([ofHost, columns.length, ofStream]).toEqual([[0, 1], 2, [{ from: 0, to: 0 }]]);
  });
});

describe("rows", () => {
  const call = [
    message(0, 0, 1, "INVITE"),
    message(500, 0, 1, "INVITE", again),
    message(510, 1, 0, "100"),
    message(900, 1, 0, "180"),
    message(901, 1, 0, "180", { copy: true }),
    message(1500, 1, 0, "200"),
    message(1520, 0, 1, "ACK"),
    message(9000, 0, 1, "BYE"),
    message(9020, 1, 0, "200 BYE"),
  ];
  const kinds = (dense: boolean, open?: Set<number>): string[] => rowsOf(call, [stream("a:1", "b:1", 1510, 9010)], { dense, ...(open ? { open } : {}) }).map((row) => (row.kind === "message" ? `m${row.index}` : row.kind));

  it("show each message, streams where they begin, and breaks in time", () => {
    expect(kinds(false)).toEqual(["m0", "m1", "m2", "m3", "m4", "m5", "begin", "m6", "gap", "m7", "m8"]);
  });
  it("fold repetitions, copies and 100 into what they belong to, if dense", () => {
    expect(kinds(true)).toEqual(["m0", "m3", "m5", "begin", "m6", "gap", "m7", "m8"]);
    const rows = rowsOf(call, [], { dense: true });
    expect(rows.filter((row) => row.kind === "message").map(membersOf)).toEqual([[0, 1, 2], [3, 4], [5], [6], [7], [8]]);
    expect(rowOfMessage(rows, call.length)).toEqual([0, 0, 0, 1, 1, 2, 3, 5, 6]);
  });
  it("unfold what was opened", () => {
    expect(kinds(true, new Set([0]))).toEqual(["m0", "m1", "m2", "m3", "m5", "begin", "m6", "gap", "m7", "m8"]);
  });
  it("fold runs of what keeps a call alive, but nothing that failed", () => {
    const pings = [0, 1, 2].flatMap((n) => [message(n * 100, 0, 1, "OPTIONS", { cseq: n }), message(n * 100 + 10, 1, 0, "200 OPTIONS", { cseq: n })]);
    expect(rowsOf(pings, [], { dense: true })).toHaveLength(1);
    const failed = [...pings, message(400, 0, 1, "OPTIONS", { cseq: 9 }), message(410, 1, 0, "503 OPTIONS", { cseq: 9 })];
    expect(rowsOf(failed, [], { dense: true }).map((row) => (row.kind === "message" ? row.index : -1))).toEqual([0, 7]);
  });
});

describe("layout", () => {
  const messages = [message(0, 0, 1, "INVITE"), message(1000, 1, 0, "200"), message(11000, 0, 1, "BYE")];
  const streams = [stream("10.0.0.1:1", "10.0.0.2:1", 1000, 6000), stream("10.0.0.1:3", "10.0.0.2:3", 1000, 6000), stream("10.0.0.2:1", "10.0.0.1:1", 1000, 11000)];
  const columns = columnsOf({ hosts: ["10.0.0.1:5060", "10.0.0.2:5060"], messages, not_kept: 0 }, streams);
  const rows = rowsOf(messages, streams, { dense: false });
  const spans = streams.map((one) => ({ first: Date.parse(one.first), last: Date.parse(one.last) }));
  const made = layOut(rows, columns, spans, SIZES);

  it("gives every instant a place and every place an instant", () => {
    for (const at of [0, 500, 1000, 6000, 10999, 11000]) expect(made.atOf(made.yOf(START + at))).toBeCloseTo(START + at, 3);
    expect(made.yOf(START - 1)).toBe(made.middle[0]);
    expect(made.yOf(START + 99_999)).toBe(made.middle.at(-1));
    const ys = [0, 200, 1000, 3000, 11000].map((at) => made.yOf(START + at));
    expect([...ys].sort((a, b) => a - b)).toEqual(ys);
  });
  it("puts ribbons beside their sender's line, streams of one moment beside each other", () => {
    const [one, two, back] = made.bands;
    expect([one!.way, two!.way, back!.way]).toEqual([1, 1, -1]);
    expect(one!.x).toBeGreaterThan(made.x[0]!);
    expect(two!.x).toBeGreaterThan(one!.x);
    expect(back!.x).toBeLessThan(made.x[1]!);
    expect(one!.y2).toBeLessThan(made.middle.at(-1)!);
    expect(back!.y2).toBeCloseTo(made.middle.at(-1)!);
  });
  it("keeps the least distance of columns and grows to the side", () => {
    const wide = layOut([], { columns: Array.from({ length: 255 }, (_, n) => ({ address: `${n}`, endpoints: [], mediaOnly: false })), ofHost: [], ofStream: [] }, [], SIZES);
    expect(wide.width).toBe(100 + 255 * 80);
    expect(made.width).toBe(700);
  });
  it("finds the rows in a window", () => {
    expect(visible([0, 30, 60, 80, 110], 0, 29)).toEqual([0, 1]);
    expect(visible([0, 30, 60, 80, 110], 35, 85)).toEqual([1, 4]);
    expect(visible([0, 30, 60, 80, 110], 500, 900)).toEqual([4, 4]);
  });
  it("lays out a thousand messages of 255 hosts in no time to speak of", () => {
    const many = Array.from({ length: 1000 }, (_, n) => message(n * 50, n % 255, (n + 1) % 255, "INFO", { cseq: n }));
    const ladder = { hosts: Array.from({ length: 255 }, (_, n) => `10.0.${n}.1:5060`), messages: many, not_kept: 0 };
    const rows = rowsOf(many, [], { dense: true });
    expect(layOut(rows, columnsOf(ladder, []), [], SIZES).x).toHaveLength(255);
    expect(rows).toHaveLength(1000);
  });
  it("puts a label on its arrow, or beside it where that is too short", () => {
    expect(labelOn(100, 300, 100, 50, 700)).toEqual({ x: 200, anchor: "middle", hole: [148, 252], room: 172 });
    expect(labelOn(300, 100, 300, 50, 700)).toMatchObject({ x: 308, anchor: "start", hole: undefined });
    expect(labelOn(550, 690, 300, 50, 700)).toMatchObject({ x: 542, anchor: "end", hole: undefined });
  });
  it("keeps labels within the picture", () => {
    expect(labelMiddle(0, 100, 200, 50, 700)).toBe(150);
    expect(labelMiddle(600, 690, 300, 50, 700)).toBe(550);
    expect(fit("Temporarily Unavailable", 60, 12)).toBe("Tempora…");
    expect(fit("OK", 60, 12)).toBe("OK");
  });
});

describe("words", () => {
  it("tell request, response, SDP and oddities apart", () => {
    expect(said(message(0, 0, 1, "INVITE", { text: " · 10.0.0.1:4000 PCMA sendrecv" }))).toEqual({ what: "INVITE", cseq: "1", more: "10.0.0.1:4000 PCMA sendrecv" });
    expect(said(message(0, 0, 1, "486", { text: "Busy Here · Q.850 cause 17" }))).toEqual({ what: "486 Busy Here", cseq: "1 INVITE", more: "Q.850 cause 17" });
    expect(said(message(0, 0, 1, "other", { text: "KDMQ" })).what).toBe("KDMQ");
  });
  it("challenges do not cry", () => {
    expect([100, 200, 302, 401, 486, 503, 603].map((status) => toneOf(message(0, 0, 1, `${status}`)))).toEqual(["progress", "good", "note", "warn", "warn", "bad", "bad"]);
  });
  it("times have milliseconds as long as they matter", () => {
    expect([since(21), since(12400), since(3_600_000)]).toEqual(["0.021", "12.400", "3600.0"]);
  });
});
