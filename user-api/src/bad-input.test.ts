/** Malformed and hostile input is answered in time and without an internal error, and the server keeps running. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { after, afterEach, before, describe, it } from "node:test";
import type { FastifyInstance } from "fastify";
import { postQuery, replyCodesOf, type TestApp, testApp } from "./testing.ts";

const USER = "query One($id: ID!) { user(id: $id) { id } }";
const levels = (count: number): string => `{ users ${"{ posts ".repeat(count)} ${"}".repeat(count)} }`;
const times = (count: number, make: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => make(n)).join(" ");

describe("bad input over HTTP", () => {
  let app: FastifyInstance;
  let logged: TestApp["logged"];
  let port: number;
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown): void => void unhandled.push(reason);

  before(async () => {
    process.on("unhandledRejection", onUnhandled);
    ({ app, logged } = await testApp());
    const address = await app.listen({ host: "127.0.0.1", port: 0 });
    port = Number(new URL(address).port);
  });
  afterEach(async () => {
    const { data } = await postQuery(app, { query: "{ users { id } }" });
    assert.deepEqual(data, { users: [] });
    assert.deepEqual(unhandled, []);
  });
  after(async () => {
    await app.close();
    process.off("unhandledRejection", onUnhandled);
  });

  const refused: readonly (readonly [string, object, number, string])[] = [
    ["a query of 1 MB", { query: `{ users { ${"id ".repeat(350_000)} } }` }, 413, "LIMIT_EXCEEDED"],
    [
      "variables of 1 MB",
      { query: "{ users { id } }", variables: { a: "x".repeat(1_000_000) } },
      413,
      "LIMIT_EXCEEDED",
    ],
    ["as many tokens as fit into a request", { query: `{ users { ${"a ".repeat(60_000)} } }` }, 400, "LIMIT_EXCEEDED"],
    ["a comment of 100 kB without a query", { query: `#${"x".repeat(100_000)}` }, 400, "GRAPHQL_PARSE_FAILED"],
    [
      "a string of 100 kB that does not end",
      { query: `{ user(id: "${"x".repeat(100_000)}` },
      400,
      "GRAPHQL_PARSE_FAILED",
    ],
    ["1,000 levels of fields", { query: levels(1_000) }, 400, "LIMIT_EXCEEDED"],
    ["300 levels of fields, within the limit of tokens", { query: levels(300) }, 400, "LIMIT_EXCEEDED"],
    ["50,000 levels of fields that are never closed", { query: "{a".repeat(50_000) }, 400, "LIMIT_EXCEEDED"],
    [
      "400 levels of lists in an argument",
      { query: `{ user(id: ${"[".repeat(400)}${"]".repeat(400)}) { id } }` },
      400,
      "GRAPHQL_VALIDATION_FAILED",
    ],
    [
      "400 levels of lists in a type",
      { query: `query($a: ${"[".repeat(400)}ID${"]".repeat(400)}) { users { id } }` },
      400,
      "GRAPHQL_VALIDATION_FAILED",
    ],
    ["10,000 aliases", { query: `{ users { ${times(10_000, (n) => `a${n}:id`)} } }` }, 400, "LIMIT_EXCEEDED"],
    ["200 aliases", { query: `{ users { ${times(200, (n) => `a${n}:id`)} } }` }, 400, "LIMIT_EXCEEDED"],
    ["the same field 900 times", { query: `{ ${"users ".repeat(900)} }` }, 400, "LIMIT_EXCEEDED"],
    [
      "400 unknown directives",
      { query: `{ users ${times(400, (n) => `@a${n}`)} { id } }` },
      400,
      "GRAPHQL_VALIDATION_FAILED",
    ],
    [
      "circular fragments",
      { query: "{ users { ...A } } fragment A on User { ...B } fragment B on User { ...A }" },
      400,
      "GRAPHQL_VALIDATION_FAILED",
    ],
    [
      "a fragment within itself",
      { query: "{ users { ...A } } fragment A on User { id ...A }" },
      400,
      "GRAPHQL_VALIDATION_FAILED",
    ],
    [
      "fragments that double a hundred times",
      {
        query: `{ users { ...F0 } } ${times(100, (n) => `fragment F${n} on User { ...F${n + 1} ...F${n + 1} }`)} fragment F100 on User { id }`,
      },
      400,
      "LIMIT_EXCEEDED",
    ],
    [
      "two fragments with the same name",
      { query: "{ users { ...A } } fragment A on User { id } fragment A on User { name }" },
      400,
      "GRAPHQL_VALIDATION_FAILED",
    ],
    ["an unknown fragment", { query: "{ users { ...Nobody } }" }, 400, "GRAPHQL_VALIDATION_FAILED"],
    [
      "an unknown fragment called constructor",
      { query: "{ users { ...constructor } }" },
      400,
      "GRAPHQL_VALIDATION_FAILED",
    ],
    ["a missing variable", { query: USER }, 400, "BAD_USER_INPUT"],
    ["null for a required variable", { query: USER, variables: { id: null } }, 400, "BAD_USER_INPUT"],
    ["an object for an id", { query: USER, variables: { id: { toString: "x" } } }, 400, "BAD_USER_INPUT"],
    ["a list for an id", { query: USER, variables: { id: ["x"] } }, 400, "BAD_USER_INPUT"],
    ["a fractional number for an id", { query: USER, variables: { id: 1.5 } }, 400, "BAD_USER_INPUT"],
    [
      "a string for a number",
      { query: "query($n: Int) { users(first: $n) { id } }", variables: { n: "5" } },
      400,
      "BAD_USER_INPUT",
    ],
    [
      "a number beyond 32 bits",
      { query: "query($n: Int) { users(first: $n) { id } }", variables: { n: 2 ** 40 } },
      400,
      "BAD_USER_INPUT",
    ],
    [
      "a literal number beyond 32 bits",
      { query: "{ users(first: 99999999999) { id } }" },
      400,
      "GRAPHQL_VALIDATION_FAILED",
    ],
    [
      "a variable of an unknown type",
      { query: "query($a: Nobody) { users { id } }" },
      400,
      "GRAPHQL_VALIDATION_FAILED",
    ],
    ["a variable of an output type", { query: "query($a: User) { users { id } }" }, 400, "GRAPHQL_VALIDATION_FAILED"],
    [
      "variables nested 1,000 levels deep",
      { query: "{ users { id } }", variables: { a: JSON.parse(`${"[".repeat(1_000)}${"]".repeat(1_000)}`) } },
      400,
      "LIMIT_EXCEEDED",
    ],
    ...["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf", "prototype", "__defineGetter__"].flatMap(
      (name): (readonly [string, object, number, string])[] => [
        [`the field ${name} of the root`, { query: `{ ${name} }` }, 400, "GRAPHQL_VALIDATION_FAILED"],
        [`the field ${name} of a user`, { query: `{ users { ${name} } }` }, 400, "GRAPHQL_VALIDATION_FAILED"],
        [`the argument ${name}`, { query: `{ users(${name}: 1) { id } }` }, 400, "GRAPHQL_VALIDATION_FAILED"],
        [`the directive ${name}`, { query: `{ users @${name} { id } }` }, 400, "GRAPHQL_VALIDATION_FAILED"],
        [`the type ${name}`, { query: `{ users { ... on ${name} { id } } }` }, 400, "GRAPHQL_VALIDATION_FAILED"],
        [
          `the operation ${name}`,
          { query: "query A { users { id } }", operationName: name },
          400,
          "GRAPHQL_VALIDATION_FAILED",
        ],
      ],
    ),
  ];
  for (const [name, payload, status, code] of refused) {
    it(`is answered with ${status} ${code}, twice: ${name}`, async () => {
      for (let n = 0; n < 2; n++) {
        const response = await app.inject({
          method: "POST",
          url: "/graphql",
          headers: { accept: "application/graphql-response+json" },
          payload,
        });
        assert.equal(response.statusCode, status, response.body.slice(0, 300));
        const codes = replyCodesOf(response.json());
        assert.ok(codes.includes(code), codes.join());
        assert.ok(!("data" in response.json()));
        assert.ok(response.body.length < 100_000, "the response is as long as the request");
      }
    });
  }

  // The specification allows a nullable variable with a default value where null is not allowed; an explicit null is
  // detected only at execution.
  const nulls: readonly (readonly [string, { readonly query: string }, object])[] = [
    ["an id", { query: 'query($a: ID = "x") { user(id: $a) { id } users { id } }' }, { user: null, users: [] }],
    [
      "a name",
      { query: 'mutation($a: String = "x") { createUser(name: $a, email: "a@b.cd") { id } }' },
      { createUser: null },
    ],
    ["the condition of a field", { query: "query($a: Boolean = true) { __typename @skip(if: $a) }" }, {}],
  ];
  for (const [name, payload, data] of nulls) {
    it(`is answered with BAD_USER_INPUT and without an internal error: null for ${name}`, async () => {
      // From its second execution on, a query is executed by a plan.
      for (let n = 0; n < 3; n++) {
        const reply = await postQuery(app, { ...payload, variables: { a: null } });
        assert.deepEqual([reply.status, replyCodesOf(reply)], [200, ["BAD_USER_INPUT"]]);
        assert.deepEqual(reply.data ?? {}, data);
      }
      assert.deepEqual(
        logged.filter(({ level }) => Number(level) > 40),
        [],
      );
    });
  }

  const harmless: readonly (readonly [string, object, object])[] = [
    [
      "aliases called __proto__ and constructor",
      { query: "{ __proto__: users { id } constructor: users { id } }" },
      JSON.parse('{"__proto__":[],"constructor":[]}'),
    ],
    ["undeclared variables", { query: "{ users { id } }", variables: { constructor: 1, toString: 2 } }, { users: [] }],
    [
      "an operation called constructor",
      { query: "query constructor { users { id } }", operationName: "constructor" },
      { users: [] },
    ],
  ];
  for (const [name, payload, data] of harmless) {
    it(`gets the same response each time and adds no member users to Object.prototype: ${name}`, async () => {
      // From its second execution on, a query is executed by a plan.
      const bodies = new Set<string>();
      for (let n = 0; n < 3; n++) {
        const { statusCode, body } = await app.inject({ method: "POST", url: "/graphql", payload });
        assert.equal(statusCode, 200);
        bodies.add(body);
      }
      assert.deepEqual([...bodies], [JSON.stringify({ data })]);
      assert.equal(Object.hasOwn(Object.prototype, "users"), false);
    });
  }

  const raw: readonly (readonly [string, string | Buffer, RegExp])[] = [
    ["bytes that are not HTTP", "hello\r\n\r\n", /^HTTP\/1.1 400 /],
    ["a head of 100 kB", `GET /graphql HTTP/1.1\r\nx: ${"x".repeat(100_000)}\r\n\r\n`, /^HTTP\/1.1 431 /],
    [
      "a URL with broken escapes",
      "GET /graphql?query=%ff%zz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
      /^HTTP\/1.1 200 .*GRAPHQL_PARSE_FAILED/s,
    ],
    [
      "a body that is not JSON",
      'POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 5\r\nconnection: close\r\n\r\n{"q"}',
      /^HTTP\/1.1 400 .*BAD_REQUEST/s,
    ],
    [
      "a body in broken chunks",
      "POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
      /^HTTP\/1.1 400 /,
    ],
  ];
  for (const [name, bytes, answer] of raw) {
    it(`is answered with status ${/\d{3}/.exec(answer.source)}: ${name}`, async () => {
      const socket = connect(port, "127.0.0.1");
      let received = "";
      socket.on("data", (chunk) => {
        received += chunk;
      });
      socket.on("error", () => {});
      socket.write(bytes);
      await new Promise((resolve) => socket.once("close", resolve));
      assert.match(received, answer);
    });
  }
});

describe("a request that stalls", () => {
  const head = "POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 100\r\n";
  for (const [where, bytes] of [
    ["in its head", head],
    ["in its body", `${head}\r\n{"que`],
  ] as const) {
    it(`${where} ends only its own connection, with 408`, async () => {
      const { app } = await testApp({ limits: { receiveMilliseconds: 100 } });
      const { port } = new URL(await app.listen({ host: "127.0.0.1", port: 0 }));
      const socket = connect(Number(port), "127.0.0.1");
      socket.write(bytes);
      assert.match(await text(socket), /^HTTP\/1.1 408 /);
      assert.deepEqual((await postQuery(app, { query: "{ users { id } }" })).data, { users: [] });
      await app.close();
    });
  }
});
