// A small identity provider on this machine: OpenID Connect with codes, PKCE and RS256, as much as a sign-in takes.

import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { createServer } from "node:http";

/**
 * @typedef {{ issuer: string, groups: string[], stop: () => Promise<void> }} Provider
 */

/** @returns {Promise<Provider>} */
export async function provider() {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  /** @type {Map<string, URLSearchParams>} */
  const codes = new Map();
  /** @type {Provider} */
  const made = { issuer: "", groups: ["voice-noc"], stop: async () => undefined };
  /** @param {unknown} value */
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

  /** @param {URLSearchParams} form */
  const redeemed = (form) => {
    const asked = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const challenge = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
    if (!asked || challenge !== asked.get("code_challenge") || form.get("redirect_uri") !== asked.get("redirect_uri")) return { error: "invalid_grant" };
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: made.issuer, aud: "trunkline", sub: "4711", nonce: asked.get("nonce"), iat: now, exp: now + 300, preferred_username: "alice", name: "Alice Miller", groups: made.groups };
    const text = `${part({ alg: "RS256", kid: "k" })}.${part(claims)}`;
    return { access_token: "x", token_type: "Bearer", id_token: `${text}.${sign("sha256", Buffer.from(text), privateKey).toString("base64url")}` };
  };

  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", made.issuer);
    const json = (/** @type {number} */ status, /** @type {unknown} */ value) => response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
    if (pathname === "/.well-known/openid-configuration") {
      const at = (/** @type {string} */ path) => `${made.issuer}/${path}`;
      return json(200, { issuer: made.issuer, authorization_endpoint: at("authorize"), token_endpoint: at("token"), jwks_uri: at("keys"), token_endpoint_auth_methods_supported: ["client_secret_post"] });
    }
    if (pathname === "/keys") return json(200, { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k", use: "sig", alg: "RS256" }] });
    if (pathname === "/token") {
      let body = "";
      for await (const chunk of request) body += chunk;
      const form = new URLSearchParams(body);
      const answer = form.get("client_secret") === "s3cret" ? redeemed(form) : { error: "invalid_client" };
      return json("error" in answer ? 400 : 200, answer);
    }
    if (pathname === "/authorize") {
      const code = randomBytes(16).toString("hex");
      codes.set(code, searchParams);
      const back = new URL(searchParams.get("redirect_uri") ?? "");
      back.search = new URLSearchParams({ code, state: searchParams.get("state") ?? "", session_state: "x" }).toString();
      return response.writeHead(200, { "Content-Type": "text/html" }).end(`<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>Voice house</title><h1>Voice house</h1><a href="${back.href.replaceAll("&", "&amp;")}">Go on as Alice</a></html>`);
    }
    return json(404, {});
  });
  await new Promise((listens) => server.listen(0, "127.0.0.1", () => listens(undefined)));
  const address = /** @type {import("node:net").AddressInfo} */ (server.address());
  made.issuer = `http://127.0.0.1:${address.port}`;
  made.stop = () =>
    new Promise((stopped) => {
      server.close(() => stopped());
      server.closeAllConnections();
    });
  return made;
}
