// Aliases as people paste them: "10.1.0.0/16, access network", also with tabs, semicolons or spaces between.

import type { Alias } from "../../api/types";

export function parseAliases(text: string): { aliases: Alias[]; faults: string[] } {
  const aliases: Alias[] = [];
  const faults: string[] = [];
  text.split("\n").forEach((line, i) => {
    if (line.trim() === "" || line.trim().startsWith("#")) return;
    const parts = /^\s*"?([0-9A-Fa-f.:]+(?:\/\d{1,3})?)"?\s*[,;\t ]\s*"?(.*?)"?\s*$/.exec(line);
    if (parts?.[1] && parts[2]) aliases.push({ match: parts[1], name: parts[2] });
    else faults.push(`Line ${i + 1} is not an address or network and a name: ${line.trim()}`);
  });
  return { aliases, faults };
}
