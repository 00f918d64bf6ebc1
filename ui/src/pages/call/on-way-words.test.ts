import { expect, test } from "vitest";
import type { GraphPicture, GraphStop, Loss } from "../../api/types";
import { lanes, lostHere, lostThere, says } from "./on-way-words";

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
  expect(lostThere(stop("core-1", []), loss)).toBe("1,312 discards out on core-1 Gi0/1 during the call");
  expect(lostThere(stop("core-1", []), { ...loss, what: "of echo requests lost", amount: 4.25, unit: "%" })).toContain("up to 4.3 % of echo requests lost on");
});

test("losses of the capture count that were counted in the time, in part or as a whole", () => {
  const counted = (since: string, at: string): Loss => ({ since, at, count: 3, place: "ring", source: "eth0" });
  const all = [counted("2026-11-26T10:00:00Z", "2026-11-26T10:00:10Z"), counted("2026-11-26T10:00:10Z", "2026-11-26T10:00:20Z"), counted("2026-11-26T10:05:00Z", "2026-11-26T10:05:10Z")];
  expect(lostHere(all, Date.parse("2026-11-26T10:00:15Z"), Date.parse("2026-11-26T10:05:00Z"))).toEqual([all[1]]);
});

test("a loss is a share, told where there is some", () => {
  const picture = (loss: number): GraphPicture => ({
    title: "", unit: "s", base: 1000, lower: null, upper: null, rigid: false, logarithmic: false, start: 0, step: 60, rows: 2, rules: [], thresholds: [], unread: [],
    series: [{ name: "lossy", label: "Loss", kind: "tick", color: "#ff0000", width: 1, stack: false, dashes: [], values: [0, loss > 0 ? 1 : 0], legend: [], figures: { last: null, average: null, min: null, max: null, p95: null, total: null } }],
    prints: [{ label: "Loss, mean", format: "%6.2lf %%", is_number: true, value: loss }, { label: "95th percentile", format: "%6.2lf %s", is_number: true, value: 3 }],
  });
  expect(says(picture(0))).toBe("Loss: never");
  expect(says(picture(12.5))).toBe("Loss: in 1 of 2 values; Loss, mean: 12.5 %");
});
