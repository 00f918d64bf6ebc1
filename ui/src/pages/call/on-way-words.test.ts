import { expect, test } from "vitest";
import type { GraphStop, Loss } from "../../api/types";
import { lanes, lostHere, lostThere } from "./on-way-words";

const stop = (name: string, shows: string[], losses: GraphStop["losses"] = []): GraphStop => ({
  device: 1, device_name: name, state: "up", row: 1, interface: "Gi0/1", label: null, whys: [], losses,
  graphs: shows.map((shows, id) => ({ id, title: shows, shows })),
});
const loss = { what: "discards out", amount: 1312, unit: "packets", from: null, to: null };

test("what lost something comes first, then traffic, processors and round trips; what lost nothing stands apart", () => {
  const { first, sound } = lanes([stop("a", ["losses", "traffic"], [loss]), stop("b", ["losses", "round-trip", "processor"]), stop("c", ["traffic"])]);
  expect(first.map(({ stop, graph }) => `${stop.device_name} ${graph.shows}`)).toEqual(["a losses", "a traffic", "c traffic", "b processor", "b round-trip"]);
  expect(sound.map(({ stop }) => stop.device_name)).toEqual(["b"]);
});

test("losses are said in words", () => {
  expect(lostThere(stop("core-1", []), loss)).toBe("1,312 discards out on core-1 Gi0/1 in the call's minutes");
  expect(lostThere(stop("core-1", []), { ...loss, what: "of echo requests lost", amount: 4.25, unit: "%" })).toContain("up to 4.3 % of echo requests lost on");
});

test("losses of the capture count that were counted in the time, in part or as a whole", () => {
  const counted = (since: string, at: string): Loss => ({ since, at, count: 3, place: "ring", source: "eth0" });
  const all = [counted("2026-11-26T10:00:00Z", "2026-11-26T10:00:10Z"), counted("2026-11-26T10:00:10Z", "2026-11-26T10:00:20Z"), counted("2026-11-26T10:05:00Z", "2026-11-26T10:05:10Z")];
  expect(lostHere(all, Date.parse("2026-11-26T10:00:15Z"), Date.parse("2026-11-26T10:05:00Z"))).toEqual([all[1]]);
});
