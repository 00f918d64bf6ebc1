// Answers that are asked for again and again: what has not changed stays the same, so that the row on which somebody
// stands stays theirs while others come and go.

import type { Signal } from "solid-js";
import { createStore, reconcile, unwrap } from "solid-js/store";
import { Problem } from "../../api/problem";

/** Where a resource keeps its answer; `key` tells the things of a list apart. */
export const kept =
  (key = "id") =>
  <T>(first: T | undefined): Signal<T | undefined> => {
    const [store, setStore] = createStore<{ value: T | undefined }>({ value: first });
    const set = (next: unknown): T | undefined => {
      const value = (typeof next === "function" ? (next as (before: T | undefined) => T)(unwrap(store).value) : next) as T | undefined;
      setStore("value", reconcile(value, { key, merge: false }) as never);
      return store.value;
    };
    return [() => store.value, set as Signal<T | undefined>[1]];
  };

/** Where nobody looks after alerts there is nothing, which the status says: no error. */
export const absent = (problem: unknown): undefined | Promise<never> => (problem instanceof Problem && problem.kind === "not-found" ? undefined : Promise.reject(problem as Error));
