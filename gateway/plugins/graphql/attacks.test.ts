/** Requests that graphql refuses, so that they never reach the service, and those that it forwards. */
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import {
  createMetrics,
  type FakeRequest,
  fakeContext,
  fakeExchange,
  fakeService,
  printMetrics,
} from "../../../test/plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { graphql } from "./index.ts";

const instance = (config: object = {}, context = fakeContext({ plugin: "graphql" })) =>
  graphql.phases(withConfigDefaults("graphql", config), context);

type Phases = ReturnType<typeof instance>;

/** The status and the code of the refusal, with the limit; undefined: the request is forwarded. */
async function refusalOf(request: FakeRequest, phases: Phases = instance()): Promise<string | undefined> {
  const response = await phases.access?.(fakeExchange(request));
  if (response === undefined) return undefined;
  const { errors } = JSON.parse(String(response.body)) as {
    readonly errors: readonly [{ readonly extensions: { readonly code: string; readonly limit?: string } }];
  };
  const { code, limit } = errors[0].extensions;
  return `${response.status} ${code}${limit === undefined ? "" : ` ${limit}`}`;
}

const post = (body: unknown, headers: Readonly<Record<string, string>> = {}, query = ""): FakeRequest => ({
  method: "POST",
  query,
  headers: { "content-type": "application/json", ...headers },
  body: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body),
});
const get = (parameters: Readonly<Record<string, string>>, rest: FakeRequest = {}): FakeRequest => ({
  method: "GET",
  query: `?${new URLSearchParams(parameters)}`,
  ...rest,
});
const many = (count: number, part: (index: number) => string): string =>
  Array.from({ length: count }, (_, at) => part(at)).join(" ");

const QUERY = "query Users { users { name } }";
const digest = hash("sha256", QUERY);
const persisted = (sha256Hash: unknown) => ({ persistedQuery: { version: 1, sha256Hash } });
const doubling = (depth: number): string =>
  `{ a { ...F0 } } ${many(depth, (at) => `fragment F${at} on A { ${at + 1 < depth ? `...F${at + 1} b { ...F${at + 1} }` : "c"} }`)}`;
/** Few fields, but each operation reaches them through many fragments. */
const chained = (length: number, spreads: number, operations: number): string =>
  [
    many(length, (at) => `fragment F${at} on A { ${at + 1 < length ? `...F${at + 1}` : "c"} }`),
    `fragment All on A { a { ${many(spreads, () => "...F0")} } }`,
    many(operations, (at) => `query Q${at} { ...All }`),
  ].join(" ");
const introspection = "{ __schema { types { name fields { type { name ofType { name } } } } } }";

type Row = readonly [attack: string, request: FakeRequest, refusal: string];

const LIMIT = "400 LIMIT_EXCEEDED";
const BAD = "400 BAD_REQUEST";
const PARSE = "400 GRAPHQL_PARSE_FAILED";
const MEDIA = "415 UNSUPPORTED_MEDIA_TYPE";

const documents: readonly Row[] = [
  ["alias overload", post({ query: `{ user { ${many(31, (at) => `a${at}: name`)} } }` }), `${LIMIT} aliases`],
  [
    "alias overload by fragments",
    post({ query: `mutation { ...A ...A } fragment A on Mutation { ${many(16, (at) => `a${at}: login`)} }` }),
    `${LIMIT} rootFields`,
  ],
  ["root fields", post({ query: `{ ${many(21, () => "user")} }` }), `${LIMIT} rootFields`],
  ["directive overload", post({ query: `{ user ${"@a".repeat(51)} }` }), `${LIMIT} directives`],
  [
    "directives of fragments and variables",
    post({ query: `query ($a: A ${"@a".repeat(26)}) { ...F ...F } fragment F on Q ${"@b".repeat(13)} { a }` }),
    `${LIMIT} directives`,
  ],
  ["deep nesting", post({ query: `${"{a".repeat(21)}${"}".repeat(21)}` }), `${LIMIT} depth`],
  [
    "deep nesting by fragments",
    post({ query: `{...F0} ${many(21, (at) => `fragment F${at} on A { a ${at < 20 ? `{ ...F${at + 1} }` : ""} }`)}` }),
    `${LIMIT} depth`,
  ],
  [
    "deep nesting in an operation that is not executed",
    post({ query: `query A { a } query B ${"{a".repeat(21)}${"}".repeat(21)}`, operationName: "A" }),
    `${LIMIT} depth`,
  ],
  ["nested lists in arguments", post({ query: `{ a(b: ${"[".repeat(1000)}${"]".repeat(1000)}) }` }), `${LIMIT} tokens`],
  ["field duplication", post({ query: `{ user { ${"name ".repeat(1001)} } }` }), `${LIMIT} fields`],
  ["fragments that double", post({ query: doubling(18) }), `${LIMIT} fields`],
  ["a chain of fragments that many operations spread often", post({ query: chained(70, 300, 80) }), BAD],
  ["a chain of fragments that one operation spreads often", post({ query: chained(100, 300, 1) }), BAD],
  ["huge number of tokens", post({ query: `{ user { ${"name ".repeat(2000)} } }` }), `${LIMIT} tokens`],
  ["huge comment", post({ query: `{ a } #${"x".repeat(16_384)}` }), `${LIMIT} length`],
  ["a fragment that spreads itself", post({ query: "{ ...A } fragment A on Q { a { ...A } }" }), BAD],
  [
    "circular fragments",
    post({ query: "{ ...A } fragment A on Q { ...B } fragment B on Q { b { ...C } } fragment C on Q { ...A }" }),
    BAD,
  ],
  [
    "circular fragments that no operation uses",
    post({ query: "{ a } fragment A on Q { ...B } fragment B on Q { ...A }" }),
    BAD,
  ],
  ["a fragment that does not exist", post({ query: "{ a { ...A } }" }), BAD],
  ["two fragments with one name", post({ query: "{ ...A } fragment A on Q { a } fragment A on Q { b }" }), BAD],
  ["definitions of types", post({ query: "{ a } type A { b: Int }" }), BAD],
  ["many operations", post({ query: many(101, (at) => `query A${at} { a }`), operationName: "A1" }), BAD],
  ["introspection", post({ query: introspection }), "403 INTROSPECTION_DISABLED"],
  ["introspection by __type", post({ query: '{ t: __type(name: "User") { name } }' }), "403 INTROSPECTION_DISABLED"],
  [
    "introspection in a fragment, behind another field",
    post({ query: "{ __typename ... on Query { ...S } } fragment S on Query { __schema { types { name } } }" }),
    "403 INTROSPECTION_DISABLED",
  ],
  ["introspection by GET", get({ query: introspection }), "403 INTROSPECTION_DISABLED"],
  ["a syntax error", post({ query: "{ users { name }" }), PARSE],
  ["a comment that ends earlier for graphql-java", post({ query: "{ a } #\u2028 query B { b }" }), BAD],
  ["a comment with another line end", post({ query: "{ a #\x0b b\n }" }), BAD],
  ["a string without an end", post({ query: '{ users(name: "a) }' }), PARSE],
  ["no operation", post({ query: "fragment A on Q { a }" }), "400 OPERATION_RESOLUTION_FAILURE"],
  ["an unclear operation", post({ query: "query A { a } query B { b }" }), "400 OPERATION_RESOLUTION_FAILURE"],
  [
    "two operations with one name",
    post({ query: QUERY + QUERY, operationName: "Users" }),
    "400 OPERATION_RESOLUTION_FAILURE",
  ],
];

const requests: readonly Row[] = [
  ["batch of 11", post(Array.from({ length: 11 }, () => ({ query: QUERY }))), `${LIMIT} batch`],
  ["an empty batch", post([]), BAD],
  ["a bad operation in a batch", post([{ query: QUERY }, { query: introspection }]), "403 INTROSPECTION_DISABLED"],
  ["a batch in a batch", post([[{ query: QUERY }]]), BAD],
  ["a mutation by GET", get({ query: "mutation { clear }" }), "405 METHOD_NOT_ALLOWED"],
  [
    "a mutation by GET behind a query",
    get({ query: "query A { a } mutation B { b }", operationName: "B" }),
    "405 METHOD_NOT_ALLOWED",
  ],
  ["a mutation by QUERY", { ...post({ query: "mutation { clear }" }), method: "QUERY" }, "405 METHOD_NOT_ALLOWED"],
  ["a mutation by HEAD", get({ query: "mutation { clear }" }, { method: "HEAD" }), "405 METHOD_NOT_ALLOWED"],
  ["another method", { method: "PUT", body: JSON.stringify({ query: QUERY }) }, "405 METHOD_NOT_ALLOWED"],
  [
    "a form of a web page",
    post("query=mutation+{clear}", { "content-type": "application/x-www-form-urlencoded" }),
    MEDIA,
  ],
  ["text of a web page", post({ query: "mutation { clear }" }, { "content-type": "text/plain" }), MEDIA],
  ["a multipart request", post("--a--", { "content-type": "multipart/form-data; boundary=a" }), MEDIA],
  ["no media type", { method: "POST", body: JSON.stringify({ query: QUERY }) }, MEDIA],
  ["a gzipped body", post(gzipSync(JSON.stringify({ query: introspection })), { "content-encoding": "gzip" }), MEDIA],
  ["another charset", post({ query: QUERY }, { "content-type": "application/json; charset=utf-7" }), MEDIA],
  ["UTF-16", post(Buffer.from(JSON.stringify({ query: introspection }), "utf16le")), BAD],
  ["a byte order mark", post(`\uFEFF${JSON.stringify({ query: QUERY })}`), BAD],
  ["bytes that are not UTF-8", post(Buffer.from([0x22, 0xff, 0x22])), BAD],
  ["a repeated name", post(`{"query":${JSON.stringify(QUERY)},"query":${JSON.stringify(introspection)}}`), BAD],
  ["a repeated name, escaped", post(`{"query":"{a}","\\u0071uery":"{b}"}`), BAD],
  ["a repeated name in variables", post(`{"query":"{a}","variables":{"a":1,"a":2}}`), BAD],
  ["a name in another letter case", post({ query: QUERY, Query: introspection }), BAD],
  ["a name that Go reads as another", post({ query: QUERY, "exten\u017Fions": {} }), BAD],
  ["a query in the URL too", post({ query: QUERY }, {}, `?query=${encodeURIComponent(introspection)}`), BAD],
  ["variables in the URL of a POST request", post({ query: QUERY }, {}, "?variables={}"), BAD],
  [
    "a query in the body of a GET request",
    get({ query: QUERY }, { headers: { "content-length": "9" }, body: "{}" }),
    BAD,
  ],
  ["a body of a GET request over HTTP/2", get({ query: QUERY }, { httpVersion: "2", body: "{}" }), BAD],
  ["a repeated parameter", { method: "GET", query: "?query={a}&query={b}" }, BAD],
  ["a parameter with brackets", { method: "GET", query: "?query={a}&query[]={b}" }, BAD],
  ["a parameter with a space", { method: "GET", query: "?query={a}&%20query={b}" }, BAD],
  ["a parameter after a semicolon", { method: "GET", query: "?query={a}&x=1;query={b}" }, BAD],
  ["variables of a GET request that repeat a name", get({ query: QUERY, variables: '{"a":1,"a":2}' }), BAD],
  ["a body that is too long", post({ query: QUERY, variables: { text: "x".repeat(131_072) } }), "413 BAD_REQUEST"],
  ["deeply nested JSON", post("[".repeat(60_000) + "]".repeat(60_000)), BAD],
  ["no query", post({ operationName: "Users" }), BAD],
  ["a query that is not a string", post({ query: [QUERY] }), BAD],
  ["variables that are not an object", post({ query: QUERY, variables: [1] }), BAD],
  [
    "a name of a prototype's member",
    post({ query: QUERY, operationName: "__proto__" }),
    "400 OPERATION_RESOLUTION_FAILURE",
  ],
  ["a hash that is not that of the document", post({ query: QUERY, extensions: persisted("0".repeat(64)) }), BAD],
  ["a hash that is none", post({ extensions: persisted("../../etc") }), BAD],
  ["a document and the id of another", post({ query: QUERY, documentId: "evil" }), BAD],
  ["an unknown document", post({ documentId: "users" }), BAD],
  ["an unknown document by Relay's id", post({ id: "0".repeat(32) }), BAD],
  ["an unknown document by doc_id", post({ doc_id: "0".repeat(32) }), BAD],
  ["a document and another one by doc_id", post({ query: QUERY, doc_id: "0".repeat(32) }), BAD],
  ["an unknown persisted query", post({ extensions: persisted(digest) }), "200 PERSISTED_QUERY_NOT_FOUND"],
  [
    "a WebSocket",
    { method: "GET", headers: { connection: "upgrade", upgrade: "websocket" } },
    "403 WEBSOCKET_NOT_ALLOWED",
  ],
];

const forwarded: readonly (readonly [what: string, request: FakeRequest, config?: object])[] = [
  ["a query", post({ query: QUERY, variables: { a: [{ b: 1 }] }, operationName: "Users" })],
  ["a mutation", post({ query: "mutation { clear }" })],
  ["a query by QUERY", { ...post({ query: QUERY }), method: "QUERY" }],
  ["a query by GET", get({ query: QUERY, variables: '{"a":1}' })],
  ["a subscription as an event stream by GET", get({ query: "subscription { added { id } }" })],
  ["a batch of 10", post(Array.from({ length: 10 }, () => ({ query: QUERY })))],
  ["__typename", post({ query: "{ __typename users { __typename } }" })],
  ["a depth of 20", post({ query: `${"{a".repeat(20)}${"}".repeat(20)}` })],
  ["30 aliases", post({ query: `{ user { ${many(30, (at) => `a${at}: name`)} } }` })],
  ["introspection, if it is allowed", post({ query: introspection }), { introspection: true }],
  ["a WebSocket, if it is forwarded", { method: "GET", headers: { upgrade: "websocket" } }, { websocket: "forward" }],
  ["an unknown document, if it is forwarded", post({ documentId: "users" }), { unknown_documents: "forward" }],
  ["a page", { method: "GET", query: "?theme=dark&id=7" }],
  ["a preflight request", { method: "OPTIONS" }],
  ["a charset of UTF-8", post({ query: QUERY }, { "content-type": 'application/json; charset="UTF-8"' })],
  ["other parameters in the URL of a POST request", post({ query: QUERY }, {}, "?Users&trace=1;2")],
  ["everything without enforce", post({ query: introspection }, { "content-type": "text/plain" }), { enforce: false }],
];

describe("graphql", () => {
  for (const [attack, request, refusal] of [...documents, ...requests]) {
    it(`refuses ${attack}`, async () => assert.equal(await refusalOf(request), refusal));
  }

  for (const [what, request, config] of forwarded) {
    it(`forwards ${what}`, async () => assert.equal(await refusalOf(request, instance(config)), undefined));
  }

  it("forwards a persisted query after a client has sent the document", async () => {
    const phases = instance();
    const named = post({ extensions: persisted(digest.toUpperCase()) });
    assert.equal(await refusalOf(named, phases), "200 PERSISTED_QUERY_NOT_FOUND");
    assert.equal(await refusalOf(post({ query: QUERY, extensions: persisted(digest) }), phases), undefined);
    assert.equal(await refusalOf(named, phases), undefined);
    assert.equal(await refusalOf(post({ documentId: `sha256:${digest}` }), phases), undefined);
  });

  it("does not read the documents of a batch with too many operations, which would take long", async () => {
    const phases = instance();
    assert.equal(await refusalOf(post(Array.from({ length: 11 }, () => ({ query: QUERY }))), phases), `${LIMIT} batch`);
    assert.equal(await refusalOf(post({ extensions: persisted(digest) }), phases), "200 PERSISTED_QUERY_NOT_FOUND");
  });

  it("refuses a persisted query whose document is beyond a limit", async () => {
    const phases = instance();
    await refusalOf(post({ query: introspection }), phases);
    const named = post({ extensions: persisted(hash("sha256", introspection)) });
    assert.equal(await refusalOf(named, phases), "403 INTROSPECTION_DISABLED");
  });

  for (const [accept, type] of [
    ["application/graphql-response+json", "application/graphql-response+json"],
    ["application/graphql-response+json, application/json;q=0.9", "application/graphql-response+json"],
    ["application/graphql-response+json;q=0.5, application/json", "application/json"],
    ["*/*", "application/json"],
  ] as const) {
    it(`answers with ${type} if the client accepts ${accept}`, async () => {
      const request = post({ query: `{ a(b: 1) ${"@x".repeat(51)} }` }, { accept });
      assert.deepEqual(await instance().access?.(fakeExchange(request)), {
        status: 400,
        headers: { "Content-Type": `${type}; charset=utf-8` },
        body: JSON.stringify({
          errors: [
            {
              message: "The document has too many directives; the limit is 50",
              extensions: { code: "LIMIT_EXCEEDED", limit: "directives", maximum: 50 },
            },
          ],
        }),
        reason: "graphql: The document has too many directives; the limit is 50",
      });
    });
  }

  it("names operations, hashes and the refusal in log records, and counts refusals by code", async () => {
    const metrics = createMetrics({ compat: false, nodeId: "node-1", version: "0.0.0" });
    const phases = instance({ enforce: false }, fakeContext({ plugin: "graphql", metrics }));
    const exchange = fakeExchange({
      ...post([{ query: QUERY }, { query: "{ __schema { x } }" }]),
      service: fakeService(),
    });
    await phases.access?.(exchange);
    assert.deepEqual(Object.fromEntries(exchange.logFields), {
      "graphql.operations": [
        { type: "query", name: "Users", sha256: digest, cost: 1 },
        { type: "query", name: "(unnamed)", sha256: hash("sha256", "{ __schema { x } }"), cost: 2 },
      ],
      "graphql.refused": "INTROSPECTION_DISABLED",
    });
    const text = await printMetrics(metrics.tables);
    assert.match(text, /refused_total\{service="users",code="INTROSPECTION_DISABLED",limit=""\} 1/);
  });
});
