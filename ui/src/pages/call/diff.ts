// Two texts side by side: which lines are the same (longest common subsequence), and what differs inside a line.

export interface Pair {
  /** Line of the left text, if it is there. */
  left?: string;
  right?: string;
}

/** Products of lines above which no common lines are looked for between the first and last difference. */
export const CELLS_MAX = 1_000_000;

/** Lines in order; those that are the same stand in one pair, a changed one beside what it became. */
export function diff(left: string[], right: string[]): Pair[] {
  const shortest = Math.min(left.length, right.length);
  let head = 0;
  while (head < shortest && left[head] === right[head]) head += 1;
  let tail = 0;
  while (tail < shortest - head && left[left.length - 1 - tail] === right[right.length - 1 - tail]) tail += 1;
  const same = (lines: string[]): Pair[] => lines.map((line) => ({ left: line, right: line }));
  const [a, b] = [left.slice(head, left.length - tail), right.slice(head, right.length - tail)];
  return [...same(left.slice(0, head)), ...middle(a, b), ...same(left.slice(left.length - tail))];
}

function middle(a: string[], b: string[]): Pair[] {
  if (a.length * b.length > CELLS_MAX) return beside(a, b);
  const width = b.length + 1;
  // Length of the longest common subsequence of what follows each pair of places.
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1]! + 1 : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
    }
  }
  const pairs: Pair[] = [];
  let [gone, come]: [string[], string[]] = [[], []];
  const flush = (): void => {
    pairs.push(...beside(gone, come));
    [gone, come] = [[], []];
  };
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      flush();
      pairs.push({ left: a[i++]!, right: b[j++]! });
    } else if (j >= b.length || (i < a.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!)) {
      gone.push(a[i++]!);
    } else {
      come.push(b[j++]!);
    }
  }
  flush();
  return pairs;
}

/** Differing lines: those of the same header stand beside each other. */
function beside(gone: string[], come: string[]): Pair[] {
  const names = come.map(nameOf);
  const pairs: Pair[] = [];
  let next = 0;
  for (const left of gone) {
    const at = names.indexOf(nameOf(left), next);
    if (at < 0) {
      pairs.push({ left });
      continue;
    }
    while (next < at) pairs.push({ right: come[next++]! });
    pairs.push({ left, right: come[next++]! });
  }
  return [...pairs, ...come.slice(next).map((right) => ({ right }))];
}

/** "Via: ..." -> "via"; "a=rtpmap:8 ..." -> "a=rtpmap:8"; a start line is one of its kind. */
function nameOf(line: string): string {
  const sdp = /^[a-z]=(?:[a-z0-9-]+(?::\d+)?)?/i.exec(line);
  if (sdp) return line.startsWith("a=") ? sdp[0] : line.slice(0, 2);
  const header = /^([A-Za-z0-9-]+)\s*:/.exec(line);
  if (header) return header[1]!.toLowerCase();
  return line.includes("SIP/2.0") ? "start line" : line;
}

/** The part of each line that differs: [from, to) in either. Nothing differs where from equals to. */
export function inside(left: string, right: string): { left: [number, number]; right: [number, number] } {
  const shortest = Math.min(left.length, right.length);
  let head = 0;
  while (head < shortest && left[head] === right[head]) head += 1;
  let tail = 0;
  while (tail < shortest - head && left[left.length - 1 - tail] === right[right.length - 1 - tail]) tail += 1;
  return { left: [head, left.length - tail], right: [head, right.length - tail] };
}
