import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, before, describe, it } from "node:test";
import type { FastifyInstance } from "fastify";
import { getIntrospectionQuery } from "graphql";
import type { Database } from "./store/database.ts";
import { openPglite } from "./store/pglite.ts";
import { openUserStore } from "./store/sql-store.ts";
import { postQuery, replyCodesOf, testApp } from "./testing.ts";

const CREATE =
  "mutation Create($name: String!, $email: String!) { createUser(name: $name, email: $email) { id name email } }";
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("the user directory", () => {
  let app: FastifyInstance;
  let database: Database;
  const queries: string[] = [];

  before(async () => {
    const real = await openPglite();
    database = {
      ...real,
      query(text, values) {
        queries.push(text);
        return real.query(text, values);
      },
    };
    ({ app } = await testApp({ store: await openUserStore(database) }));
  });
  after(() => app?.close());

  async function create(name: string, email = `${randomUUIDv7()}@example.org`) {
    const { data } = await postQuery(app, { query: CREATE, variables: { name, email } });
    return data?.createUser as { id: string; name: string; email: string };
  }

  async function everybody() {
    const { data } = await postQuery(app, { query: "{ users { id } }" });
    return data?.users as { readonly id: string }[];
  }

  it("creates a user with a generated id and returns it to the next query", async () => {
    const ann = await create(" Ann ", "ann@example.org");
    assert.match(ann.id, UUID_V7);
    assert.deepEqual(ann, { id: ann.id, name: "Ann", email: "ann@example.org" });
    const query = "query One($id: ID!) { user(id: $id) { id name email } users { name } }";
    const reply = await postQuery(app, { query, variables: { id: ann.id }, operationName: "One" });
    assert.deepEqual(reply, { status: 200, data: { user: ann, users: [{ name: "Ann" }] } });
  });

  it("answers null and NOT_FOUND for an unknown id", async () => {
    const reply = await postQuery(app, { query: `{ user(id: "${randomUUIDv7()}") { id } }` });
    assert.equal(reply.status, 200);
    assert.deepEqual(reply.data, { user: null });
    assert.deepEqual(
      reply.errors?.map(({ message, path, extensions }) => ({ message, path, extensions })),
      [{ message: "User not found", path: ["user"], extensions: { code: "NOT_FOUND" } }],
    );
  });

  it("asks the store once for an unknown id, even if a plan fails and graphql-js executes the query again", async () => {
    const query = `{ user(id: "${randomUUIDv7()}") { id } }`;
    // From its second execution on, a query is executed by a plan.
    for (let n = 0; n < 4; n++) {
      queries.length = 0;
      const reply = await postQuery(app, { query });
      assert.deepEqual([reply.data, replyCodesOf(reply)], [{ user: null }, ["NOT_FOUND"]]);
      assert.deepEqual(reply.errors?.[0]?.path, ["user"]);
      assert.equal(queries.length, 1, queries.join("\n"));
    }
  });

  it("returns the other fields when one field fails", async () => {
    const bob = await create("Bob");
    const reply = await postQuery(app, { query: `{ a: user(id: "x") { id } b: user(id: "${bob.id}") { name } }` });
    assert.deepEqual(reply.data, { a: null, b: { name: "Bob" } });
    assert.deepEqual(replyCodesOf(reply), ["NOT_FOUND"]);
  });

  it("refuses a new user with invalid values and reports every violation", async () => {
    const reply = await postQuery(app, { query: CREATE, variables: { name: " ", email: "x" } });
    assert.deepEqual(reply.data, { createUser: null });
    assert.deepEqual(reply.errors?.[0]?.extensions, {
      code: "BAD_USER_INPUT",
      violations: [
        { path: ["name"], message: "must not be blank" },
        { path: ["email"], message: "must be an e-mail address, such as ann@example.org" },
      ],
    });
  });

  it("refuses an e-mail address that another user has, regardless of case", async () => {
    await create("Cy", "cy@example.org");
    assert.deepEqual(
      replyCodesOf(await postQuery(app, { query: CREATE, variables: { name: "Cy", email: "CY@Example.ORG" } })),
      ["CONFLICT"],
    );
  });

  it("changes a user and their posts, and shows each change to the next field of the document", async () => {
    const { id } = await create("Dora");
    const query = `mutation ($id: ID!) {
      updateUser(id: $id, name: " Dora M. ", email: null) { name posts { title } }
      createPost(userId: $id, title: "  Hello ") { id title }
      again: updateUser(id: $id) { name posts { title } }
    }`;
    const { data, errors } = await postQuery(app, { query, variables: { id } });
    assert.equal(errors, undefined);
    assert.ok(data);
    const { id: post, title } = data.createPost as { readonly id: string; readonly title: string };
    assert.deepEqual(
      [data.updateUser, title, data.again],
      [{ name: "Dora M.", posts: [] }, "Hello", { name: "Dora M.", posts: [{ title: "Hello" }] }],
    );
    const changes = `mutation ($id: ID!, $post: ID!) {
      updatePost(id: $post, title: "Hi") { title }
      deleteUser(id: $id) { name posts { id title } }
      deletePost(id: $post) { id }
    }`;
    const reply = await postQuery(app, { query: changes, variables: { id, post } });
    assert.deepEqual(reply.data, {
      updatePost: { title: "Hi" },
      deleteUser: { name: "Dora M.", posts: [{ id: post, title: "Hi" }] },
      deletePost: null,
    });
    assert.deepEqual(replyCodesOf(reply), ["NOT_FOUND"]);
  });

  const refusals = [
    ['updateUser(id: "$id", name: "")', "BAD_USER_INPUT", "name must not be blank"],
    ['updateUser(id: "$id", email: "taken@example.org")', "CONFLICT", "Another user has this e-mail address"],
    ['updateUser(id: "x", name: "Ann")', "NOT_FOUND", "User not found"],
    ['deleteUser(id: "x")', "NOT_FOUND", "User not found"],
    ['createPost(userId: "x", title: "Hello")', "NOT_FOUND", "User not found"],
    ['createPost(userId: "$id", title: " ")', "BAD_USER_INPUT", "title must not be blank"],
    ['updatePost(id: "x", title: "Hello")', "NOT_FOUND", "Post not found"],
    ['deletePost(id: "x")', "NOT_FOUND", "Post not found"],
  ] as const;
  for (const [field, code, message] of refusals) {
    it(`refuses ${field} with ${code}`, async () => {
      const { id } = await create("Gil");
      await create("Taken", "taken@example.org");
      const reply = await postQuery(app, { query: `mutation { ${field.replace("$id", id)} { id } }` });
      assert.deepEqual(
        reply.errors?.map(({ message, extensions }) => [extensions?.code, message]),
        [[code, message]],
      );
    });
  }

  it("reads the posts of all users with one query and those of a single user together with the user, anew for each request", async () => {
    const eve = await create("Eve");
    const add = (title: string) =>
      database.query("insert into posts (id, user_id, title) values ($1, $2, $3)", [randomUUIDv7(), eve.id, title]);
    await add("Hello");
    for (let n = 0; n < 20; n++) await create(`User ${n}`);
    queries.length = 0;
    const query = "{ users { name posts { title } } }";
    const { data } = await postQuery(app, { query });
    assert.equal(queries.length, 2, queries.join("\n"));
    // From its second execution on, a query is executed by a plan.
    for (let n = 0; n < 3; n++) {
      queries.length = 0;
      assert.deepEqual(await postQuery(app, { query }), { status: 200, data });
      assert.equal(queries.length, 2, queries.join("\n"));
    }
    queries.length = 0;
    await postQuery(app, { query: "{ a: users { posts { title } } b: users { posts { title } } }" });
    assert.ok(queries.filter((text) => text.includes("from posts")).length <= 2, queries.join("\n"));
    const users = data?.users as { name: string; posts: unknown }[];
    assert.ok(users.length > 20);
    assert.deepEqual(users.find(({ name }) => name === "Eve")?.posts, [{ title: "Hello" }]);
    assert.deepEqual(users.find(({ name }) => name === "User 7")?.posts, []);
    await add("Again");
    // A single user and its posts are read with one query, by graphql-js and by a plan.
    for (let n = 0; n < 3; n++) {
      queries.length = 0;
      const one = await postQuery(app, { query: `{ user(id: "${eve.id}") { posts { title } } }` });
      assert.deepEqual(one.data, { user: { posts: [{ title: "Hello" }, { title: "Again" }] } });
      assert.equal(queries.length, 1, queries.join("\n"));
    }
    const spread = await postQuery(app, {
      query: `{ user(id: "${eve.id}") { ...P } } fragment P on User { posts { title } }`,
    });
    assert.deepEqual(spread.data, { user: { posts: [{ title: "Hello" }, { title: "Again" }] } });
  });

  it("returns pages of users, each after the last user of the previous one", async () => {
    const all = (await everybody()).map(({ id }) => id);
    const paged: string[] = [];
    const query = "query Page($after: ID) { users(first: 7, after: $after) { id } }";
    for (;;) {
      const page = (await postQuery(app, { query, variables: { after: paged.at(-1) } })).data?.users as {
        id: string;
      }[];
      if (page.length === 0) break;
      assert.ok(page.length <= 7);
      paged.push(...page.map(({ id }) => id));
    }
    assert.deepEqual(paged, all);
    const rest = await postQuery(app, { query: `{ users(after: "${all[2]}") { id } }` });
    assert.deepEqual(rest.data, { users: all.slice(3).map((id) => ({ id })) });
  });

  it("returns as many users as a list may have, and beyond that an error that describes paging", async () => {
    const users = await everybody();
    const count = users.length;
    const store = { ...(await openUserStore({ ...database, close: async () => undefined })) };
    for (const [page, fits] of [
      [count, true],
      [count - 1, false],
    ] as const) {
      const own = await testApp({ store, limits: { page } });
      // From its second execution on, a query is executed by a plan.
      for (let n = 0; n < 3; n++) {
        const reply = await postQuery(own.app, { query: "{ users { id } }" });
        assert.equal(reply.status, 200);
        if (fits) assert.deepEqual(reply, { status: 200, data: { users } });
        else {
          assert.deepEqual(reply.data, { users: null });
          assert.deepEqual(reply.errors?.[0]?.extensions, { code: "LIMIT_EXCEEDED", limit: "page", maximum: page });
          assert.match(reply.errors?.[0]?.message ?? "", /ask for a page with users\(first: \d+\).*adding after:/);
        }
      }
      await own.app.close();
    }
  });

  it("refuses invalid page arguments and reports every violation, but accepts null", async () => {
    const codes = { code: "BAD_USER_INPUT" };
    const first = { path: ["first"], message: "must be a whole number from 1 to 1000" };
    const after = { path: ["after"], message: "must be the id of the last user of the previous page" };
    const cases = [
      ["first: 0", [first]],
      ["first: -5", [first]],
      ["first: 1001", [first]],
      ['after: "x"', [after]],
      ['first: 0, after: ""', [first, after]],
    ] as const;
    for (const [page, violations] of cases) {
      const reply = await postQuery(app, { query: `{ users(${page}) { id } }` });
      assert.deepEqual(reply.data, { users: null });
      assert.deepEqual(reply.errors?.[0]?.extensions, { ...codes, violations });
    }
    assert.equal((await postQuery(app, { query: "{ users(first: null, after: null) { id } }" })).errors, undefined);
  });

  it("returns exactly the documented fields by introspection, each with a description", async () => {
    const { data } = await postQuery(app, { query: getIntrospectionQuery() });
    assert.ok(data);
    interface Described {
      readonly name: string;
      readonly description: string | null;
    }
    interface Type extends Described {
      readonly fields: readonly (Described & { readonly args: readonly Described[] })[] | null;
    }
    const { types } = data.__schema as { readonly types: readonly Type[] };
    const fields = (type: string) => types.find(({ name }) => name === type)?.fields?.map(({ name }) => name);
    assert.deepEqual(["Query", "Mutation", "Subscription", "User", "Post"].map(fields), [
      ["user", "users"],
      ["createUser", "updateUser", "deleteUser", "createPost", "updatePost", "deletePost"],
      ["userCreated"],
      ["id", "name", "email", "posts"],
      ["id", "title"],
    ]);
    const described = types.filter(({ name }) => ["Query", "Mutation", "Subscription", "User", "Post"].includes(name));
    for (const type of described) {
      assert.ok(type.description, type.name);
      for (const { name, description, args } of type.fields ?? []) {
        assert.ok(description, `${type.name}.${name}`);
        for (const arg of args) assert.ok(arg.description, `${type.name}.${name}(${arg.name})`);
      }
    }
  });

  it("is ready unless its store fails, and is healthy in both cases", async () => {
    const own = await testApp({
      store: {
        ...(await openUserStore({ ...database, close: async () => undefined })),
        ping: () => Promise.reject(new Error("gone")),
      },
    });
    for (const url of ["/healthz", "/livez", "/readyz"]) assert.equal((await app.inject(url)).statusCode, 200);
    assert.equal((await own.app.inject("/healthz")).statusCode, 200);
    assert.equal((await own.app.inject("/readyz")).statusCode, 503);
    await own.app.close();
  });
});
