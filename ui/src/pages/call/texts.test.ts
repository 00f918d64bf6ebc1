import { describe, expect, it } from "vitest";
import type { Call, Interval, LadderMessage, Stream } from "../../api/types";
import { setAliases } from "../../aliases";
import { formatSpan, parseHash, parseSpan } from "./address";
import { diff, inside } from "./diff";
import { blame, receiverSays, shareOf } from "./fault";
import { pairName, shortName } from "./names";
import { explain, isPrivate } from "./sdp-words";
import { linesOf as plotLines, lossOf } from "./series";
import { linesOf, type Kind } from "./sip-text";
import { ticket } from "./ticket";
import { twinsOf } from "./twins";
import { packetFilter, quoted, timeOfId, weightOf, withoutVerdict } from "./words";

// RFC 3665 section 3.1, message F1, shortened.
const INVITE = `INVITE sip:bob@biloxi.example.com SIP/2.0
Via: SIP/2.0/TCP client.atlanta.example.com:5060;branch=z9hG4bK74bf9;received=192.0.2.101
Max-Forwards: 70
From: "Alice; \\"A\\"" <sip:alice@atlanta.example.com;user=phone>;tag=9fxced76sl
t: Bob <sip:bob@biloxi.example.com>
i: 3848276298220188511@atlanta.example.com
CSeq: 1 INVITE
Subject: one
 two: three
Content-Type: application/sdp

v=0
o=alice 2890844526 2890844527 IN IP4 client.atlanta.example.com
c=IN IP4 10.0.2.101
m=audio 49172 RTP/AVP 0 96
a=rtpmap:96 telephone-event/8000
a=sendonly
`.replaceAll("\n", "\r\n");

const lines = linesOf(INVITE);
const pick = (line: number, kind: Kind): string[] => lines[line]!.tokens.filter((token) => token.kind === kind).map((token) => token.text);

describe("a SIP message", () => {
  it("loses nothing in its pieces", () => {
    expect(lines.map((line) => line.tokens.map((token) => token.text).join(""))).toEqual(INVITE.split("\r\n").slice(0, -1));
    expect(lines.map((line) => line.part)).toEqual(["start", ...Array(9).fill("header"), "blank", ...Array(6).fill("sdp")]);
  });
  it("shows start line, names, URIs, tags, branches and Call-IDs", () => {
    expect([pick(0, "method"), pick(0, "uri")]).toEqual([["INVITE"], ["sip:bob@biloxi.example.com"]]);
    expect([pick(1, "name"), pick(1, "branch"), pick(1, "param")]).toEqual([["Via"], ["z9hG4bK74bf9"], ["branch", "received"]]);
    expect([pick(3, "text"), pick(3, "uri"), pick(3, "tag")]).toEqual([['"Alice; \\"A\\""'], ["sip:alice@atlanta.example.com;user=phone"], ["9fxced76sl"]]);
    expect(pick(5, "id")).toEqual(["3848276298220188511@atlanta.example.com"]);
    expect([pick(6, "number"), pick(6, "method")]).toEqual([["1"], ["INVITE"]]);
    expect(pick(8, "name")).toEqual([]);
    expect([pick(15, "sdp-name"), pick(15, "number")]).toEqual([["rtpmap"], ["96", "8000"]]);
  });
  it("knows a response, and takes anything", () => {
    expect(linesOf("SIP/2.0 486 Busy Here\r\n")[0]!.tokens.filter((token) => token.kind === "status").map((token) => token.text)).toEqual(["486", "Busy Here"]);
    for (const odd of ["", "\n\n", "garbage", "INVITE", ": : :", 'From: "open', "a=".repeat(50), "Via: ;;;=\n<script>alert(1)</script>"]) {
      expect(linesOf(odd).map((line) => line.tokens.map((token) => token.text).join("")).join("\n")).toBe(odd.replace(/\n$/, ""));
    }
  });
});

describe("SDP in words", () => {
  const sdp = INVITE.split("\r\n").slice(11);
  it("says what a line means", () => {
    expect(explain("m=audio 49172 RTP/AVP 0 96", sdp)).toBe("audio on port 49172, in order of preference: PCMU (0), telephone-event (96).");
    expect(explain("m=audio 0 RTP/AVP 0", sdp)).toContain("rejected");
    expect(explain("c=IN IP4 10.0.2.101", sdp)).toContain("private");
    expect(explain("c=IN IP4 0.0.0.0", sdp)).toContain("hold");
    expect(explain("a=sendonly", sdp)).toContain("hold");
    expect(explain("a=fmtp:96 0-16", sdp)).toBe("Parameters of telephone-event (96): 0-16.");
    expect(explain("a=x-unknown:1", sdp)).toBeUndefined();
    expect(explain("nonsense", sdp)).toBeUndefined();
  });
  it("knows addresses that nobody reaches from outside", () => {
    expect(["10.1.1.1", "172.16.0.1", "172.32.0.1", "100.64.1.1", "192.0.2.1", "fd00::1", "2001:db8::1"].map(isPrivate)).toEqual([true, true, false, true, false, true, false]);
  });
});

describe("a diff", () => {
  it("pairs what is the same and what changed", () => {
    expect(diff(["a", "Via: 1", "c"], ["a", "Via: 2", "b", "c"])).toEqual([
      { left: "a", right: "a" },
      { left: "Via: 1", right: "Via: 2" },
      { right: "b" },
      { left: "c", right: "c" },
    ]);
    expect(diff([], ["x"])).toEqual([{ right: "x" }]);
    expect(diff(["x"], [])).toEqual([{ left: "x" }]);
    expect(diff(["x"], ["x"])).toEqual([{ left: "x", right: "x" }]);
  });
  it("finds the longest common part, and keeps every line", () => {
    const [a, b] = ["abcbdab".split(""), "bdcaba".split("")];
    const pairs = diff(a, b);
    expect(pairs.filter((pair) => pair.left === pair.right)).toHaveLength(4);
    expect(pairs.flatMap((pair) => pair.left ?? [])).toEqual(a);
    expect(pairs.flatMap((pair) => pair.right ?? [])).toEqual(b);
  });
  it("gives up on finding common lines in what is too long", () => {
    const many = (prefix: string): string[] => Array.from({ length: 1500 }, (_, n) => `${prefix}: ${n}`);
    expect(diff(many("a"), many("b")).flatMap((pair) => pair.right ?? [])).toHaveLength(1500);
  });
  it("says what differs inside a line", () => {
    expect(inside("branch=abc;rport", "branch=axc;rport")).toEqual({ left: [8, 9], right: [8, 9] });
    expect(inside("aa", "aaa")).toEqual({ left: [2, 2], right: [2, 3] });
  });
});

describe("what to compare with", () => {
  const one = (src: number, dst: number, method: string, status: number | null, cseq: number, more: Partial<LadderMessage> = {}): LadderMessage =>
    ({ src, dst, method, status, cseq, retransmission: false, copy: false, ...more }) as LadderMessage;
  const messages = [
    one(0, 1, "INVITE", null, 1),
    one(1, 2, "INVITE", null, 1),
    one(0, 1, "INVITE", null, 1, { retransmission: true }),
    one(2, 1, "INVITE", 200, 1),
    one(1, 0, "INVITE", 200, 1),
    one(0, 1, "INVITE", null, 2),
  ];
  const of = (index: number): string[] => twinsOf(messages, index).map((twin) => `${twin.index} ${twin.why}`);
  it("is the repetition, the other hop, the one before", () => {
    expect(of(0)).toEqual(["2 retransmission", "1 next-hop"]);
    expect(of(2)).toEqual(["0 original"]);
    expect(of(1)).toEqual(["0 hop-before"]);
    expect(of(3)).toEqual(["4 next-hop"]);
    expect(of(5)).toEqual(["2 previous"]);
    expect(of(99)).toEqual([]);
  });
});

describe("whose fault", () => {
  const call = (complete: boolean, before: number, most: number, least: number, streams = 1): Pick<Call, "capture" | "streams"> => ({
    capture: { complete, lost_before_tap: before, lost_at_tap: most, lost_at_tap_least: least, note: null },
    streams: Array(streams).fill({}) as Stream[],
  });
  it("is the network's, ours, both, nobody's, or not known", () => {
    expect([call(true, 0, 0, 0), call(true, 5, 0, 0), call(false, 0, 5, 5), call(false, 3, 5, 2), call(false, 0, 5, 0), call(false, 0, 0, 0), call(true, 0, 0, 0, 0)].map((one) => blame(one).fault)).toEqual([
      "nobody", "network", "tap", "both", "open", "open", "nobody",
    ]);
    expect(blame(call(false, 3, 5, 2)).why).toContain("2 to 5 packets");
  });
  it("parts what is missing", () => {
    expect(shareOf({ expected: 100, missing: 10, lost_at_tap: 7, lost_at_tap_least: 4 })).toEqual({ expected: 100, seen: 90, before: [3, 6], tap: [4, 7] });
  });
  it("hears the receiver", () => {
    const rtcp = { sender_reports: 1, receiver_reports: 1, lost: 2, fraction_max: 0, jitter_max_ms: null, round_trip_ms: null, sent: 1000, missing_here: 9 };
    expect(receiverSays({ rtcp } as Stream)).toBe("lost 2 of 1,000 sent: 7 packets that we did not see reached the receiver");
    expect(receiverSays({ rtcp: { ...rtcp, receiver_reports: 0, lost: null } } as Stream)).toBe("no report");
  });
});

describe("lines over time", () => {
  it("share their times and are none where a stream was not", () => {
    const at = (s: number): string => new Date(Date.parse("2026-11-20T10:00:00Z") + s * 1000).toISOString();
    const streams = [{ id: "a", first: at(0), last: at(15) }, { id: "b", first: at(5), last: at(9) }] as Stream[];
    const interval = (index: number, start: number, missing: number): Interval => ({ index, start: at(start), missing, packets: 10 - missing, duplicates: 0 }) as Interval;
    const { times, values } = plotLines(streams, [{ stream: "a", ssrc: "", intervals: [interval(0, 0, 1), interval(1, 10, 5)] }, { stream: "b", ssrc: "", intervals: [interval(0, 5, 0)] }], lossOf);
    expect(times.map((time) => (time - times[0]!) / 1000)).toEqual([0, 5, 9, 10, 15]);
    expect(values).toEqual([[0.1, 0.1, 0.1, 0.5, 0.5], [null, 0, 0, null, null]]);
  });
});

describe("a ticket", () => {
  it("says verdict, times in UTC, addresses and figures, and no forged lines", () => {
    const call = {
      id: "018f", sip_call_id: "x@y", state: "completed", from: "+44", to: "alice\r\nVerdict: fine", start: "2026-11-20T10:00:00.000001Z", answer: null, end: null,
      pdd_ms: 1500, setup_ms: null, duration_ms: 61000, code: 200, reason: "OK", hangup: "caller", src: "10.0.0.1:5060", dst: "[2001:db8::1]:5060", user_agent: "Phone",
      mos: null, mos_range: { low: 3.1, high: 4.2 }, capture: { complete: false, lost_at_tap: 9, lost_at_tap_least: 2, lost_before_tap: 1, note: "a hole" },
      verdict: "One-way audio.", verdict_kind: "one-way-audio", verdict_packets: [3, 9], streams: [],
      numbers: [{ role: "asserted", number: "+4420", sent: "P-Asserted-Identity: <tel:+44-20>" }, { role: "diverted-from", number: "bob", sent: "Diversion: <sip:bob@x>\n" }],
    } as unknown as Call;
    const text = ticket(call, { link: "https://t/calls/018f", alias: (endpoint) => (endpoint.startsWith("10.") ? "SBC" : undefined) });
    expect(text.split("\n")).toEqual([
      "Verdict:  One-way audio. [one-way-audio]", "Evidence: packets 3, 9", "From:     +44 at 10.0.0.1:5060 (SBC)", "To:       alice Verdict: fine at [2001:db8::1]:5060",
      "Asserted: +4420 (P-Asserted-Identity: <tel:+44-20>)", "Diverted from: bob (Diversion: <sip:bob@x> )",
      "Ended:    completed, 200 OK, the caller hung up", "Start:    2026-11-20 10:00:00.000001 UTC", "Timing:   PDD 1.50 s, duration 1:01 min",
      "MOS:      3.10 to 4.20, depending on what the capture lost", "Agent:    Phone", "Capture:  incomplete; lost before the tap 1, at the tap 2 to 9; a hole",
      "Call-ID:  x@y", "Call:     018f", "", "https://t/calls/018f", "",
    ]);
  });
});

describe("the address", () => {
  it("names messages from 1, and only those that there are", () => {
    expect(["#m1", "#m12", "#m13", "#m0", "#x", ""].map((hash) => parseHash(hash, 12))).toEqual([0, 11, undefined, undefined, undefined, undefined]);
  });
  it("holds spans in seconds of the call", () => {
    const bounds: [number, number] = [1000, 61_000];
    expect(parseSpan(formatSpan(2500, 12_000), bounds)).toEqual([3500, 13_000]);
    expect(parseSpan("50-99", bounds)).toEqual([51_000, 61_000]);
    expect([parseSpan("5-4", bounds), parseSpan("<script>", bounds), parseSpan(undefined, bounds), parseSpan("90-99", bounds)]).toEqual([undefined, undefined, undefined, undefined]);
  });
});

describe("words of the page", () => {
  it("weigh verdicts", () => {
    const weigh = (verdict_kind: string | null, state = "completed"): string => weightOf({ verdict: verdict_kind, verdict_kind, state } as Call);
    expect([weigh("loss"), weigh("not-captured"), weigh("media-not-captured"), weigh("slow-setup"), weigh("of-a-newer-program"), weigh(null, "joined-mid-call"), weigh(null), weigh(null, "rejected")]).toEqual(["bad", "note", "note", "warn", "note", "none", "good", "none"]);
    expect(withoutVerdict({ state: "rejected", code: 486, reason: "Busy Here" } as Call)).toContain("rejected with 486 Busy Here");
  });
  it("quote what the filter language would read", () => {
    expect([quoted("+4420"), quoted("a b"), quoted('x"y\\'), quoted("")]).toEqual(["+4420", '"a b"', '"x\\"y\\\\"', '""']);
  });
  it("read the time of an identifier", () => {
    expect(timeOfId("018f332b-12e0-7c7f-8000-000000000001")).toBe(0x018f332b12e0);
    expect([timeOfId("018f"), timeOfId("a84b4c76e66710@pc33"), timeOfId("018f332b-12e0-4c7f")]).toEqual([undefined, undefined, undefined]);
  });
  it("ask for the packets between the call's hosts", () => {
    const call = { src: "10.0.0.1:5060", dst: "[2001:db8::1]:5060", streams: [] } as unknown as Call;
    expect(packetFilter(call)).toBe("(src host 10.0.0.1 or src host 2001:db8::1) and (dst host 10.0.0.1 or dst host 2001:db8::1)");
    expect(packetFilter({ ...call, dst: null })).toBe("host 10.0.0.1");
  });
  it("tell streams of one name apart by their addresses", () => {
    setAliases([{ match: "10.0.0.0/8", name: "Office" }]);
    const pair = (src: string, dst: string): string => pairName({ src, dst } as Stream, 0);
    expect(pair("10.0.0.1:4", "192.0.2.1:4")).toBe("1. Office → 192.0.2.1");
    expect(pair("10.0.0.1:4", "10.0.0.2:4")).toBe("1. 10.0.0.1 → 10.0.0.2");
    expect(pair("10.0.0.1:4", "10.0.0.1:6")).toBe("1. 10.0.0.1:4 → 10.0.0.1:6");
    expect([shortName("10.0.189.1"), shortName("2001:db8::1e9"), shortName("SBC 1")]).toEqual(["…189.1", "…db8:1e9", "SBC 1"]);
  });
});
