// Makes a picture of the documentation smaller: 256 colours in place of all, which for pages is all but the same. Of
// the palette three eighths are the most frequent colours, the rest those farthest from what the palette has already.

import { readFileSync, writeFileSync } from "node:fs";
import { deflateSync, inflateSync } from "node:zlib";

const COLOURS = 256;
const FREQUENT = 96;
/** Kinds of pixels of PNG. */
const [RGB, PALETTE, RGBA] = [2, 3, 6];

/** Rewrites the file, if that makes it smaller. Pages are opaque: alpha is left out. */
export function shrink(/** @type {string} */ path) {
  const octets = readFileSync(path);
  const { head, data } = read(octets);
  const width = head.readUInt32BE(0);
  const height = head.readUInt32BE(4);
  const channels = head[9] === RGB ? 3 : head[9] === RGBA ? 4 : 0;
  if (channels === 0 || head[8] !== 8) throw new Error(`${path}: pixels of another kind`);
  const pixels = unfiltered(inflateSync(data), width, height, channels);
  const { palette, place } = paletteOf(pixels, channels);
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) rows[y * (width + 1) + 1 + x] = place.get(pixels.readUIntBE((y * width + x) * channels, 3)) ?? 0;
  }
  const indexed = Buffer.from(head);
  indexed[9] = PALETTE;
  const colours = Buffer.alloc(palette.length * 3);
  palette.forEach((colour, at) => colours.writeUIntBE(colour, at * 3, 3));
  const small = Buffer.concat([
    octets.subarray(0, 8),
    chunk("IHDR", indexed),
    chunk("PLTE", colours),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
  if (small.length < octets.length) writeFileSync(path, small);
}

/** The head and the compressed rows of a PNG. */
function read(/** @type {Buffer} */ octets) {
  let head = Buffer.alloc(13);
  const data = [];
  for (let at = 8; at < octets.length; ) {
    const length = octets.readUInt32BE(at);
    const body = octets.subarray(at + 8, at + 8 + length);
    const name = octets.toString("latin1", at + 4, at + 8);
    if (name === "IHDR") head = Buffer.from(body);
    if (name === "IDAT") data.push(body);
    at += 12 + length;
  }
  return { head, data: Buffer.concat(data) };
}

/** Rows without the filters of PNG (RFC 2083 section 6). */
function unfiltered(/** @type {Buffer} */ raw, /** @type {number} */ width, /** @type {number} */ height, /** @type {number} */ channels) {
  const line = width * channels;
  const pixels = Buffer.alloc(line * height);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (line + 1)];
    for (let x = 0; x < line; x += 1) {
      const left = x >= channels ? pixels[y * line + x - channels] ?? 0 : 0;
      const up = y > 0 ? pixels[(y - 1) * line + x] ?? 0 : 0;
      const corner = y > 0 && x >= channels ? pixels[(y - 1) * line + x - channels] ?? 0 : 0;
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter ?? 0] ?? 0;
      pixels[y * line + x] = ((raw[y * (line + 1) + 1 + x] ?? 0) + guess) & 255;
    }
  }
  return pixels;
}

function paeth(/** @type {number} */ left, /** @type {number} */ up, /** @type {number} */ corner) {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

/** Up to 256 colours, and for each colour of the picture the place of the nearest of them. */
function paletteOf(/** @type {Buffer} */ pixels, /** @type {number} */ channels) {
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (let at = 0; at < pixels.length; at += channels) {
    const colour = pixels.readUIntBE(at, 3);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const frequent = [...counts].sort((a, b) => b[1] - a[1]);
  const palette = frequent.slice(0, FREQUENT).map(([colour]) => colour);
  const rest = frequent.slice(FREQUENT).map(([colour, count]) => ({ colour, count, far: Math.min(...palette.map((one) => distance(one, colour))) }));
  const weight = (/** @type {typeof rest[number]} */ one) => one.far * Math.sqrt(one.count);
  while (palette.length < COLOURS && rest.length > 0) {
    const next = rest.reduce((most, one) => (weight(one) > weight(most) ? one : most));
    if (next.far === 0) break;
    palette.push(next.colour);
    for (const one of rest) one.far = Math.min(one.far, distance(one.colour, next.colour));
  }
  const place = new Map(frequent.map(([colour]) => [colour, nearest(palette, colour)]));
  return { palette, place };
}

const nearest = (/** @type {number[]} */ palette, /** @type {number} */ colour) => palette.reduce((best, one, at) => (distance(one, colour) < distance(palette[best] ?? 0, colour) ? at : best), 0);

function distance(/** @type {number} */ a, /** @type {number} */ b) {
  const [red, green, blue] = [(a >> 16) - (b >> 16), ((a >> 8) & 255) - ((b >> 8) & 255), (a & 255) - (b & 255)];
  return red * red + green * green + blue * blue;
}

const CRC = Array.from({ length: 256 }, (_, octet) => {
  let crc = octet;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  return crc >>> 0;
});

/** Node 18 has none of its own. */
function crc32(/** @type {Buffer} */ octets) {
  let crc = 0xffffffff;
  for (const octet of octets) crc = (CRC[(crc ^ octet) & 255] ?? 0) ^ (crc >>> 8);
  return ~crc >>> 0;
}

function chunk(/** @type {string} */ name, /** @type {Buffer} */ body) {
  const named = Buffer.concat([Buffer.from(name, "latin1"), body]);
  const out = Buffer.alloc(named.length + 8);
  out.writeUInt32BE(body.length, 0);
  named.copy(out, 4);
  out.writeUInt32BE(crc32(named), named.length + 4);
  return out;
}
