// A raw SIP message as coloured pieces. It never refuses anything: what it does not know stays plain text, and the
// pieces joined give exactly what came in.

export type Kind = "plain" | "method" | "status" | "name" | "uri" | "tag" | "branch" | "id" | "number" | "text" | "param" | "sdp-type" | "sdp-name";

export interface Token {
  kind: Kind;
  text: string;
}

export interface Line {
  /** "start" line, "header", "blank", "sdp" or other "body". */
  part: "start" | "header" | "blank" | "sdp" | "body";
  text: string;
  tokens: Token[];
}

/** Lines highlighted at most; of what follows the text stays plain. */
export const LINES_MAX = 2000;

/** Compact forms, RFC 3261 section 7.3.3 and its extensions. */
const COMPACT: Record<string, string> = {
  a: "accept-contact", b: "referred-by", c: "content-type", d: "request-disposition", e: "content-encoding", f: "from", i: "call-id",
  k: "supported", l: "content-length", m: "contact", o: "event", r: "refer-to", s: "subject", t: "to", u: "allow-events", v: "via", x: "session-expires",
};

/** What a compact header name stands for, in lower case; else the name in lower case. */
export const longName = (name: string): string => COMPACT[name.toLowerCase()] ?? name.toLowerCase();

export function linesOf(message: string): Line[] {
  const texts = message.split(/\r\n|\n|\r/);
  if (texts.at(-1) === "") texts.pop();
  let part: Line["part"] = "start";
  let isSdp = false;
  let before = "";
  return texts.map((text, at) => {
    const line = (kind: Line["part"], tokens: Token[]): Line => ({ part: kind, text, tokens: at < LINES_MAX ? tokens : [plain(text)] });
    if (part === "start") {
      part = "header";
      return line("start", startLine(text));
    }
    if (part === "header" && text !== "") {
      // RFC 3261 section 7.3.1: a line that begins with white space goes on with the header before.
      const folded = /^[ \t]/.test(text);
      const header = headerLine(text, folded ? before : undefined);
      if (!folded) before = header.name;
      if (header.name === "content-type" && /application\/sdp/i.test(text)) isSdp = true;
      return line("header", header.tokens);
    }
    if (part === "header") {
      part = isSdp ? "sdp" : "body";
      return line("blank", []);
    }
    // A body of several parts has its own headers and rules: SDP is told by its form there.
    if (part === "sdp" || /^[a-z]=\S/.test(text)) return line("sdp", sdpLine(text));
    return line("body", [plain(text)]);
  });
}

const plain = (text: string): Token => ({ kind: "plain", text });

function startLine(text: string): Token[] {
  const response = /^(SIP\/2\.0)( +)(\d{3})( ?)(.*)$/i.exec(text);
  if (response) {
    const [, version = "", gap = "", status = "", space = "", reason = ""] = response;
    return joined([plain(version + gap), { kind: "status", text: status }, plain(space), { kind: "status", text: reason }]);
  }
  const request = /^([A-Z]+)( +)(\S+)(.*)$/.exec(text);
  if (!request) return [plain(text)];
  const [, method = "", gap = "", uri = "", rest = ""] = request;
  return joined([{ kind: "method", text: method }, plain(gap), { kind: "uri", text: uri }, plain(rest)]);
}

function headerLine(text: string, continued: string | undefined): { name: string; tokens: Token[] } {
  if (continued !== undefined) return { name: continued, tokens: valueOf(continued, text) };
  const header = /^([^\s:]+)(\s*:)(.*)$/.exec(text);
  if (!header) return { name: "", tokens: [plain(text)] };
  const [, written = "", colon = "", value = ""] = header;
  const name = longName(written);
  return { name, tokens: joined([{ kind: "name", text: written }, plain(colon), ...valueOf(name, value)]) };
}

function valueOf(name: string, value: string): Token[] {
  if (name === "call-id") return spaced(value, "id");
  if (name === "cseq") {
    const parts = /^(\s*)(\d+)(\s+)(.*)$/.exec(value);
    if (parts) return joined([plain(parts[1]!), { kind: "number", text: parts[2]! }, plain(parts[3]!), { kind: "method", text: parts[4]! }]);
  }
  return pieces(value);
}

function spaced(value: string, kind: Kind): Token[] {
  const inner = value.trim();
  const at = value.indexOf(inner);
  return joined([plain(value.slice(0, at)), { kind, text: inner }, plain(value.slice(at + inner.length))]);
}

// Quoted texts, URIs, parameters and numbers; everything between them is plain.
const PIECE = /("(?:[^"\\]|\\.)*"?)|((?:sips?|tel|urn):[^\s<>;,"]*(?:;[^\s<>,"]*(?=>))?)|(;\s*)([A-Za-z0-9-]+)(?:(\s*=\s*)("(?:[^"\\]|\\.)*"?|[^\s;,>"]*))?|(?<![\w.:@-])(\d+)(?![\w.:@-])/g;

function pieces(value: string): Token[] {
  const tokens: Token[] = [];
  let end = 0;
  for (const found of value.matchAll(PIECE)) {
    tokens.push(plain(value.slice(end, found.index)));
    const [whole, quoted, uri, semicolon, param, equals, argument, number] = found;
    if (quoted !== undefined) tokens.push({ kind: "text", text: quoted });
    else if (uri !== undefined) tokens.push({ kind: "uri", text: uri });
    else if (number !== undefined) tokens.push({ kind: "number", text: number });
    else tokens.push(plain(semicolon ?? ""), { kind: "param", text: param ?? "" }, plain(equals ?? ""), { kind: kindOfParam(param ?? ""), text: argument ?? "" });
    end = found.index + whole.length;
  }
  tokens.push(plain(value.slice(end)));
  return joined(tokens);
}

function kindOfParam(name: string): Kind {
  const known = name.toLowerCase();
  if (known === "tag" || known === "from-tag" || known === "to-tag") return "tag";
  return known === "branch" ? "branch" : "plain";
}

function sdpLine(text: string): Token[] {
  const parts = /^([a-z]=)(.*)$/.exec(text);
  if (!parts) return [plain(text)];
  const [, type = "", value = ""] = parts;
  const attribute = type === "a=" ? /^([^:\s]+)(:?)(.*)$/.exec(value) : null;
  if (attribute) return joined([{ kind: "sdp-type", text: type }, { kind: "sdp-name", text: attribute[1]! }, plain(attribute[2]!), ...numbers(attribute[3]!)]);
  return joined([{ kind: "sdp-type", text: type }, ...numbers(value)]);
}

function numbers(text: string): Token[] {
  return text.split(/(?<![\w.:-])(\d+)(?![\w.:-])/).map((part, at) => ({ kind: at % 2 ? "number" : "plain", text: part }));
}

/** Without empty pieces, neighbours of one kind in one. */
function joined(tokens: Token[]): Token[] {
  const all: Token[] = [];
  for (const token of tokens) {
    const last = all.at(-1);
    if (token.text === "") continue;
    if (last && last.kind === token.kind) last.text += token.text;
    else all.push({ ...token });
  }
  return all;
}
