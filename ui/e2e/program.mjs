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

/** Each second, so that a test sees many of them. */
const EACH_SECOND = `
[data.interface-errors]
title = "Errors and discards of |name|"
table = "interfaces"
profile = "second"
[[data.interface-errors.series]]
name = "discards_in"
kind = "counter"
read = ["1.3.6.1.2.1.2.2.1.13"]
[[data.interface-errors.series]]
name = "discards_out"
kind = "counter"
read = ["1.3.6.1.2.1.2.2.1.19"]
[[data.interface-errors.series]]
name = "errors_in"
kind = "counter"
read = ["1.3.6.1.2.1.2.2.1.14"]
[[data.interface-errors.series]]
name = "errors_out"
kind = "counter"
read = ["1.3.6.1.2.1.2.2.1.20"]
[data.interface-traffic]
title = "Traffic of |name|"
table = "interfaces"
profile = "second"
[[data.interface-traffic.series]]
name = "traffic_in"
kind = "counter"
read = ["1.3.6.1.2.1.31.1.1.1.6"]
[[data.interface-traffic.series]]
name = "traffic_out"
kind = "counter"
read = ["1.3.6.1.2.1.31.1.1.1.10"]
[device.net-snmp]
title = "Those of the farm"
matches = ["1.3.6.1.4.1.8072.3.2"]
graphs = ["interface-bits", "interface-errors"]
`;
/** A seed of the farm of which no interface of the devices loses anything by itself. */
const QUIET = "170";
/** Seconds that devices are polled before the call whose way is shown. */
const POLLED_S = 6;

/**
 * A simulated call over simulated devices that are polled each second: caller and callee are behind two of them, and the
 * first one drops packets at its interface to the core.
 * @returns {Promise<World & { call: string }>}
 */
export async function network() {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-e2e-"));
  const data = join(folder, "data");
  mkdirSync(join(data, "graphs", "templates"), { recursive: true });
  writeFileSync(join(data, "graphs", "templates", "second.toml"), EACH_SECOND);
  const call = (/** @type {string} */ into, /** @type {number} */ begin) => {
    const plain = ["variety=0", "nat=0", "ipv6=0", "proxy=0", "background=0", "answer_ratio=1", "tcp=0", "duration.min_s=4", "duration.max_s=4", `start_ns=${begin}000000000`];
    run("sim", "--calls", "1", "--rate", "1000", "--faults", "0", "--near-misses", "0", ...plain.flatMap((one) => ["--set", one]), "-w", join(folder, "call.pcap"));
    return JSON.parse(run("read", join(folder, "call.pcap"), "--data", into, "--json").split("\n")[0] ?? "");
  };
  const now = () => Math.floor(Date.now() / 1000);
  const first = call(join(folder, "elsewhere"), now());
  const host = (/** @type {string} */ endpoint) => endpoint.slice(0, endpoint.lastIndexOf(":"));
  const hosts = [`${host(first.src)},1,2`, `${host(first.dst)},2,2`];
  const port = String(20_000 + (process.pid % 20_000));
  const begin = (/** @type {string[]} */ ...args) => spawn(program, args, { stdio: "ignore" });
  // Of this seed nothing on the way is broken or dropped by itself.
  const farm = begin("graph", "farm", "--devices", "6", "--interfaces", "8", "--seed", "9", "--sound", "--port", port, ...hosts.flatMap((one) => ["--host", one]), "--drops", `1,0,40,${now()},${now() + 3600}`);
  const poller = begin("graph", "serve", "--data", data);
  const there = (/** @type {string[]} */ ...args) => run("graph", ...args, "--data", data);
  await until("graphs are served", () => there("status") !== "");
  execFileSync(program, ["graph", "credential", "add", "lan", "--data", data], { input: "public\n" });
  for (const [at, name] of ["core-0.farm.example", "dist-1.farm.example", "dist-2.farm.example"].entries()) there("add", name, `127.64.0.${at + 1}`, "--port", port, "--credential", "lan");
  await until("the way is known", () => JSON.parse(there("near", host(first.src), host(first.dst), "--json")).ways[0].ways.length === 1);
  await new Promise((resolve) => setTimeout(resolve, POLLED_S * 1000));
  // It was on while the devices were polled.
  const { id } = call(join(folder, "again"), now() - POLLED_S);
  const world = await serve(["open", join(folder, "call.pcap"), "--data", data, "--listen", "127.0.0.1:0"], folder);
  const stop = async () => {
    farm.kill("SIGTERM");
    const gone = new Promise((resolve) => poller.once("exit", resolve));
    poller.kill("SIGTERM");
    await gone;
    await world.stop();
  };
  return { ...world, stop, call: id };
}

/**
 * Waits until something can be done and is so.
 * @param {string} what
 * @param {() => boolean} holds
 */
async function until(what, holds) {
  for (const end = Date.now() + 60_000; Date.now() < end; ) {
    try {
      if (holds()) return;
    } catch {
      // Not yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`never: ${what}`);
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
