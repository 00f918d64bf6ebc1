import { createRoot } from "solid-js";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

const live = vi.hoisted(() => ({ feed: "idle" }));
vi.mock("../../live", () => ({ feed: () => live.feed }));
const page = { hidden: false };

import { useEvery } from "./every";

describe("what is asked for again", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal("document", page);
    [live.feed, page.hidden] = ["idle", false];
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it("needs no beat of the live feed, which hardly comes where nothing is captured", () => {
    const run = vi.fn();
    const end = createRoot((dispose) => {
      useEvery(700, run);
      return dispose;
    });
    vi.advanceTimersByTime(2200);
    expect(run).toHaveBeenCalledTimes(3);
    page.hidden = true;
    vi.advanceTimersByTime(7000);
    expect(run).toHaveBeenCalledTimes(3);
    [live.feed, page.hidden] = ["lost", false];
    vi.advanceTimersByTime(7000);
    expect(run).toHaveBeenCalledTimes(3);
    live.feed = "live";
    vi.advanceTimersByTime(700);
    expect(run).toHaveBeenCalledTimes(4);
    end();
    vi.advanceTimersByTime(7000);
    expect(run).toHaveBeenCalledTimes(4);
  });
});
