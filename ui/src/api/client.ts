// The API as functions: `get("/calls", { filter, limit })`. Everything that the pages show comes through here.

import { BACKGROUND, presence } from "../presence";
import { problemOf, unreachable } from "./problem";

export const BASE = "/api/v1";

export type Query = Record<string, string | number | boolean | null | undefined>;

/** Path with its query; what is null, undefined or "" is left out. */
export function url(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") search.set(name, String(value));
  }
  const text = search.toString();
  return BASE + path + (text ? `?${text}` : "");
}

let csrf: string | null = null;
let onSignedOut: () => void = () => {};

/** The token that goes with everything that changes something. */
export function useCsrf(token: string | null): void {
  csrf = token;
}

/** Called when the API says that nobody is signed in any more. */
export function whenSignedOut(run: () => void): void {
  onSignedOut = run;
}

async function send(method: string, address: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (method !== "GET" && csrf !== null) headers["X-CSRF-Token"] = csrf;
  if (!presence.asks(Date.now())) headers[BACKGROUND] = "1";
  const init: RequestInit = { method, headers, credentials: "same-origin" };
  if (signal) init.signal = signal;
  if (body instanceof Blob) {
    init.body = body;
  } else if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(body);
  }
  let response: Response;
  try {
    response = await fetch(address, init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw unreachable();
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (problem.kind === "signed-out") onSignedOut();
  throw problem;
}

async function json<T>(response: Response): Promise<T> {
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

export async function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  return json<T>(await send("GET", url(path, query), undefined, signal));
}

export async function post<T>(path: string, body?: unknown, query?: Query): Promise<T> {
  return json<T>(await send("POST", url(path, query), body));
}

export async function put<T>(path: string, body: unknown): Promise<T> {
  return json<T>(await send("PUT", url(path), body));
}

export async function patch<T>(path: string, body: unknown): Promise<T> {
  return json<T>(await send("PATCH", url(path), body));
}

export async function remove(path: string, query?: Query): Promise<void> {
  await send("DELETE", url(path, query));
}

/** Sends a file as it is, and tells how many octets are gone: fetch cannot say that. */
export function upload<T>(path: string, query: Query, file: Blob, sent: (octets: number) => void, signal?: AbortSignal): Promise<T> {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open("POST", url(path, query));
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("Content-Type", "application/octet-stream");
    if (csrf !== null) request.setRequestHeader("X-CSRF-Token", csrf);
    request.upload.onprogress = (event) => sent(event.loaded);
    request.onerror = () => failed(unreachable());
    request.onabort = () => failed(new DOMException("", "AbortError"));
    request.onload = () => {
      const { status, statusText, responseText } = request;
      const answer = status >= 200 && status <= 599 ? new Response(status === 204 ? null : responseText, { status, statusText }) : undefined;
      if (answer?.ok) return void json<T>(answer).then(done, failed);
      if (!answer) return failed(unreachable());
      void problemOf(answer).then((problem) => {
        if (problem.kind === "signed-out") onSignedOut();
        failed(problem);
      });
    };
    signal?.addEventListener("abort", () => request.abort(), { once: true });
    request.send(file);
  });
}
