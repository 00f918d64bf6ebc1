import { describe, expect, it } from "vitest";
import type { Call } from "../../api/types";
import { seenIn } from "./seen";

const call = (more: object): Call => ({ from: "+4420", to: "1000", state: "completed", verdict_kind: null, code: 200, src: "192.0.2.1:5060", dst: "[2001:db8::a]:5060", streams: [], ...more }) as unknown as Call;

describe("values in the rows", () => {
  it("are counted, the most frequent first", () => {
    const rows = [call({ state: "rejected" }), call({}), call({})];
    expect(seenIn(rows, "state")).toEqual([{ value: "completed", count: 2 }, { value: "rejected", count: 1 }]);
  });

  it("are the single codecs, and the hosts without their ports", () => {
    const rows = [call({ streams: [{ codec: "PCMA, telephone-event" }, { codec: "PCMA" }, { codec: null }] })];
    expect(seenIn(rows, "codec").map((one) => one.value)).toEqual(["PCMA", "telephone-event"]);
    expect(seenIn(rows, "ip").map((one) => one.value)).toEqual(["192.0.2.1", "2001:db8::a"]);
  });

  it("are never masked numbers, and none of fields that have no such", () => {
    expect(seenIn([call({ from: "+4420*****34" })], "caller")).toEqual([]);
    expect(seenIn([call({})], "mos")).toEqual([]);
  });
});
