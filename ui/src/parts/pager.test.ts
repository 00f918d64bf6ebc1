import { describe, expect, it, vi } from "vitest";
import { book, PAGE_ROWS, PAGES_KEPT, type Book, type Page } from "./pager";

interface Row {
  id: string;
}

const page = (from: number, total: number): Page<Row> => {
  const end = Math.min(total, from + PAGE_ROWS);
  const rows = Array.from({ length: end - from }, (_, i) => ({ id: String(from + i) }));
  return { rows, next: end < total ? String(end) : null, stopped: false };
};
const settle = (): Promise<void> => new Promise((done) => setTimeout(done, 0));
const made = (total: number): { ask: ReturnType<typeof vi.fn>; changed: ReturnType<typeof vi.fn>; failed: ReturnType<typeof vi.fn>; calls: Book<Row> } => {
  const ask = vi.fn((cursor: string | undefined) => Promise.resolve(page(Number(cursor ?? 0), total)));
  const changed = vi.fn();
  const failed = vi.fn();
  const calls = book(ask, changed, failed);
  calls.begin(page(0, total));
  return { ask, changed, failed, calls };
};

describe("pages of rows", () => {
  it("are asked for before their rows are reached, one at a time", async () => {
    const { calls, ask } = made(1000);
    calls.seen(0, 30);
    expect(ask).toHaveBeenCalledTimes(0);
    calls.seen(20, 50);
    calls.seen(25, 55);
    await settle();
    expect(ask).toHaveBeenCalledTimes(1);
    expect(calls.count()).toBe(200);
    expect(calls.row(150)?.id).toBe("150");
    expect(calls.row(200)).toBeUndefined();
  });

  it("are one ahead of what is seen where nothing else is waited for", async () => {
    const { calls, ask } = made(1000);
    calls.seen(0, 30);
    calls.ahead();
    await settle();
    expect(ask).toHaveBeenCalledTimes(1);
    expect(calls.count()).toBe(200);
    calls.seen(170, 200);
    await settle();
    await settle();
    expect(calls.count()).toBe(400);
    calls.begin(page(0, 1000));
    calls.seen(0, 30);
    await settle();
    expect(calls.count()).toBe(100);
  });

  it("end where there are no more", async () => {
    const { calls, ask } = made(130);
    for (let i = 0; i < 5; i += 1) {
      calls.seen(100, 130);
      await settle();
    }
    expect(ask).toHaveBeenCalledTimes(1);
    expect(calls.count()).toBe(130);
    expect(calls.more()).toBe(false);
  });

  it("are given up far from the screen and asked for again", async () => {
    const { calls, ask } = made(100_000);
    for (let at = 0; at < 3000; at += 50) {
      calls.seen(at, at + 40);
      await settle();
    }
    expect(calls.rows().length).toBeLessThanOrEqual(PAGES_KEPT * PAGE_ROWS);
    expect(calls.row(5)).toBeUndefined();
    const before = ask.mock.calls.length;
    calls.seen(0, 40);
    await settle();
    expect(calls.row(5)?.id).toBe("5");
    expect(calls.count()).toBeGreaterThan(3000);
    expect(ask.mock.calls.length).toBe(before + 1);
  });

  it("are tried again after an error", async () => {
    const { calls, ask, failed } = made(1000);
    ask.mockRejectedValueOnce(new Error("no"));
    calls.seen(60, 90);
    await settle();
    expect(failed).toHaveBeenCalledTimes(1);
    expect(calls.count()).toBe(100);
    calls.seen(60, 91);
    await settle();
    expect(calls.count()).toBe(200);
  });

  it("are not asked for by themselves where the program gave up", async () => {
    const ask = vi.fn(() => Promise.resolve(page(0, 30)));
    const calls = book(ask, vi.fn(), vi.fn());
    calls.begin({ rows: [], next: "5", stopped: true });
    calls.seen(0, 0);
    expect(ask).not.toHaveBeenCalled();
    expect(calls.stopped()).toBe(true);
    calls.again();
    await settle();
    expect(ask).toHaveBeenCalledTimes(1);
    expect(calls.count()).toBe(30);
    expect(calls.stopped()).toBe(false);
  });

  it("are taken up again where they were laid aside", async () => {
    const first = made(1000);
    first.calls.seen(60, 90);
    await settle();
    const second = made(1000);
    second.calls.resume(first.calls.lay());
    expect(second.calls.count()).toBe(200);
    expect(second.calls.row(150)?.id).toBe("150");
    second.calls.seen(150, 180);
    await settle();
    expect(second.calls.count()).toBe(300);
  });

  it("are forgotten when a new list begins", async () => {
    const { calls, changed } = made(1000);
    calls.seen(60, 90);
    calls.begin(page(0, 40));
    await settle();
    expect(changed).not.toHaveBeenCalled();
    expect(calls.count()).toBe(40);
  });
});
