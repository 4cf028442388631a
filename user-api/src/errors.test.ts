import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { FastifyInstance, InjectOptions } from "fastify";
import { defaultLimits } from "./limits/limits.ts";
import { arrayStore, fromGateway, postQuery, replyCodesOf, testApp } from "./testing.ts";

describe("a request that cannot be executed", () => {
  let app: FastifyInstance;
  before(async () => {
    ({ app } = await testApp({ limits: { depth: 2 } }));
  });
  after(() => app.close());

  const USER = "query One($id: ID!) { user(id: $id) { id } }";
  const TWO = "query A { users { id } } query B { users { name } }";
  const documents = [
    ["a syntax error", { query: "{ users" }, 400, "GRAPHQL_PARSE_FAILED"],
    ["a syntax tree instead of a text", { query: '{"kind":"Document","definitions":[]}' }, 400, "GRAPHQL_PARSE_FAILED"],
    ["too many tokens", { query: `{ ${"a ".repeat(defaultLimits.tokens)} }` }, 400, "LIMIT_EXCEEDED"],
    ["an unknown field", { query: "{ nobody }" }, 400, "GRAPHQL_VALIDATION_FAILED"],
    ["fields that are nested too deeply", { query: "{ users { posts { title } } }" }, 400, "LIMIT_EXCEEDED"],
    ["an unknown operation", { query: TWO, operationName: "C" }, 400, "GRAPHQL_VALIDATION_FAILED"],
    [
      "an unknown operation with variables",
      { query: TWO, operationName: "C", variables: {} },
      400,
      "GRAPHQL_VALIDATION_FAILED",
    ],
    ["a missing variable", { query: USER }, 400, "BAD_USER_INPUT"],
    ["a variable that is null", { query: USER, variables: { id: null } }, 400, "BAD_USER_INPUT"],
    ["a variable of a wrong type", { query: USER, variables: { id: {} } }, 400, "BAD_USER_INPUT"],
  ] as const;
  for (const [name, payload, status, code] of documents) {
    it(`with ${name} is answered with ${status} ${code}, twice`, async () => {
      // Documents within the limits are cached the first time.
      for (let n = 0; n < 2; n++) {
        const reply = await postQuery(app, payload);
        assert.equal(reply.status, status);
        assert.deepEqual(replyCodesOf(reply), [code]);
        assert.ok(!("data" in reply));
      }
    });
  }

  const get = (query: string) =>
    ({ url: "/graphql", query: { query }, headers: { accept: "application/graphql-response+json" } }) as const;
  const json = { "content-type": "application/json" };
  const requests: readonly (readonly [string, InjectOptions, number, string])[] = [
    ["JSON that is broken", { method: "POST", url: "/graphql", headers: json, payload: '{"que' }, 400, "BAD_REQUEST"],
    ["no document", { method: "POST", url: "/graphql", payload: {} }, 400, "BAD_REQUEST"],
    [
      "a list of documents",
      { method: "POST", url: "/graphql", payload: [{ query: "{users{id}}" }] },
      400,
      "BAD_REQUEST",
    ],
    [
      "a form",
      {
        method: "POST",
        url: "/graphql",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        payload: "query={users{id}}",
      },
      415,
      "BAD_REQUEST",
    ],
    [
      "a body that is too large",
      { method: "POST", url: "/graphql", payload: { query: " ".repeat(defaultLimits.bytes) } },
      413,
      "LIMIT_EXCEEDED",
    ],
    ["a mutation by GET", get('mutation { createUser(name: "a", email: "a@b.cd") { id } }'), 405, "BAD_REQUEST"],
    ["two operations and no name by GET", get(TWO), 400, "GRAPHQL_VALIDATION_FAILED"],
    ["a syntax error by GET", get("{"), 400, "GRAPHQL_PARSE_FAILED"],
    [
      "variables by GET that are not JSON",
      { url: "/graphql", query: { query: "{users{id}}", variables: "{" } },
      400,
      "BAD_REQUEST",
    ],
  ];
  for (const [name, request, status, code] of requests) {
    it(`with ${name} is answered with ${status} ${code}`, async () => {
      const response = await app.inject(request);
      assert.equal(response.statusCode, status, response.body);
      assert.deepEqual(replyCodesOf(response.json()), [code]);
    });
  }

  it("is answered with 400 when its document nests thousands of levels deep", async () => {
    const reply = await postQuery(app, { query: "{a".repeat(50_000) });
    assert.deepEqual([reply.status, replyCodesOf(reply)], [400, ["LIMIT_EXCEEDED"]]);
  });

  it("affects neither later queries by GET or as application/graphql, nor the refusal of a later subscription by POST", async () => {
    assert.deepEqual((await app.inject(get("{ users { id } }"))).json(), { data: { users: [] } });
    const headers = { "content-type": "application/graphql" };
    const plain = await app.inject({ method: "POST", url: "/graphql", headers, payload: "{ users { id } }" });
    assert.deepEqual(plain.json(), { data: { users: [] } });
    assert.deepEqual(replyCodesOf(await postQuery(app, { query: "subscription { userCreated { id } }" })), [
      "BAD_REQUEST",
    ]);
  });
});

describe("access", () => {
  const create = 'mutation { createUser(name: "Ann", email: "ann@example.org") { name } }';
  const read = "{ users { name } }";
  const anonymous = { ...fromGateway, "x-anonymous-consumer": "true" };
  const liar = { "x-consumer-id": "1", "x-consumer-username": "demo" };
  const cases = [
    ["open", "a client without a consumer", {}, read, []],
    ["open", "a client without a consumer", {}, create, []],
    ["anonymous-read", "a client without a consumer", {}, read, []],
    ["anonymous-read", "a client without a consumer", {}, create, ["UNAUTHENTICATED"]],
    ["anonymous-read", "an anonymous consumer", anonymous, create, ["UNAUTHENTICATED"]],
    ["anonymous-read", "a client that only claims to be a consumer", liar, create, ["UNAUTHENTICATED"]],
    ["anonymous-read", "a consumer", fromGateway, create, []],
    ["authenticated", "a client without a consumer", {}, read, ["UNAUTHENTICATED"]],
    ["authenticated", "a consumer", fromGateway, read, []],
  ] as const;
  for (const [access, who, headers, query, codes] of cases) {
    it(`with the policy ${access}, ${query.split(" ", 1)[0] === "{" ? "users" : "createUser"} gives ${who} ${codes[0] ?? "no error"}`, async () => {
      const { app } = await testApp({ policy: { access, rules: {} } });
      // From its second execution on, a query is executed by a plan.
      for (let n = 0; n < 3; n++) {
        const reply = await postQuery(app, { query, headers });
        assert.equal(reply.status, 200);
        assert.deepEqual(replyCodesOf(reply), codes);
      }
      await app.close();
    });
  }

  const changes = [
    'updateUser(id: "x") { id }',
    'deleteUser(id: "x") { id }',
    'createPost(userId: "x", title: "Hello") { id }',
    'updatePost(id: "x", title: "Hello") { id }',
    'deletePost(id: "x") { id }',
  ];
  for (const change of changes) {
    it(`lets only consumers with the tag editor call ${change.split("(", 1)[0]}, unless the access is open`, async () => {
      for (const [access, tags, code] of [
        ["open", "", "NOT_FOUND"],
        ["anonymous-read", "reader", "FORBIDDEN"],
        ["authenticated", "reader", "FORBIDDEN"],
        ["authenticated", "reader, editor", "NOT_FOUND"],
      ] as const) {
        const { app } = await testApp({ policy: { access, rules: {} } });
        const headers = { ...fromGateway, "x-consumer-tags": tags };
        assert.deepEqual(
          replyCodesOf(await postQuery(app, { query: `mutation { ${change} }`, headers })),
          [code],
          access,
        );
        await app.close();
      }
    });
  }

  it("requires a tag where a rule demands one", async () => {
    const rules = { "Mutation.createUser": { kind: "scope", tags: ["writer"] } } as const;
    const { app } = await testApp({ policy: { access: "open", rules } });
    const codes = async (tags: string) =>
      replyCodesOf(await postQuery(app, { query: create, headers: { ...fromGateway, "x-consumer-tags": tags } }));
    assert.deepEqual(await codes("reader"), ["FORBIDDEN"]);
    assert.deepEqual(await codes("reader, writer"), []);
    await app.close();
  });

  const refused = [
    ["sends another secret", { "x-gateway-secret": "another" }, true],
    ["comes without the gateway in production", {}, false],
    ["claims to be a consumer without the gateway in production", liar, false],
  ] as const;
  for (const [who, headers, directCalls] of refused) {
    it(`is refused with 401 to a client that ${who}`, async () => {
      const { app } = await testApp({ directCalls });
      const reply = await postQuery(app, { query: read, headers });
      assert.deepEqual([reply.status, replyCodesOf(reply)], [401, ["UNAUTHENTICATED"]]);
      assert.equal((await app.inject("/healthz")).statusCode, 200);
      await app.close();
    });
  }
});

describe("an internal error", () => {
  it("is answered without detail and logged with its cause under the gateway's request id", async () => {
    const cause = new Error("password authentication failed for user sluice");
    const store = arrayStore({ users: () => Promise.reject(cause) });
    const { app, logged } = await testApp({ store });
    const reply = await postQuery(app, {
      query: '{ users { id } user(id: "x") { id } }',
      headers: { "x-request-id": "from-gateway" },
    });
    await app.close();
    assert.deepEqual(reply.data, { users: null, user: null });
    const [masked] = reply.errors?.filter(({ path }) => path?.[0] === "users") ?? [];
    assert.deepEqual(masked, {
      message: "Internal server error; the log has the cause under the request id from-gateway",
      path: ["users"],
      extensions: { code: "INTERNAL_SERVER_ERROR", requestId: "from-gateway" },
    });
    const line = logged.find(({ level }) => level === 50);
    assert.equal(line?.requestId, "from-gateway");
    assert.match(JSON.stringify(line?.err), /password authentication failed/);
  });

  it("has a path in which the position in a list is a number", async () => {
    const user = { id: "1", name: "Ann", email: "ann@example.org" };
    const store = arrayStore({ users: async () => [user], postsOf: () => Promise.reject(new Error("gone")) });
    const { app } = await testApp({ store });
    const reply = await postQuery(app, { query: "{ users { posts { title } } }" });
    await app.close();
    assert.deepEqual(reply.errors?.[0]?.path, ["users", 0, "posts"]);
  });
});

describe("the log of requests", () => {
  it("contains neither query strings nor headers", async () => {
    const { app, logged } = await testApp();
    await app.inject({
      url: "/graphql?query={users{id}}&apikey=hunter2",
      headers: { apikey: "hunter3", "x-request-id": "a b" },
    });
    await app.close();
    const text = JSON.stringify(logged);
    assert.match(text, /"method":"GET","path":"\/graphql"/);
    assert.doesNotMatch(text, /hunter|a b/);
  });
});
