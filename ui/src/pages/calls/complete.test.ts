import { describe, expect, it } from "vitest";
import type { FilterField } from "../../api/types";
import { complete, taken } from "./complete";

const field = (name: string, kind: string, help: string, examples: string[], values: string[] | null = null, aliases: string[] = []): FilterField => ({ name, kind, ordered: false, help, examples, values, aliases });
const FIELDS = [
  field("caller", "text", "user part of From", ["caller:+4420*"], null, ["from"]),
  field("callee", "text", "user part of To", ["callee:*1234"], null, ["to"]),
  field("state", "name", "how the call ended", ["state:completed"], ["rejected", "completed", "redirected"]),
  field("code", "code", "status code of the deciding response", ["code:503"], null, ["status"]),
  field("mos", "score", "lowest G.107 score", ["mos<3.5"]),
  field("codec", "text", "codec of a stream", ["codec:PCMA", "codec:AMR*"]),
];
const seen = (name: string): { value: string; count: number }[] => (name === "codec" ? [{ value: "opus", count: 7 }, { value: "a b", count: 1 }] : []);
const at = (marked: string): string[] => {
  const caret = marked.indexOf("|");
  return complete(marked.replace("|", ""), caret, FIELDS, seen).offers.map((offer) => offer.text);
};

describe("what may follow", () => {
  it("is a field at the beginning and behind words that join", () => {
    expect(at("|")).toEqual(["caller:", "callee:", "state:", "code", "mos", "codec:", "not "]);
    expect(at("ca|")).toEqual(["caller:", "callee:"]);
    expect(at("from|")[0]).toBe("from:");
    expect(at("state:rejected and c|")).toEqual(["caller:", "callee:", "code", "codec:"]);
    expect(at("ended|")).toEqual(["state:"]);
  });

  it("is a word that joins, behind a finished test", () => {
    expect(at("state:rejected |").slice(0, 3)).toEqual(["and ", "or ", "not "]);
    expect(at("state:rejected a|")).toEqual(["and "]);
    expect(at("(state:rejected) |").slice(0, 2)).toEqual(["and ", "or "]);
  });

  it("is an operator behind a whole name", () => {
    expect(at("mos|")).toEqual(["mos<", "mos<=", "mos>", "mos>=", "mos"]);
    expect(at("caller|").slice(0, 2)).toEqual(["caller:", "caller!="]);
  });

  it("is a value behind an operator: those seen, those there are, those of examples", () => {
    expect(at("state:|")).toEqual(["rejected ", "completed ", "redirected "]);
    expect(at("state:re|")).toEqual(["rejected ", "redirected "]);
    expect(at("state: |")).toEqual(["rejected ", "completed ", "redirected "]);
    expect(at("codec:|")).toEqual(["opus ", '"a b" ', "PCMA ", "AMR* "]);
    expect(at("code:5|")).toEqual(["5xx ", "500 ", "503 "].concat(at("code:5|").slice(3)));
    expect(at("state:rejected|")).toEqual([]);
    expect(at("nothing:|")).toEqual([]);
  });

  it("takes the place of what was typed", () => {
    const text = "sta and mos<3";
    const completion = complete(text, 3, FIELDS, seen);
    expect(taken(text, completion, completion.offers[0]!)).toEqual({ text: "state: and mos<3", caret: 6 });
    const value = complete("state:re and mos<3", 8, FIELDS, seen);
    expect(taken("state:re and mos<3", value, value.offers[0]!)).toEqual({ text: "state:rejected and mos<3", caret: 15 });
  });
});
