// What a browser must load before a page shows: of the built pages, compressed by gzip.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { UI } from "./program.mjs";

const FIRST_LOAD_MAX = 150 * 1024;
const ASSETS = join(UI, "dist", "assets");

/** The pages that are opened first, with what they load besides their own chunk as soon as they show. */
const FIRST = { now: [], calls: [], call: ["uPlot"], packets: [] };

export function sizeTests() {
  test("the first load is at most 150 KiB compressed", { skip: existsSync(ASSETS) ? false : "ui/dist is not built: npm run build" }, () => {
    const assets = readdirSync(ASSETS);
    const chunk = (/** @type {string} */ name) => assets.find((file) => file.startsWith(`${name}-`) && file.endsWith(".js")) ?? assets.find((file) => file.startsWith(name) && file.endsWith(".js"));
    // All styles of all pages: more than any one page asks for.
    const styles = assets.filter((file) => file.endsWith(".css"));
    for (const [page, more] of Object.entries(FIRST)) {
      const scripts = new Set();
      for (const name of ["index", page, ...more]) {
        const file = chunk(name);
        assert.ok(file, `there is a chunk of ${name}`);
        follow(file, scripts);
      }
      const size = [...scripts, ...styles].reduce((sum, file) => sum + gzipSync(readFileSync(join(ASSETS, file))).length, 0);
      console.log(`# first load of ${page}: ${(size / 1024).toFixed(0)} KiB`);
      assert.ok(size <= FIRST_LOAD_MAX, `${page} loads ${size} octets`);
    }
  });
}

/**
 * Adds a script and what it imports at once.
 * @param {string} file
 * @param {Set<unknown>} found
 */
function follow(file, found) {
  if (found.has(file)) return;
  found.add(file);
  const text = readFileSync(join(ASSETS, file), "utf8");
  for (const match of text.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)) follow(String(match[1]), found);
}
