/** The user API in production mode behind a node: it trusts identity headers from the gateway only. */
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { startFileNode } from "../../gateway/src/testing-file-node.ts";
import { builtProgram } from "../../tools/build/programs.ts";
import { type Process, startProcess, temporaryFolder, waitFor } from "../../tools/process/index.ts";
import { withUserDatabase } from "../../tools/programs/servers/embedded-database.ts";
import { type Answer, getUrl, queryUserApi } from "./client.ts";

const SECRET = "a-secret-of-this-test-alone";
const FORGED = {
  "x-consumer-id": "01999999-0000-7000-8000-000000000000",
  "x-consumer-username": "admin",
  "x-consumer-tags": "reader,writer",
  "x-real-ip": "10.9.8.7",
};

/** @param port The port of the user API. */
const configuration = (port: number): object => ({
  _format_version: "3.0",
  services: [
    {
      name: "users",
      url: `http://127.0.0.1:${port}`,
      upstream_headers: [{ name: "X-Gateway-Secret", value: SECRET }],
      routes: [{ name: "users", paths: ["/users"] }],
      plugins: [
        { name: "key-auth", config: { anonymous: "guest", hide_credentials: true } },
        { name: "graphql", config: { websocket: "inspect" } },
      ],
    },
    // A service without the secret, as if `upstream_headers` had been forgotten.
    { name: "bare", url: `http://127.0.0.1:${port}`, routes: [{ name: "bare", paths: ["/bare"] }] },
  ],
  consumers: [
    { username: "rita", tags: ["reader"], keyauth_credentials: [{ key: "key-of-rita" }] },
    { username: "walt", tags: ["staff", "reader", "writer"], keyauth_credentials: [{ key: "key-of-walt" }] },
    { username: "tess", keyauth_credentials: [{ key: "key-of-tess" }] },
    { username: "guest", tags: ["writer"] },
  ],
});

const READ = "{ users { name } }";
const create = (name: string): string =>
  `mutation { createUser(name: "${name}", email: "${name}@example.org") { name } }`;

const codes = (answer: unknown): readonly unknown[] =>
  ((answer as { errors?: { extensions: { code: string } }[] }).errors ?? []).map(({ extensions }) => extensions.code);

describe("the user API behind a node", () => {
  const folder = temporaryFolder("user-api-gateway");
  const running: Process[] = [];
  let proxy: string;
  let metrics: string;
  let direct: string;
  let api: Process;
  let node: Process;

  before(async () => {
    api = await startProcess(await builtProgram("user-api"), [], {
      name: "user API",
      ready: /GraphQL at /,
      env: {
        SLUICE_USER_API_LISTEN: "127.0.0.1:0",
        SLUICE_USER_API_DATA: await withUserDatabase(join(folder.path, "users")),
        SLUICE_USER_API_GATEWAY_SECRET: SECRET,
        SLUICE_USER_API_ACCESS: "authenticated",
        SLUICE_USER_API_POLICY:
          "Query.users=scope:reader|writer, Mutation.createUser=scope:writer, Subscription.userCreated=scope:reader",
      },
    });
    running.push(api);
    const [, port = ""] = /GraphQL at http:\/\/127\.0\.0\.1:(\d+)/.exec(api.output()) ?? [];
    direct = `127.0.0.1:${port}`;
    const file = join(folder.path, "sluice.json");
    writeFileSync(file, JSON.stringify(configuration(Number(port))));
    const started = await startFileNode({
      file,
      env: { SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8", SLUICE_PROXY_ACCESS_LOG: "stdout" },
    });
    proxy = `127.0.0.1:${started.proxy}`;
    metrics = `http://127.0.0.1:${started.status}/metrics`;
    node = started.node;
    running.push(node);
  });
  after(async () => {
    await Promise.all(running.map((one) => one.stop()));
    folder.remove();
  });

  const rows: readonly (readonly [who: string, key: string | undefined, query: string, codes: readonly string[]])[] = [
    ["a reader reads", "key-of-rita", READ, []],
    ["a reader cannot create users", "key-of-rita", create("by-rita"), ["FORBIDDEN"]],
    ["a writer reads", "key-of-walt", READ, []],
    ["a writer creates", "key-of-walt", create("by-walt"), []],
    ["a consumer without tags reads nothing", "key-of-tess", READ, ["FORBIDDEN"]],
    ["the anonymous consumer is not authenticated, whatever its tags", undefined, READ, ["UNAUTHENTICATED"]],
    ["the anonymous consumer cannot create users", undefined, create("by-nobody"), ["UNAUTHENTICATED"]],
  ];
  for (const [who, key, query, expected] of rows) {
    test(`${who}`, async () => {
      const { status, body } = await queryUserApi(proxy, { query, ...(key !== undefined && { key }) });
      assert.deepEqual([status, codes(body)], [200, expected], JSON.stringify(body));
    });
  }

  /** Sends a mutation with additional headers. */
  async function post(url: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/graphql-response+json", ...headers },
      body: JSON.stringify({ query: create("forged") }),
    });
    return { status: response.status, body: await response.json() } as Answer;
  }

  test("operations are counted by name, and as failed if a response with status 200 has errors", async () => {
    const query = "query Counted { users { name } }";
    for (const key of ["key-of-rita", "key-of-rita", "key-of-tess"])
      assert.equal((await queryUserApi(proxy, { query, key })).status, 200);
    const { body } = await getUrl(metrics);
    const counts = [...String(body).matchAll(/requests_total\{(.*operation="Counted".*)\} (\d+)/g)];
    const labels = `service="users",type="query",operation="Counted",hash="${hash("sha256", query).slice(0, 12)}"`;
    assert.deepEqual(
      counts.map(([, found, count]) => [found, count]),
      [
        [`${labels},result="ok"`, "2"],
        [`${labels},result="error"`, "1"],
      ],
    );
  });

  test("a caller that bypasses the gateway and claims to be a consumer is refused, with no secret or a wrong one", async () => {
    for (const [what, more] of [
      ["nothing", {}],
      ["another secret", { "x-gateway-secret": `${SECRET}x` }],
      ["the secret in another spelling", { x_gateway_secret: SECRET }],
    ] as const) {
      const { status, body } = await post(`http://${direct}/graphql`, { ...FORGED, ...more });
      assert.deepEqual([status, codes(body)], [401, ["UNAUTHENTICATED"]], what);
    }
  });

  test("the gateway replaces a claimed identity with the key's consumer, and removes a secret that the client sent", async () => {
    const forged = { ...FORGED, "x-gateway-secret": "forged", x_gateway_secret: "forged", x_consumer_tags: "writer" };
    const reader = await post(`http://${proxy}/users/graphql`, { ...forged, apikey: "key-of-rita" });
    assert.deepEqual(codes(reader.body), ["FORBIDDEN"]);
    const nobody = await post(`http://${proxy}/users/graphql`, forged);
    assert.deepEqual(codes(nobody.body), ["UNAUTHENTICATED"]);
  });

  test("requests through a service of the node that does not add the secret are refused", async () => {
    const { status, body } = await post(`http://${proxy}/bare/graphql`, { ...FORGED, apikey: "key-of-walt" });
    assert.deepEqual([status, codes(body)], [401, ["UNAUTHENTICATED"]]);
  });

  /** A client of graphql-ws that sends headers with its upgrade. */
  function follow(context: TestContext, url: string, headers: Readonly<Record<string, string>>) {
    class WithHeaders extends WebSocket {
      constructor(address: string, protocols: string[]) {
        super(address, protocols, { headers });
      }
    }
    const client = createClient({ url, webSocketImpl: WithHeaders, retryAttempts: 0 });
    context.after(() => client.dispose());
    const names: unknown[] = [];
    const errors: unknown[] = [];
    const run = (query: string) =>
      client.subscribe(
        { query },
        {
          next: ({ data, errors: faults }) => {
            for (const fault of faults ?? []) errors.push(fault.extensions?.code);
            names.push(Object.values(data ?? {})[0]);
          },
          error: (error) => {
            if (Array.isArray(error)) errors.push(...codes({ errors: error }));
            else errors.push((error as { readonly message?: unknown }).message);
          },
          complete: () => undefined,
        },
      );
    return { run, names, errors };
  }

  /** The results with which operations of this name were counted, and their numbers. */
  async function resultsOf(name: string): Promise<string> {
    const { body } = await getUrl(metrics);
    const lines = String(body).matchAll(/requests_total\{.*operation="(\w+)",.*result="(\w+)"\} (\d+)/g);
    return [...lines]
      .flatMap(([, operation, result, count]) => (operation === name ? `${result} ${count}` : []))
      .join();
  }

  test("an operation beyond a limit is refused over a WebSocket too, and the other operations of the WebSocket go on", async (context) => {
    const { run, names, errors } = follow(context, `ws://${proxy}/users/graphql`, { apikey: "key-of-rita" });
    run(`query Deep ${"{a".repeat(21)}${"}".repeat(21)}`);
    run("query OverSocket { users { name } }");
    await waitFor(() => errors.length === 1 && names.length === 1, { what: "both responses" });
    assert.deepEqual(errors, ["LIMIT_EXCEEDED"]);
    await waitFor(async () => (await resultsOf("OverSocket")) === "ok 1", { what: "the operation to be counted" });
    assert.equal(await resultsOf("Deep"), "");
  });

  test("an operation over a WebSocket counts as failed if the service answers with errors", async (context) => {
    const { run, errors } = follow(context, `ws://${proxy}/users/graphql`, { apikey: "key-of-tess" });
    run("query Forbidden { users { name } }");
    await waitFor(() => errors.length === 1, { what: "the response" });
    assert.deepEqual(errors, ["FORBIDDEN"]);
    await waitFor(async () => (await resultsOf("Forbidden")) === "error 1", { what: "the operation to be counted" });
  });

  test("subscriptions over WebSocket pass through the node, with the caller's identity", async (context) => {
    const url = `ws://${proxy}/users/graphql`;
    const rita = follow(context, url, { apikey: "key-of-rita", ...FORGED });
    const walt = follow(context, url, { apikey: "key-of-walt" });
    const tess = follow(context, url, { apikey: "key-of-tess", ...FORGED });
    const nobody = follow(context, url, FORGED);
    const subscription = "subscription { userCreated { name } }";
    for (const each of [rita, tess, nobody]) each.run(subscription);
    await waitFor(() => tess.errors.length > 0 && nobody.errors.length > 0, {
      what: "both subscriptions to be refused",
    });
    assert.deepEqual([tess.errors, nobody.errors], [["FORBIDDEN"], ["UNAUTHENTICATED"]]);
    // The protocol does not acknowledge a subscription: users are created until one is received.
    let number = 0;
    await waitFor(
      () => {
        number++;
        walt.run(create(`heard${number}`));
        return rita.names.length > 0;
      },
      { what: "the reader to receive a user" },
    );
    assert.match(JSON.stringify(rita.names[0]), /^{"name":"heard\d+"}$/);
    assert.deepEqual([rita.errors, walt.errors], [[], []]);
    // The reader's own socket does not have the scope of the mutation.
    rita.run(create("by-socket"));
    await waitFor(() => rita.errors.length > 0, { what: "the reader to be refused" });
    assert.deepEqual(rita.errors, ["FORBIDDEN"]);
  });

  test("a WebSocket that bypasses the gateway and claims to be a consumer is refused", async (context) => {
    for (const headers of [FORGED, { ...FORGED, "x-gateway-secret": "forged-but-long-enough" }]) {
      const forged = follow(context, `ws://${direct}/graphql`, headers);
      forged.run("subscription { userCreated { name } }");
      await waitFor(() => forged.errors.length > 0, { what: "the upgrade to be refused" });
      assert.deepEqual(forged.names, []);
      assert.equal(forged.errors[0], "Unexpected server response: 401");
    }
  });

  test("the secret is in no log", () => {
    for (const { output } of [api, node]) assert.ok(!output().includes(SECRET));
  });
});
