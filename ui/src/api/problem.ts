// Errors of the API: RFC 9457 problem details.

export interface ProblemDetails {
  type: string;
  title: string;
  status: number;
  detail?: string;
  [more: string]: unknown;
}

/** An answer that is not what was asked for, in words for people. */
export class Problem extends Error {
  readonly details: ProblemDetails;

  constructor(details: ProblemDetails) {
    super(details.detail ?? details.title);
    this.name = "Problem";
    this.details = details;
  }

  /** The last part of its type: "bad-filter", "signed-out". */
  get kind(): string {
    return this.details.type.split("/").pop() ?? "";
  }

  get status(): number {
    return this.details.status;
  }
}

/** The program did not answer at all. */
export function unreachable(): Problem {
  const detail = "Trunkline does not answer. It may be restarting, or the network is down. Try again in a moment.";
  return new Problem({ type: "/problems/unreachable", title: "No answer", status: 0, detail });
}

export async function problemOf(response: Response): Promise<Problem> {
  const title = response.statusText || `Status ${response.status}`;
  try {
    const body: unknown = await response.json();
    if (typeof body === "object" && body !== null && "title" in body) {
      return new Problem({ ...(body as ProblemDetails), status: response.status });
    }
  } catch {
    // No JSON: whoever answered was not the API.
  }
  return new Problem({ type: "about:blank", title, status: response.status });
}
