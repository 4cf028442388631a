import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import type { Snapshot } from "@sluice/model";
import { Agent, request } from "undici";
import { createIntake } from "../../../gateway/src/sources/intake.ts";
import {
  createPushSource,
  type PushSource,
  type PushSourceOptions,
} from "../../../gateway/src/sources/push/push-source.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { documentWithRoutes, sourceSuite } from "./suite.ts";

const listen = { host: "127.0.0.1", port: 0 };
const token = "t0ken";
const base = (source: PushSource) => `http://127.0.0.1:${source.address().port}/document`;

sourceSuite({
  name: "push",
  async create() {
    const source = createPushSource({ listen, token });
    let revision = 0;
    return {
      source,
      async offer(names, { broken = false } = {}) {
        revision++;
        const response = await fetch(base(source), {
          method: "PUT",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify({ revision, document: documentWithRoutes(names, broken) }),
        });
        assert.equal(response.status, broken ? 400 : 200);
      },
      end: async () => {},
    };
  },
});

const withSource = (options: Partial<PushSourceOptions>, body: (source: PushSource) => Promise<void>): Promise<void> =>
  withServed(options, body);

/** @param body Receives the source, and a list of all documents served so far. */
async function withServed(
  options: Partial<PushSourceOptions>,
  body: (source: PushSource, served: readonly Snapshot[]) => Promise<void>,
): Promise<void> {
  const source = createPushSource({ listen, ...options });
  const served: Snapshot[] = [];
  await source.start(createIntake({ node: "n", version: "1", serve: (snapshot) => void served.push(snapshot) }));
  try {
    await body(source, served);
  } finally {
    await source.stop();
  }
}

const send = (source: PushSource, method: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(base(source), {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });

test("a push listener without a token or certificates is refused at once", () => {
  assert.throws(() => createPushSource({ listen }), /SLUICE_PUSH_TOKEN/);
});

for (const [what, headers] of [
  ["no token", { authorization: "" }],
  ["a wrong token", { authorization: "Bearer no" }],
  ["the token without its scheme", { authorization: token }],
] as const)
  test(`a push with ${what} is refused with 401`, () =>
    withSource({ token }, async (source) => {
      const response = await send(source, "PUT", { revision: 1, document: documentWithRoutes(["a"]) }, headers);
      assert.equal(response.status, 401);
      assert.match(((await response.json()) as { message: string }).message, /^not the operator: /);
    }));

const call = { plugin: "id", request: { method: "DELETE", path: ["caches"], query: {} } };

/** Sends a request to an endpoint of a plugin, and returns the response and the calls that the node received. */
async function callPlugin(body: unknown, headers: Record<string, string> = {}) {
  const calls: unknown[] = [];
  let answer: readonly [number, unknown] = [0, null];
  const askPlugin: PushSourceOptions["askPlugin"] = async (received) => {
    calls.push(received);
    return { status: 204 };
  };
  await withSource({ token, askPlugin }, async (source) => {
    const response = await fetch(new URL("/plugins", base(source)), {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    answer = [response.status, await response.json()];
  });
  return { answer, calls };
}

test("a request of the operator to an endpoint of a plugin is answered by the node", async () => {
  const { answer, calls } = await callPlugin(call);
  assert.deepEqual([answer, calls], [[200, { response: { status: 204 } }], [call]]);
});

for (const [what, body, headers, status] of [
  ["that lacks the token", call, { authorization: "" }, 401],
  ["that lacks the member request", { plugin: "id" }, {}, 400],
  ["that is larger than 1 MiB", { ...call, padding: "x".repeat(1024 * 1024) }, {}, 413],
] as const)
  test(`a call ${what} does not reach the plugin's endpoint and is refused with ${status}`, async () => {
    const { answer, calls } = await callPlugin(body, headers);
    assert.deepEqual([answer[0], calls], [status, []]);
  });

test("a change is accepted if the node has the hash on which it is based, and the response has the new hash and revision", () =>
  withSource({ token }, async (source) => {
    const first = (await (await send(source, "PUT", { revision: 4, document: documentWithRoutes(["a"]) })).json()) as {
      hash: string;
    };
    const change = { put: { services: [{ name: "b", host: "up.test" }] }, remove: {} };
    const second = await send(source, "PATCH", { revision: 5, base: first.hash, change });
    assert.equal(second.status, 200);
    const { hash, revision } = (await second.json()) as { hash: string; revision: number };
    assert.equal(revision, 5);
    assert.notEqual(hash, first.hash);
    const whole = (await (
      await send(source, "PUT", { revision: 6, document: documentWithRoutes(["b", "a"]) })
    ).json()) as {
      hash: string;
    };
    assert.equal(whole.hash, hash, "equal content has an equal hash, whether a document or a change brings it");
  }));

test("a change that is based on another hash is answered 409 with the node's revision", () =>
  withSource({ token }, async (source) => {
    await send(source, "PUT", { revision: 1, document: documentWithRoutes(["a"]) });
    const response = await send(source, "PATCH", { revision: 2, base: "other", change: { put: {}, remove: {} } });
    assert.equal(response.status, 409);
    assert.equal(((await response.json()) as { revision: number }).revision, 1);
  }));

test("a refused document is answered with its violations", () =>
  withSource({ token }, async (source) => {
    const response = await send(source, "PUT", { revision: 1, document: documentWithRoutes(["a", "b"], true) });
    const { violations } = (await response.json()) as { violations: { path: unknown[]; message: string }[] };
    assert.deepEqual(
      violations.map(({ path, message }) => [path.join("."), message]),
      [
        ["services.0.port", "expected an integer"],
        ["services.1.port", "expected an integer"],
      ],
    );
  }));

test("a document of a newer operator is served, and requests that it protects in an unknown way are answered 503", () =>
  withServed({ token }, async (source, served) => {
    const id = (digit: number) => `00000000-0000-4000-8000-00000000000${digit}`;
    const keyAuth = { id: id(2), name: "key-auth", route: { id: id(1) }, config: { key_names: ["k"] } };
    const reasons = () =>
      [...(served.at(-1)?.plugins.values() ?? [])].map(({ name, _sluice, config }) => [
        name,
        _sluice?.unavailable ?? config.key_names,
      ]);
    const push = async (revision: number, ...plugins: object[]) => {
      const document = { routes: [{ id: id(1), paths: ["/"] }], plugins };
      assert.equal((await send(source, "PUT", { revision, document })).status, 200);
      return reasons();
    };
    assert.deepEqual(await push(1, keyAuth), [["key-auth", ["k"]]]);
    const newer = { ...keyAuth, config: { ...keyAuth.config, identity: "x" } };
    assert.deepEqual(await push(2, newer), [["key-auth", ["k"]]], "the previous version protects the same requests");
    assert.deepEqual(await push(3), []);
    assert.deepEqual(await push(4, newer), [["key-auth", "plugin key-auth: config.identity: unknown field"]]);
    const [[name, reason] = []] = await push(5, { id: id(3), name: "oauth2", route: { id: id(1) } });
    assert.equal(name, "oauth2");
    assert.match(`${reason}`, /^plugin oauth2: name: plugin 'oauth2' not enabled: /);
    const base = ((await (await send(source, "GET", undefined)).json()) as { hash: string }).hash;
    const change = { put: { plugins: [{ ...newer, id: id(4) }] }, remove: { plugins: [id(3)] } };
    assert.equal((await send(source, "PATCH", { revision: 6, base, change })).status, 200);
    assert.deepEqual(reasons(), [["key-auth", "plugin key-auth: config.identity: unknown field"]]);
  }));

for (const [what, body] of [
  ["collections of wrong types", { revision: 1, document: { services: {}, routes: 5, consumers: null } }],
  ["a member of a future version", { revision: 1, document: { ledgers: [] } }],
  ["no document", { revision: 1 }],
  ["a document that is a list", { revision: 1, document: [] }],
  ["no revision", { document: {} }],
] as const)
  test(`a push with ${what} is answered 400`, () =>
    withSource({ token }, async (source) => assert.equal((await send(source, "PUT", body)).status, 400)));

const operator = { authorization: `Bearer ${token}`, "content-type": "application/json" };
const long = `{"revision":1,"document":{},"x":"${"y".repeat(2000)}"}`;
/** Requests that the operator never sends: method, path, headers and body, and the status of the response. */
const strange: readonly (readonly [string, string, string, Readonly<Record<string, string>>, string, number])[] = [
  ["another path", "GET", "/other", operator, "", 404],
  ["another method", "DELETE", "/document", operator, "", 404],
  ["a body that is not JSON", "PUT", "/document", operator, '{"revision":', 400],
  ["no body", "PATCH", "/document", operator, "", 400],
  ["a body that is a list", "PUT", "/document", operator, "[]", 400],
  ["a revision that is a string", "PUT", "/document", operator, '{"revision":"1","document":{}}', 400],
  ["a base that is not a string", "PATCH", "/document", operator, '{"revision":1,"base":1,"change":{"put":{}}}', 400],
  [
    "a content type that is not JSON",
    "PUT",
    "/document",
    { ...operator, "content-type": "text/plain" },
    '{"revision":1,"document":{}}',
    415,
  ],
  ["a body larger than the limit", "PUT", "/document", operator, long, 413],
  ["a wrong token and an invalid body", "PUT", "/document", { authorization: "Bearer no" }, "{", 401],
];
for (const [what, method, path, headers, body, status] of strange)
  test(`a request with ${what} is answered ${status}, and the next request succeeds`, () =>
    withSource({ token, maxBytes: 1000 }, async (source) => {
      const url = new URL(path, base(source));
      const sent = { method, headers, ...(body && { body }) };
      const response = await fetch(url, sent);
      assert.equal(response.status, status);
      assert.equal(typeof ((await response.json()) as { message: unknown }).message, "string");
      assert.equal((await send(source, "PUT", { revision: 1, document: documentWithRoutes(["a"]) })).status, 200);
    }));

test("a body of unknown length is refused once it exceeds the limit", () =>
  withSource({ token, maxBytes: 1000 }, async (source) => {
    async function* body() {
      for (let sent = 0; sent < 10; sent++) yield Buffer.from("x".repeat(500));
    }
    const { statusCode } = await request(base(source), {
      method: "PUT",
      headers: operator,
      body: Readable.from(body()),
    });
    assert.equal(statusCode, 413);
  }));

test("a valid document that an internal error rejects is answered 500 with the reason", async () => {
  const source = createPushSource({ listen, token });
  const serve = () => {
    throw new Error("cannot be compiled");
  };
  await source.start(createIntake({ node: "n", version: "1", serve }));
  try {
    const response = await send(source, "PUT", { revision: 1, document: documentWithRoutes(["a"]) });
    assert.deepEqual([response.status, await response.json()], [500, { message: "cannot be compiled" }]);
  } finally {
    await source.stop();
  }
});

test("with mutual TLS only the operator's certificate is accepted", async () => {
  const authority = await makeAuthority();
  const otherAuthority = await makeAuthority();
  const node = await authority.issue({ name: "sluice-gateway", sans: ["sluice-gateway"], usage: "server" });
  const tls = { cert: node.certificate, key: node.key, ca: authority.certificate, client: "sluice-operator" };
  const clients = {
    operator: await authority.issue({ name: "sluice-operator", sans: ["sluice-operator"], usage: "client" }),
    "a node's certificate with the operator's name": await authority.issue({
      name: "sluice-operator",
      sans: ["sluice-operator"],
      usage: "server",
    }),
    "a different name, signed by the same authority": await authority.issue({
      name: "x",
      sans: ["admin"],
      usage: "client",
    }),
    "the operator's name, signed by another authority": await otherAuthority.issue({
      name: "sluice-operator",
      sans: ["sluice-operator"],
      usage: "client",
    }),
    "no certificate": undefined,
  };
  await withSource({ tls }, async (source) => {
    for (const [who, client] of Object.entries(clients)) {
      const dispatcher = new Agent({
        connect: {
          ca: authority.certificate,
          servername: "sluice-gateway",
          ...(client ? { cert: client.certificate, key: client.key } : {}),
        },
      });
      const outcome = await request(`https://127.0.0.1:${source.address().port}/document`, { dispatcher }).then(
        ({ statusCode }) => statusCode,
        () => "refused",
      );
      assert.equal(outcome === 200, who === "operator", `${who}: ${outcome}`);
      await dispatcher.close();
    }
  });
});

const zip = (text: string) => new Uint8Array(gzipSync(text));
const good = JSON.stringify({ revision: 1, document: documentWithRoutes(["a"]) });
for (const [what, coding, body, status] of [
  ["gzipped", "gzip", zip(good), 200],
  ["gzipped but not JSON", "gzip", zip("{"), 400],
  ["declared as gzip but not compressed", "gzip", good, 400],
  ["gzipped and truncated", "gzip", zip(good).slice(0, -10), 400],
  ["gzipped but larger than the limit when decompressed", "gzip", zip(long), 413],
  ["declared as compressed in an unsupported way", "br", good, 415],
] as const)
  test(`a body that is ${what} is answered ${status}`, () =>
    withSource({ token, maxBytes: 1000 }, async (source) => {
      const response = await fetch(base(source), {
        method: "PUT",
        headers: { ...operator, "content-encoding": coding },
        body,
      });
      assert.equal(response.status, status);
    }));
