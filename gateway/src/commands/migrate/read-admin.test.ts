/** `readAdminApi` with fakes of Kong: pages, lists below parents, and responses that must stop the command. */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { servablePart } from "@sluice/model";
import { CommandError } from "../command.ts";
import { readAdminApi } from "./read-admin.ts";

type Answer = readonly [status: number, body: unknown, headers?: Readonly<Record<string, string>>];

/**
 * Responses by the path and query of a request, without the parameter `size`. Other paths get status 404, as from a
 * Kong without the list.
 */
type Answers = Readonly<Record<string, Answer | ((base: string, request: IncomingMessage) => Answer)>>;

const list = (...data: readonly object[]): Answer => [200, { data, next: null }];
const id = (digit: number) => `00000000-0000-4000-8000-00000000000${digit}`;

interface Kong {
  readonly url: URL;
  readonly requests: readonly IncomingMessage[];
}

async function startKong(context: TestContext, answers: Answers, prefix = ""): Promise<Kong> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    const { port } = server.address() as AddressInfo;
    const place = (request.url ?? "").replace(/[?&]size=1000/, "").replace(prefix, "");
    const found = answers[place] ?? ([404, { message: "Not found" }] as const);
    const [status, body, headers = {}] =
      typeof found === "function" ? found(`http://127.0.0.1:${port}`, request) : found;
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => server.close());
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`), requests };
}

const services = { "/services": list({ id: id(1), name: "s", host: "h", path: null }) };

const read = (kong: Kong, headers = {}) => readAdminApi({ url: kong.url, headers });

const taken: readonly (readonly [what: string, answers: Answers, expected: Readonly<Record<string, unknown>>])[] = [
  [
    "all pages of a list, and leaves out unset members",
    {
      "/services": [200, { data: [{ id: id(1), name: "a", path: null }], next: "/services?offset=x" }],
      "/services?offset=x": [200, { data: [{ id: id(2), name: "b" }], next: null, offset: null }],
    },
    {
      services: [
        { id: id(1), name: "a" },
        { id: id(2), name: "b" },
      ],
    },
  ],
  [
    "a next page whose address is an absolute URL of the same server",
    {
      ...services,
      "/routes": (base) => [200, { data: [{ id: id(3) }], next: `${base}/routes?offset=y` }],
      "/routes?offset=y": list({ id: id(4) }),
    },
    { routes: [{ id: id(3) }, { id: id(4) }] },
  ],
  [
    "a Kong that lacks the lists of other editions and of plugins that are not enabled",
    { ...services, "/key-auths": [404, { message: "Not found" }] },
    { keyauth_credentials: undefined, consumer_groups: undefined, vaults: undefined },
  ],
  [
    "an empty list that Lua encodes as a record",
    { ...services, "/plugins": [200, { data: {}, next: null }] },
    { plugins: [] },
  ],
  [
    "targets below their upstreams",
    {
      ...services,
      "/upstreams": list({ id: id(5), name: "u" }),
      [`/upstreams/${id(5)}/targets`]: list({ id: id(6), target: "a:1", upstream: { id: id(5) } }),
    },
    { targets: [{ id: id(6), target: "a:1", upstream: { id: id(5) } }] },
  ],
  [
    "the members of consumer groups, in the form of the paid editions",
    {
      ...services,
      "/consumers": list({ id: id(7), username: "ann", username_lower: "ann", type: 0 }),
      "/consumer_groups": list({ id: id(8), name: "gold" }),
      [`/consumer_groups/${id(8)}/consumers`]: [200, { consumers: [{ id: id(7), username: "ann" }] }],
    },
    {
      consumers: [{ id: id(7), username: "ann" }],
      consumer_group_consumers: [{ consumer: { id: id(7) }, consumer_group: { id: id(8) } }],
    },
  ],
  [
    "certificates without the names of their SNIs, which are read as a separate list",
    {
      ...services,
      "/certificates": list({ id: id(1), cert: "c", key: "k", snis: ["a.example"] }),
      "/snis": list({ id: id(2), name: "a.example", certificate: { id: id(1) } }),
    },
    {
      certificates: [{ id: id(1), cert: "c", key: "k" }],
      snis: [{ id: id(2), name: "a.example", certificate: { id: id(1) } }],
    },
  ],
  [
    "credentials and other lists under the names that they have in files",
    {
      ...services,
      "/basic-auths": list({ id: id(1), username: "a", password: "hash" }),
      "/vaults": list({ id: id(2), prefix: "p" }),
      "/key-sets": list(),
      "/filter-chains": list({ id: id(3) }),
    },
    {
      basicauth_credentials: [{ id: id(1), username: "a", password: "hash" }],
      vaults: [{ id: id(2), prefix: "p" }],
      filter_chains: [{ id: id(3) }],
      key_sets: undefined,
      _transform: false,
    },
  ],
];

for (const [what, answers, expected] of taken) {
  for (const prefix of ["", "/kong-admin"]) {
    test(`readAdminApi reads ${what}${prefix && ", from an admin API below a path"}`, async (context) => {
      // Kong's `next` has no prefix, even if a proxy serves the admin API below a path.
      const document = await read(await startKong(context, answers, prefix));
      const found = Object.fromEntries(Object.keys(expected).map((name) => [name, document[name]]));
      assert.deepEqual(found, expected);
    });
  }
}

test("readAdminApi sends only GET requests, each with the given header", async (context) => {
  const kong = await startKong(context, {
    ...services,
    "/routes": [200, { data: [], next: "/routes?offset=z" }],
    "/routes?offset=z": list(),
  });
  await read(kong, { "Kong-Admin-Token": "secret" });
  assert.ok(kong.requests.length > 10);
  assert.deepEqual(
    [...new Set(kong.requests.map(({ method, headers }) => `${method} ${headers["kong-admin-token"]}`))],
    ["GET secret"],
  );
});

const refused: readonly (readonly [what: string, answers: Answers, message: RegExp])[] = [
  [
    "a next page of another server, to which the header would be sent",
    { ...services, "/routes": [200, { data: [], next: "http://192.0.2.1/routes?offset=z" }] },
    /^GET http:\/\/127\.0\.0\.1:\d+\/routes has a next page on another server$/,
  ],
  [
    "a next page whose URL names another server, but no scheme",
    { ...services, "/routes": [200, { data: [], next: "//192.0.2.1/routes" }] },
    /\/routes: |status 404|has a next page on another server/,
  ],
  [
    "a next page that was read before",
    { ...services, "/routes": [200, { data: [], next: "/routes" }] },
    /^GET http:\/\/127\.0\.0\.1:\d+\/routes repeats a page$/,
  ],
  [
    "a response with status 401",
    { "/services": [401, { message: "Unauthorized" }] },
    /services failed: status 401 without a list: give the admin API's credentials with --header$/,
  ],
  [
    "a response with status 403",
    { "/services": [403, { message: "no" }] },
    /services failed: status 403 without a list: give the admin API's credentials with --header$/,
  ],
  [
    "a server error",
    { ...services, "/plugins": [500, { message: "An unexpected error occurred" }] },
    /plugins failed: status 500 without a list$/,
  ],
  [
    "a redirect",
    { ...services, "/routes": (base) => [302, "", { location: `${base}/services` }] },
    /routes failed: unexpected redirect$/,
  ],
  [
    "a list that disappears between two pages",
    { ...services, "/plugins": [200, { data: [], next: "/plugins?offset=q" }] },
    /plugins failed: status 404 without a list$/,
  ],
  ["a response that is not JSON", { ...services, "/plugins": [200, "<html>"] }, /plugins failed: .*JSON/],
  [
    "a response that is not a list",
    { ...services, "/plugins": [200, { message: "hello" }] },
    /plugins failed: status 200 without a list$/,
  ],
  [
    "targets that cannot be listed",
    { ...services, "/upstreams": list({ id: id(5) }) },
    /targets failed: status 404 without a list$/,
  ],
  [
    "members of a group that cannot be listed",
    { ...services, "/consumer_groups": list({ id: id(5) }) },
    /consumers failed: status 404 without a list$/,
  ],
];

for (const [what, answers, message] of refused) {
  test(`readAdminApi refuses ${what}`, async (context) => {
    const kong = await startKong(context, answers);
    await assert.rejects(read(kong), (error) => error instanceof CommandError && message.test(error.message));
  });
}

test("servablePart finds what is not served in a configuration that readAdminApi has read", async (context) => {
  const kong = await startKong(context, {
    ...services,
    "/routes": list({ id: id(2), name: "r", paths: ["/"], service: { id: id(1) }, protocols: ["http", "https"] }),
    "/plugins": list({ id: id(3), name: "oauth2", route: { id: id(2) }, config: {}, ordering: null, enabled: true }),
  });
  const { unserved, served } = servablePart(await read(kong));
  assert.deepEqual(
    unserved.map(({ outcome, violation }) => [outcome, violation.path]),
    [["closed", ["plugins", 0, "name"]]],
  );
  assert.deepEqual([served.services, served.routes, served.plugins], [1, 1, 0]);
});
