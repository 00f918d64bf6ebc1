// What a line of SDP says, in words (RFC 8866 and the RFCs of its attributes).

/** Static payload types, RFC 3551 tables 4 and 5. */
const STATIC: Record<string, string> = {
  "0": "PCMU", "3": "GSM", "4": "G723", "5": "DVI4 8 kHz", "6": "DVI4 16 kHz", "7": "LPC", "8": "PCMA", "9": "G722", "10": "L16 stereo", "11": "L16",
  "12": "QCELP", "13": "comfort noise", "14": "MPA", "15": "G728", "18": "G729", "26": "JPEG", "31": "H261", "34": "H263",
};

const ATTRIBUTES: Record<string, string> = {
  sendrecv: "Media flows both ways.",
  sendonly: "It sends media but does not receive: the usual form of hold.",
  recvonly: "It only receives media.",
  inactive: "No media either way: the call is on hold.",
  ptime: "Preferred length of audio per packet, ms.",
  maxptime: "Maximum length of audio per packet, ms.",
  rtcp: "Port for RTCP if it is not the media port + 1 (RFC 3605).",
  "rtcp-mux": "RTP and RTCP share one port (RFC 5761).",
  "rtcp-fb": "RTCP feedback that it supports (RFC 4585).",
  "rtcp-xr": "RTCP extended reports that it sends (RFC 3611).",
  crypto: "A key for SRTP, in the clear in this message (RFC 4568).",
  fingerprint: "Hash of the certificate for DTLS-SRTP (RFC 8122).",
  setup: "Which side starts the DTLS handshake: active, passive or actpass (RFC 4145).",
  candidate: "A candidate address for media (ICE, RFC 8839).",
  "ice-ufrag": "User name for ICE's checks (RFC 8839).",
  "ice-pwd": "Password for ICE's checks (RFC 8839).",
  "ice-lite": "It answers ICE's checks but makes none.",
  ssrc: "The RTP source (SSRC) that it will use (RFC 5576).",
  mid: "Name of this medium, for grouping (RFC 5888).",
  group: "Media that belong together (RFC 5888).",
  silenceSupp: "Silence suppression, on or off.",
  T38FaxVersion: "Fax over IP, T.38: its version.",
  T38MaxBitRate: "Fax over IP, T.38: highest rate, bit/s.",
  T38FaxUdpEC: "Fax over IP, T.38: error correction.",
  label: "A label for another protocol to name this medium by (RFC 4574).",
  tool: "The program that wrote this SDP.",
  charset: "Character set of the texts.",
};

const TYPES: Record<string, string> = {
  v: "Version of SDP: always 0.",
  s: "Name of the session; telephony has none and writes - or anything.",
  i: "Information about the session.",
  u: "URL of a description.",
  e: "An e-mail address.",
  p: "A telephone number.",
  t: "Start and end of the session; 0 0 means now, without end.",
  r: "Repeat times.",
  z: "Time zones.",
  k: "An encryption key (obsolete).",
};

/** What the line says; `all` are the lines of the same SDP. None if it is not known. */
export function explain(line: string, all: string[]): string | undefined {
  const [, type = "", value = ""] = /^([a-z])=(.*)$/.exec(line) ?? [];
  switch (type) {
    case "o":
      return origin(value);
    case "c":
      return connection(value);
    case "m":
      return medium(value, all);
    case "b":
      return bandwidth(value);
    case "a":
      return attribute(value, all);
    default:
      return TYPES[type];
  }
}

function origin(value: string): string {
  const [user = "", id = "", version = "", , , address = ""] = value.split(" ");
  return `Made by ${user === "-" ? "a nameless user" : user} at ${address}: session ${id}, version ${version}. A new offer raises the version by one.`;
}

function connection(value: string): string {
  const address = value.split(" ")[2] ?? "";
  if (address === "0.0.0.0" || address === "::") return "No address: do not send media. This is the old form of hold.";
  return `Send media to ${address}${isPrivate(address) ? ", a private address that is not reachable from outside its network" : ""}.`;
}

/** RFC 1918, 6598, 4193 and link-local. */
export function isPrivate(address: string): boolean {
  return /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|169\.254\.|f[cd]|fe[89ab])/i.test(address);
}

function medium(value: string, all: string[]): string {
  const [kind = "", port = "", protocol = "", ...formats] = value.split(" ");
  if (port === "0") return `${kind}: rejected or ended (port 0).`;
  const names = formats.map((format) => nameOf(format, all));
  const secure = protocol.includes("SAVP") ? ", encrypted (SRTP)" : "";
  return `${kind} on port ${port}${secure}, in order of preference: ${names.join(", ")}.`;
}

function nameOf(format: string, all: string[]): string {
  const mapped = all.map((line) => /^a=rtpmap:(\d+) ([^/\s]+)(?:\/(\d+))?/.exec(line)).find((found) => found?.[1] === format);
  if (mapped) return `${mapped[2]} (${format})`;
  return STATIC[format] ? `${STATIC[format]} (${format})` : format;
}

function bandwidth(value: string): string {
  const [kind = "", rate = ""] = value.split(":");
  const words: Record<string, string> = { AS: "kbit/s for the media with headers", CT: "kbit/s for all media", TIAS: "bit/s for the media without headers", RS: "bit/s for RTCP of senders", RR: "bit/s for RTCP of receivers" };
  return `Bandwidth: at most ${rate} ${words[kind] ?? kind}.`;
}

function attribute(value: string, all: string[]): string | undefined {
  const [name = "", ...rest] = value.split(":");
  const argument = rest.join(":");
  if (name === "rtpmap") return mapping(argument);
  if (name === "fmtp") return `Parameters of ${nameOf(argument.split(" ")[0] ?? "", all)}: ${argument.split(" ").slice(1).join(" ")}.`;
  return ATTRIBUTES[name];
}

function mapping(argument: string): string {
  const [type = "", codec = ""] = argument.split(" ");
  const [name = "", clock = "", channels] = codec.split("/");
  const extra: Record<string, string> = {
    "telephone-event": " It carries DTMF digits (RFC 4733).",
    CN: " Comfort noise during silence (RFC 3389).",
    G722: " Its clock rate is written as 8000, although it samples at 16 kHz (RFC 3551 section 4.5.2).",
  };
  return `Payload type ${type} is ${name} with a clock of ${clock} Hz${channels && channels !== "1" ? `, ${channels} channels` : ""}.${extra[name] ?? ""}`;
}
