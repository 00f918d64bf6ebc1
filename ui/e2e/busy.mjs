// A call with much to show, as a capture: an SBC between a phone and a gateway, which passes every message on; two
// challenges, hold and resume, refreshes of the session, digits, a retransmission; four streams, one of which loses
// packets while its way is longer for a while. 60 messages in 48 seconds.

const PHONE = { ip: [10, 1, 4, 27], port: 5060 };
const SBC = { ip: [10, 1, 0, 10], port: 5060 };
const GATEWAY = { ip: [10, 2, 0, 5], port: 5060 };
/** Names for the hosts, as a user would give them. */
export const BUSY_ALIASES = [
  { network: "10.1.4.0/24", name: "Phones floor 4" },
  { network: "10.1.0.10", name: "SBC inside" },
  { network: "10.2.0.5", name: "Carrier gateway" },
];
export const BUSY_CALL_ID = "busy-4b1c77@10.1.4.27";
/** When it begins: among the calls of the simulated world. */
const START_MS = Date.UTC(2026, 0, 1, 0, 0, 20);
const [FROM, TO] = ["+442079460017", "+4930901820"];

/** @typedef {{ ip: number[], port: number }} Host */
/** @typedef {{ at: number, octets: Buffer }} Packet */

const text = (/** @type {Host} */ host) => host.ip.join(".");

/** Ethernet, IPv4, UDP; checksums that nobody asks for are left out. */
function datagram(/** @type {Host} */ from, /** @type {Host} */ to, /** @type {Buffer} */ payload) {
  const head = Buffer.alloc(42);
  head.writeUInt8(2, 5);
  head.writeUInt8(1, 11);
  head.writeUInt16BE(0x0800, 12);
  head.writeUInt8(0x45, 14);
  head.writeUInt16BE(28 + payload.length, 16);
  head.writeUInt8(64, 22);
  head.writeUInt8(17, 23);
  Buffer.from(from.ip).copy(head, 26);
  Buffer.from(to.ip).copy(head, 30);
  let sum = 0;
  for (let at = 14; at < 34; at += 2) sum += head.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  head.writeUInt16BE(~sum & 0xffff, 24);
  head.writeUInt16BE(from.port, 34);
  head.writeUInt16BE(to.port, 36);
  head.writeUInt16BE(8 + payload.length, 38);
  return Buffer.concat([head, payload]);
}

const sdp = (/** @type {Host} */ at, /** @type {number} */ port, direction = "sendrecv") =>
  [`v=0`, `o=- 1 1 IN IP4 ${text(at)}`, "s=-", `c=IN IP4 ${text(at)}`, "t=0 0", `m=audio ${port} RTP/AVP 8 101`, "a=rtpmap:8 PCMA/8000", "a=rtpmap:101 telephone-event/8000", `a=${direction}`, ""].join("\r\n");

/** @param {{ first: string, from: Host, to: Host, cseq: string, up?: boolean, tagged?: boolean, more?: string[], body?: string, kind?: string }} m */
function message(m) {
  const [caller, callee] = [`<sip:${FROM}@example.com>;tag=ph27`, `<sip:${TO}@example.com>${m.tagged ? ";tag=gw5" : ""}`];
  const body = m.body ?? "";
  const lines = [
    m.first,
    `Via: SIP/2.0/UDP ${text(m.from)}:5060;branch=z9hG4bK${m.cseq.replace(" ", "")}${m.from.ip.join("")}`,
    "Max-Forwards: 70",
    `From: ${m.up ? callee : caller}`,
    `To: ${m.up ? caller : callee}`,
    `Call-ID: ${BUSY_CALL_ID}`,
    `CSeq: ${m.cseq}`,
    `Contact: <sip:${text(m.from)}:5060>`,
    "User-Agent: Trunkline browser test",
    ...(m.more ?? []),
    ...(body ? [`Content-Type: ${m.kind ?? "application/sdp"}`] : []),
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`);
}

/** The messages by time: what one side sends, the SBC passes on a few milliseconds later. */
function signalling() {
  /** @type {Packet[]} */
  const out = [];
  const uri = `sip:${TO}@example.com`;
  const send = (/** @type {number} */ at, /** @type {Host} */ from, /** @type {Host} */ to, /** @type {Omit<Parameters<typeof message>[0], "from" | "to">} */ m) =>
    void out.push({ at, octets: datagram(from, to, message({ ...m, from, to })) });
  /** From the phone to the gateway, or the other way, through the SBC. */
  const through = (/** @type {number} */ at, /** @type {boolean} */ fromGateway, /** @type {Omit<Parameters<typeof message>[0], "from" | "to">} */ m, body = ["", ""]) => {
    const [near, far] = fromGateway ? [GATEWAY, PHONE] : [PHONE, GATEWAY];
    send(at, near, SBC, { ...m, body: body[0] ?? "" });
    send(at + 6, SBC, far, { ...m, body: body[1] ?? "" });
  };
  const challenge = (/** @type {number} */ at, /** @type {Host} */ by, /** @type {Host} */ to, /** @type {string} */ cseq, /** @type {string} */ code) => {
    send(at, by, to, { first: `SIP/2.0 ${code}`, cseq, tagged: true, more: ['Proxy-Authenticate: Digest realm="example.com", nonce="f1e2d3"'] });
    send(at + 9, to, by, { first: `ACK ${uri} SIP/2.0`, cseq: cseq.replace("INVITE", "ACK"), tagged: true });
  };
  const answered = (/** @type {number} */ at, /** @type {string} */ request, /** @type {string} */ cseq, /** @type {boolean} */ fromGateway, /** @type {string} */ answer = "200 OK", kind = "", body = "") => {
    through(at, fromGateway, { first: `${request} ${uri} SIP/2.0`, cseq, tagged: true, up: fromGateway, ...(kind ? { kind } : {}) }, [body, body]);
    through(at + 40, !fromGateway, { first: `SIP/2.0 ${answer}`, cseq, tagged: true, up: fromGateway });
  };
  // The phone is challenged, then the SBC is by the gateway.
  send(0, PHONE, SBC, { first: `INVITE ${uri} SIP/2.0`, cseq: "1 INVITE", body: sdp(PHONE, 16500) });
  challenge(12, SBC, PHONE, "1 INVITE", "407 Proxy Authentication Required");
  send(60, PHONE, SBC, { first: `INVITE ${uri} SIP/2.0`, cseq: "2 INVITE", body: sdp(PHONE, 16500) });
  send(64, SBC, PHONE, { first: "SIP/2.0 100 Trying", cseq: "2 INVITE" });
  send(70, SBC, GATEWAY, { first: `INVITE ${uri} SIP/2.0`, cseq: "2 INVITE", body: sdp(SBC, 30100) });
  // Nothing comes back: it is sent again.
  send(570, SBC, GATEWAY, { first: `INVITE ${uri} SIP/2.0`, cseq: "2 INVITE", body: sdp(SBC, 30100) });
  send(598, GATEWAY, SBC, { first: "SIP/2.0 100 Trying", cseq: "2 INVITE" });
  through(1400, true, { first: "SIP/2.0 180 Ringing", cseq: "2 INVITE", tagged: true });
  through(1900, true, { first: "SIP/2.0 183 Session Progress", cseq: "2 INVITE", tagged: true }, [sdp(GATEWAY, 40200), sdp(SBC, 30000)]);
  answered(2000, "PRACK", "3 PRACK", false);
  through(4200, true, { first: "SIP/2.0 200 OK", cseq: "2 INVITE", tagged: true }, [sdp(GATEWAY, 40200), sdp(SBC, 30000)]);
  through(4260, false, { first: `ACK ${uri} SIP/2.0`, cseq: "2 ACK", tagged: true });
  // Digits to a menu.
  for (const [n, at] of [9000, 9800, 10_600, 11_400].entries()) answered(at, "INFO", `${4 + n} INFO`, false, "200 OK", "application/dtmf-relay", `Signal=${n + 1}\r\nDuration=160\r\n`);
  // Hold, resume.
  for (const [cseq, at, direction] of /** @type {const} */ ([[8, 16_000, "sendonly"], [9, 22_000, "sendrecv"]])) {
    through(at, false, { first: `INVITE ${uri} SIP/2.0`, cseq: `${cseq} INVITE`, tagged: true }, [sdp(PHONE, 16500, direction), sdp(SBC, 30100, direction)]);
    through(at + 60, true, { first: "SIP/2.0 200 OK", cseq: `${cseq} INVITE`, tagged: true }, [sdp(GATEWAY, 40200), sdp(SBC, 30000)]);
    through(at + 120, false, { first: `ACK ${uri} SIP/2.0`, cseq: `${cseq} ACK`, tagged: true });
  }
  // The gateway keeps the session fresh.
  answered(31_000, "UPDATE", "101 UPDATE", true);
  answered(40_000, "OPTIONS", "102 OPTIONS", true);
  answered(48_000, "BYE", "103 BYE", true);
  return out.sort((a, b) => a.at - b.at);
}

/** PCMA, 20 ms a packet. `way` says how long the packet of a time needs, milliseconds; undefined loses it. */
function stream(/** @type {number} */ ssrc, /** @type {Host} */ from, /** @type {Host} */ to, /** @type {(ms: number, n: number) => number | undefined} */ way) {
  /** @type {Packet[]} */
  const out = [];
  for (let n = 0; n * 20 < 43_700; n += 1) {
    const at = 4300 + n * 20;
    const delay = way(at, n);
    if (delay === undefined) continue;
    const rtp = Buffer.alloc(12 + 160, 0xd5);
    rtp.writeUInt8(0x80, 0);
    rtp.writeUInt8(n === 0 ? 0x88 : 8, 1);
    rtp.writeUInt16BE(n & 0xffff, 2);
    rtp.writeUInt32BE(n * 160, 4);
    rtp.writeUInt32BE(ssrc, 8);
    out.push({ at: at + delay, octets: datagram(from, to, rtp) });
  }
  return out;
}

/** A few tenths of a millisecond that look random and are the same each time. */
const shake = (/** @type {number} */ n) => ((n * 7919) % 97) / 200;
const port = (/** @type {Host} */ host, /** @type {number} */ port) => ({ ip: host.ip, port });

/** The capture, as pcap. */
export function busyCapture() {
  const steady = (/** @type {number} */ _, /** @type {number} */ n) => shake(n);
  // From 24 s to 34 s the way is 45 ms longer, uneven, and loses one packet in eleven.
  const troubled = (/** @type {number} */ ms, /** @type {number} */ n) => (ms < 24_000 || ms > 34_000 ? shake(n) : n % 11 === 5 ? undefined : 45 + ((n * 31) % 19));
  const packets = [
    ...signalling(),
    ...stream(0x1a2b0001, port(PHONE, 16500), port(SBC, 30000), steady),
    ...stream(0x1a2b0002, port(SBC, 30000), port(PHONE, 16500), (ms, n) => { const way = troubled(ms, n); return way === undefined ? undefined : way + 1; }),
    ...stream(0x1a2b0003, port(SBC, 30100), port(GATEWAY, 40200), steady),
    ...stream(0x1a2b0004, port(GATEWAY, 40200), port(SBC, 30100), troubled),
  ].sort((a, b) => a.at - b.at);
  const head = Buffer.alloc(24);
  head.writeUInt32LE(0xa1b2c3d4, 0);
  head.writeUInt16LE(2, 4);
  head.writeUInt16LE(4, 6);
  head.writeUInt32LE(65_535, 16);
  head.writeUInt32LE(1, 20);
  const records = packets.flatMap(({ at, octets }) => {
    const us = Math.round(at * 1000);
    const record = Buffer.alloc(16);
    record.writeUInt32LE(START_MS / 1000 + Math.floor(us / 1e6), 0);
    record.writeUInt32LE(us % 1e6, 4);
    record.writeUInt32LE(octets.length, 8);
    record.writeUInt32LE(octets.length, 12);
    return [record, octets];
  });
  return Buffer.concat([head, ...records]);
}
