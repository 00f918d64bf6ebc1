// Which browser a session is of, in a few words.

/** The first that fits: most browsers also call themselves what is below them. */
const BROWSERS: [RegExp, string][] = [
  [/Edg(?:A|iOS)?\//, "Edge"],
  [/OPR\//, "Opera"],
  [/(?:Firefox|FxiOS)\//, "Firefox"],
  [/(?:Chrome|Chromium|CriOS)\//, "Chrome"],
  [/Version\/.*Safari\//, "Safari"],
  [/^curl\//, "curl"],
];
const SYSTEMS: [RegExp, string][] = [
  [/Android/, "Android"],
  [/iPhone|iPad|iPod/, "iOS"],
  [/Windows/, "Windows"],
  [/Macintosh|Mac OS X/, "macOS"],
  [/CrOS/, "ChromeOS"],
  [/Linux|X11/, "Linux"],
];

/** "Firefox on Linux"; what is unknown by the beginning of what it calls itself. */
export function browserOf(agent: string): string {
  const of = (all: [RegExp, string][]): string | undefined => all.find(([is]) => is.test(agent))?.[1];
  const [browser, system] = [of(BROWSERS), of(SYSTEMS)];
  if (!browser) return agent === "" ? "unknown" : agent.slice(0, 40);
  return system ? `${browser} on ${system}` : browser;
}
