// Starts what is tested: the program, showing a simulated capture in a folder of its own, and one browser for all tests.
// TRUNKLINE_BIN is the program, CHROMIUM the browser (else what Debian installs). Worlds run at the same time: nothing
// here may block the others, so commands are awaited.

import { execFile, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
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
/** Milliseconds for the tests of one program: what takes longer hangs. */
export const WORLD_MS = 600_000;
/** Milliseconds for one command, and for a program to end after it is told to. */
const [COMMAND_MS, END_MS] = [60_000, 20_000];
/** Milliseconds that a test waits for what a page shows, unless it says otherwise. */
const SHOWN_MS = 60_000;
/** Ports of simulated devices that are tried before one is free. */
const PORTS_TRIED = 20;

const program = process.env.TRUNKLINE_BIN ?? "";
const CHROMIUMS = ["chromium", "chromium-browser"];
/**
 * The first of these browsers that is installed; CHROMIUM names another one.
 * @param {string[]} names
 */
const browserOf = (...names) => process.env.CHROMIUM ?? names.map((name) => `/usr/bin/${name}`).find((path) => existsSync(path)) ?? "";
/** The browser that people use: for measurements. */
export const browserPath = browserOf(...CHROMIUMS);
/** The same without a window, if it is installed: it needs a third less CPU time. */
const testBrowserPath = browserOf("chromium-headless-shell", ...CHROMIUMS);

/**
 * Why the tests cannot run here; false if they can.
 * @returns {string | false}
 */
export function missing() {
  if (program === "") return "TRUNKLINE_BIN does not name the program: TRUNKLINE_BIN=target/release/trunkline npm run e2e";
  if (!isProgram(program)) return `TRUNKLINE_BIN: ${program} cannot be run`;
  if (testBrowserPath === "") return "there is no Chromium: apt-get install chromium, or set CHROMIUM";
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
 * What a command prints, whether it ends well or not.
 * @param {string} command
 * @param {string[]} args
 * @param {string} [input]
 * @returns {Promise<{ code: number | string | null, stdout: string, stderr: string }>}
 */
export function outcome(command, args, input) {
  return new Promise((resolve) => {
    const child = execFile(command, args, { timeout: COMMAND_MS, maxBuffer: 1 << 26 }, (error, stdout, stderr) => resolve({ code: error ? (error.code ?? String(error.signal)) : 0, stdout, stderr }));
    // One that ends without reading tells why by its code.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(input);
  });
}

/**
 * Output of a command that has to end well.
 * @param {string} command
 * @param {string[]} args
 * @param {string} [input]
 */
export async function output(command, args, input) {
  const { code, stdout, stderr } = await outcome(command, args, input);
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${stderr}`);
  return stdout;
}

/**
 * Output of a command of the program.
 * @param {string[]} args
 */
export const run = (...args) => output(program, args);

/**
 * What runs while the tests do.
 * @typedef {{
 *   base: string, link: string, folder: string, data: string,
 *   contexts: Set<import("playwright-core").BrowserContext>, stop: () => Promise<void>,
 * }} World
 */

/** Programs that have not ended. */
const running = /** @type {Set<import("node:child_process").ChildProcess>} */ (new Set());
process.once("exit", () => running.forEach((child) => child.kill("SIGKILL")));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
/** Folders of worlds, removed with all that is left of them. */
const folders = /** @type {Set<string>} */ (new Set());

function newFolder() {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-e2e-"));
  folders.add(folder);
  return folder;
}

/** @param {string} folder */
function removeFolder(folder) {
  rmSync(folder, { recursive: true, force: true });
  folders.delete(folder);
}

/**
 * Starts a program that goes on until `ended` or the end of all tests.
 * @param {string[]} args
 * @returns {import("node:child_process").ChildProcess}
 */
function begin(...args) {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  child.once("exit", () => running.delete(child));
  // What nobody reads would stop it.
  for (const stream of [child.stdout, child.stderr]) stream?.resume();
  return child;
}

/**
 * Tells a program to end, and waits until it has.
 * @param {import("node:child_process").ChildProcess | undefined} child
 * @param {NodeJS.Signals} [signal]
 */
export async function ended(child, signal = "SIGTERM") {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  let late = false;
  const timer = setTimeout(() => (late = child.kill("SIGKILL")), END_MS);
  child.kill(signal);
  await gone;
  clearTimeout(timer);
  if (late) throw new Error(`${child.spawnargs.join(" ")} did not end within ${END_MS / 1000} s of ${signal}`);
}

/** @type {Promise<import("playwright-core").Browser> | undefined} */
let browser;
const theBrowser = () =>
  (browser ??= chromium.launch({
    executablePath: testBrowserPath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  }));

/** Ends all that runs: a test that failed or took too long may have left something, and nothing would end then. */
export async function endAll() {
  await (await browser?.catch(() => undefined))?.close();
  for (const child of running) child.kill("SIGKILL");
  for (const folder of folders) removeFolder(folder);
}

/** @type {Promise<string> | undefined} */
let capture;
/** The simulated capture: made once, for every world that shows it. */
const simulated = () =>
  (capture ??= (async () => {
    const file = join(newFolder(), "simulated.pcap");
    await run(...SIM, "--write", file);
    return file;
  })());

/** @returns {Promise<World>} */
export async function start() {
  const folder = newFolder();
  const busy = join(folder, "busy.pcap");
  writeFileSync(busy, busyCapture());
  return opened(folder, busy);
}

/**
 * A simulated capture as `trunkline open` shows it.
 * @param {string} folder
 * @param {...string} others
 */
async function opened(folder, ...others) {
  return serve(["open", await simulated(), ...others, "--listen", "127.0.0.1:0", "--data", join(folder, "data")], folder);
}

/**
 * A simulated world that goes on.
 * @returns {Promise<World>}
 */
export const demo = () => serve(["demo", "--listen", "127.0.0.1:0"], newFolder());

/**
 * The capture alone, and a charging node that can be started beside it (the demo has one of its own).
 * @returns {Promise<World & { charging: () => Promise<{ address: string, end: () => Promise<void> }>, begin: typeof begin }>}
 */
export async function till() {
  const world = await opened(newFolder());
  const charging = async () => {
    const node = begin("charge", "serve", "--data", world.data, "--host", "ocs.example.org", "--realm", "example.org", "--listen", "127.0.0.1:0", "--threads", "1");
    const address = await printed(node, /Diameter over TCP at (\S+)/);
    return { address, end: () => ended(node) };
  };
  return { ...world, charging, begin };
}

/**
 * Simulated devices on a port that is free.
 * @param {string[]} args
 * @returns {Promise<{ farm: import("node:child_process").ChildProcess, port: string }>}
 */
export async function farm(...args) {
  for (let tries = 1; ; tries += 1) {
    const port = await freePort();
    const child = begin("graph", "farm", "--port", port, ...args);
    try {
      await printed(child, /UDP port (\d+)/);
      return { farm: child, port };
    } catch (error) {
      // Somebody else took it in between.
      if (tries === PORTS_TRIED) throw error;
    }
  }
}

/** @returns {Promise<string>} a UDP port that nobody has at the address of the first simulated device */
function freePort() {
  return new Promise((resolve, reject) => {
    const socket = createSocket("udp4");
    socket.once("error", reject);
    socket.bind(0, "127.64.0.1", () => {
      const port = String(socket.address().port);
      socket.close(() => resolve(port));
    });
  });
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
/** Seconds of which the devices are known when the call whose way is shown is made: it is in them. */
const POLLED_S = 6;

/**
 * A simulated call over simulated devices that are polled each second: caller and callee are behind two of them, and the
 * first one drops packets at its interface to the core.
 * @returns {Promise<World & { call: string }>}
 */
export async function network() {
  const folder = newFolder();
  const data = join(folder, "data");
  mkdirSync(join(data, "graphs", "templates"), { recursive: true });
  writeFileSync(join(data, "graphs", "templates", "second.toml"), EACH_SECOND);
  const call = async (/** @type {string} */ into, /** @type {number} */ begin) => {
    const plain = ["variety=0", "nat=0", "ipv6=0", "proxy=0", "background=0", "answer_ratio=1", "tcp=0", "duration.min_s=4", "duration.max_s=4", `start_ns=${begin}000000000`];
    await run("sim", "--calls", "1", "--rate", "1000", "--faults", "0", "--near-misses", "0", ...plain.flatMap((one) => ["--set", one]), "-w", join(folder, "call.pcap"));
    return JSON.parse((await run("read", join(folder, "call.pcap"), "--data", into, "--json")).split("\n")[0] ?? "");
  };
  const now = () => Math.floor(Date.now() / 1000);
  const first = await call(join(folder, "elsewhere"), now());
  const host = (/** @type {string} */ endpoint) => endpoint.slice(0, endpoint.lastIndexOf(":"));
  const hosts = [`${host(first.src)},1,2`, `${host(first.dst)},2,2`];
  // Of this seed nothing on the way is broken or dropped by itself.
  const devices = await farm("--devices", "6", "--interfaces", "8", "--seed", "9", "--sound", ...hosts.flatMap((one) => ["--host", one]), "--drops", `1,0,40,${now()},${now() + 3600}`);
  const poller = begin("graph", "serve", "--data", data);
  const there = (/** @type {string[]} */ ...args) => run("graph", ...args, "--data", data);
  await until("graphs are served", async () => (await there("status")) !== "");
  await output(program, ["graph", "credential", "add", "lan", "--data", data], "public\n");
  for (const [at, name] of ["core-0.farm.example", "dist-1.farm.example", "dist-2.farm.example"].entries()) await there("add", name, `127.64.0.${at + 1}`, "--port", devices.port, "--credential", "lan");
  await until("the way is known", async () => JSON.parse(await there("near", host(first.src), host(first.dst), "--json")).ways[0].ways.length === 1);
  // The call was on while the device that drops packets was polled.
  const since = String(now());
  let polled = 0;
  await until(`${POLLED_S} seconds of the device that drops packets are known`, async () => {
    const { data_sources: sources } = JSON.parse(await there("device", "dist-1.farm.example", "--json"));
    const { source } = sources.find((/** @type {any} */ one) => one.template === "interface-errors" && one.row === "Gi1/1");
    const { rows } = JSON.parse(await there("fetch", String(source), "--from", since, "--json"));
    const known = rows.filter((/** @type {[number, (number | null)[]]} */ row) => row[1].every((value) => value !== null));
    polled = known[0]?.[0];
    return known.length >= POLLED_S;
  });
  const { id } = await call(join(folder, "again"), polled);
  const world = await serve(["open", join(folder, "call.pcap"), "--data", data, "--listen", "127.0.0.1:0"], folder);
  const stop = async () => {
    await Promise.all([ended(devices.farm), ended(poller)]);
    await world.stop();
  };
  return { ...world, stop, call: id };
}

/**
 * Waits until something can be done and is so.
 * @param {string} what
 * @param {() => Promise<boolean>} holds
 */
async function until(what, holds) {
  /** @type {unknown} */
  let cause;
  for (const end = Date.now() + COMMAND_MS; Date.now() < end; ) {
    try {
      if (await holds()) return;
    } catch (error) {
      cause = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`never: ${what}`, { cause });
}

/**
 * A data folder as `trunkline web` serves it, with a configuration and files beside it.
 * @param {string} configuration
 * @param {Record<string, string>} files
 * @returns {Promise<World>}
 */
export async function house(configuration, files) {
  const folder = newFolder();
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
  const served = begin(...args);
  const link = await printedLink(served);
  const contexts = /** @type {World["contexts"]} */ (new Set());
  const stop = async () => {
    await Promise.all([...contexts].map((context) => context.close()));
    await ended(served, "SIGINT");
    removeFolder(folder);
  };
  return { base: new URL(link).origin, link, folder, data: join(folder, "data"), contexts, stop };
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
    const give = (/** @type {string} */ why) => {
      clearTimeout(timer);
      reject(new Error(`${served.spawnargs.join(" ")}: ${why}. It said:\n${said.join("\n")}`));
    };
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
  const context = await (await theBrowser()).newContext({
    viewport: size,
    colorScheme: options.dark ? "dark" : "light",
    hasTouch: options.phone ?? false,
    isMobile: options.phone ?? false,
    timezoneId: "Europe/Berlin",
    acceptDownloads: true,
    baseURL: world.base,
    ...(options.state ? { storageState: /** @type {never} */ (options.state) } : {}),
  });
  world.contexts.add(context);
  context.once("close", () => world.contexts.delete(context));
  context.setDefaultTimeout(SHOWN_MS);
  const page = await context.newPage();
  follow(page);
  /** @type {string[]} */
  const faults = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  return { page, context, faults };
}

/** Requests that a page waits for. The live feed is one that never ends, and is none of them. */
const underWay = /** @type {WeakMap<import("playwright-core").Page, Set<import("playwright-core").Request>>} */ (new WeakMap());

/** @param {import("playwright-core").Page} page */
function follow(page) {
  const requests = /** @type {Set<import("playwright-core").Request>} */ (new Set());
  underWay.set(page, requests);
  page.on("request", (request) => {
    // Nothing tells how what a page asked for has ended once the page is left.
    if (request.isNavigationRequest() && request.frame() === page.mainFrame()) requests.clear();
    if (request.resourceType() !== "eventsource") requests.add(request);
  });
  for (const end of /** @type {const} */ (["requestfinished", "requestfailed"])) page.on(/** @type {"requestfinished"} */ (end), (request) => requests.delete(request));
}

/**
 * Waits until nothing loads any more: every request is answered, and what the answers brought is painted.
 * @param {import("playwright-core").Page} page
 */
export async function still(page) {
  const requests = underWay.get(page);
  if (!requests) throw new Error("a page that is not of page()");
  for (const end = Date.now() + SHOWN_MS; ; ) {
    const isLoaded = await page.evaluate(async () => {
      for (let frames = 0; frames < 2; frames += 1) await new Promise((resolve) => requestAnimationFrame(resolve));
      return document.querySelector(".spinner") === null && !document.body.innerText.includes("Loading …");
    });
    if (isLoaded && requests.size === 0) return;
    if (Date.now() > end) throw new Error(`${page.url()} still loads: ${[...requests].map((request) => request.url()).join(", ") || "its spinner turns"}`);
  }
}
