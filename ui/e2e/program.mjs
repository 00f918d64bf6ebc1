// Starts what is tested: the program, showing a simulated capture in a folder of its own, and a browser.
// TRUNKLINE_BIN is the program, CHROMIUM the browser (else what Debian installs).

import { execFileSync, spawn } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { busyCapture } from "./busy.mjs";

export const UI = join(dirname(fileURLToPath(import.meta.url)), "..");

/** Of the simulated world: enough calls that every page has something, few enough that it takes seconds. */
const SIM = ["sim", "--seed", "7", "--calls", "120", "--rate", "1", "--faults", "0.3"];
/** Milliseconds in which the program must have read the capture and printed its link. */
const START_MS = 120_000;

const program = process.env.TRUNKLINE_BIN ?? "";
export const browserPath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path)) ?? "";

/**
 * Why the tests cannot run here; false if they can.
 * @returns {string | false}
 */
export function missing() {
  if (program === "") return "TRUNKLINE_BIN does not name the program: TRUNKLINE_BIN=target/release/trunkline npm run e2e";
  if (!isProgram(program)) return `TRUNKLINE_BIN: ${program} cannot be run`;
  if (browserPath === "") return "there is no Chromium: apt-get install chromium, or set CHROMIUM";
  return false;
}

/** @param {string} path */
export function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Output of a command of the program.
 * @param {string[]} args
 */
export const run = (...args) => execFileSync(program, args, { encoding: "utf8" });

/**
 * What runs while the tests do.
 * @typedef {{
 *   base: string, link: string, folder: string, data: string,
 *   browser: import("playwright-core").Browser, stop: () => Promise<void>,
 * }} World
 */

/** @returns {Promise<World>} */
export async function start() {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-e2e-"));
  const busy = join(folder, "busy.pcap");
  writeFileSync(busy, busyCapture());
  return opened(folder, busy);
}

/**
 * A simulated capture as `trunkline open` shows it.
 * @param {string} folder
 * @param {...string} others
 */
function opened(folder, ...others) {
  const capture = join(folder, "simulated.pcap");
  run(...SIM, "--write", capture);
  return serve(["open", capture, ...others, "--listen", "127.0.0.1:0", "--data", join(folder, "data")], folder);
}

/**
 * A simulated world that goes on.
 * @returns {Promise<World>}
 */
export const demo = () => serve(["demo", "--listen", "127.0.0.1:0"], mkdtempSync(join(tmpdir(), "trunkline-e2e-")));

/**
 * The capture alone, and a charging node that can be started beside it (the demo has one of its own).
 * @returns {Promise<World & { charging: () => Promise<{ address: string, end: () => Promise<void> }>, begin: (...args: string[]) => import("node:child_process").ChildProcess }>}
 */
export async function till() {
  const world = await opened(mkdtempSync(join(tmpdir(), "trunkline-e2e-")));
  const begin = (/** @type {string[]} */ ...args) => spawn(program, args, { stdio: ["ignore", "ignore", "pipe"] });
  const charging = async () => {
    const node = begin("charge", "serve", "--data", world.data, "--host", "ocs.example.org", "--realm", "example.org", "--listen", "127.0.0.1:0", "--threads", "1");
    const address = await printed(node, /Diameter over TCP at (\S+)/);
    const end = async () => {
      const gone = new Promise((resolve) => node.once("exit", resolve));
      node.kill("SIGTERM");
      await gone;
    };
    return { address, end };
  };
  return { ...world, charging, begin };
}

/**
 * A data folder as `trunkline web` serves it, with a configuration and files beside it.
 * @param {string} configuration
 * @param {Record<string, string>} files
 * @returns {Promise<World>}
 */
export async function house(configuration, files) {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-e2e-"));
  mkdirSync(join(folder, "data"));
  const toml = join(folder, "trunkline.toml");
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  writeFileSync(toml, configuration.replaceAll("FOLDER", folder));
  return serve(["web", "-c", toml, "--data", join(folder, "data"), "--listen", "127.0.0.1:0"], folder);
}

/**
 * @param {string[]} args
 * @param {string} folder
 * @returns {Promise<World>}
 */
async function serve(args, folder) {
  const served = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  const link = await printedLink(served);
  const browser = await chromium.launch({
    executablePath: browserPath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  const stop = async () => {
    await browser.close();
    const gone = new Promise((resolve) => served.once("exit", resolve));
    served.kill("SIGINT");
    await gone;
    rmSync(folder, { recursive: true, force: true });
  };
  return { base: new URL(link).origin, link, folder, data: join(folder, "data"), browser, stop };
}

/**
 * The one-time link that the program prints once it serves.
 * @param {import("node:child_process").ChildProcess} served
 * @returns {Promise<string>}
 */
function printedLink(served) {
  return printed(served, /(https?:\/\/\S+\/link#\S+)/);
}

/**
 * What a program prints once it serves.
 * @param {import("node:child_process").ChildProcess} served
 * @param {RegExp} wanted
 * @returns {Promise<string>}
 */
function printed(served, wanted) {
  return new Promise((resolve, reject) => {
    /** @type {string[]} */
    const said = [];
    const give = (/** @type {string} */ why) => reject(new Error(`${why}. It said:\n${said.join("\n")}`));
    const timer = setTimeout(() => give(`it did not serve within ${START_MS / 1000} s`), START_MS);
    served.once("exit", (code) => give(`the program ended with ${code}`));
    for (const stream of [served.stdout, served.stderr]) {
      if (!stream) continue;
      createInterface({ input: stream }).on("line", (line) => {
        said.push(line);
        const found = wanted.exec(line);
        if (!found) return;
        clearTimeout(timer);
        resolve(String(found[1]));
      });
    }
  });
}

/**
 * A fresh browser with nobody signed in. What goes wrong on the page fails the test that asks for `faults`.
 * @param {World} world
 * @param {{ dark?: boolean, phone?: boolean, width?: number, height?: number, state?: unknown }} [options]
 */
export async function page(world, options = {}) {
  const size = options.phone ? { width: 390, height: 844 } : { width: options.width ?? 1440, height: options.height ?? 900 };
  const context = await world.browser.newContext({
    viewport: size,
    colorScheme: options.dark ? "dark" : "light",
    hasTouch: options.phone ?? false,
    isMobile: options.phone ?? false,
    timezoneId: "Europe/Berlin",
    acceptDownloads: true,
    baseURL: world.base,
    ...(options.state ? { storageState: /** @type {never} */ (options.state) } : {}),
  });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  /** @type {string[]} */
  const faults = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  return { page, context, faults };
}
