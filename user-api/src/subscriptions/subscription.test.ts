import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { arrayStore, postQuery, replyCodesOf } from "../testing.ts";
import type { OperationRequest } from "./socket-message.ts";
import {
  createUserOperation,
  firstEvent,
  runCleanUps,
  SUBSCRIBE_NAMES,
  SUBSCRIBE_USERS,
  startListening,
  subscriptionClients,
  waitForSubscriptions,
  waitUntil,
} from "./testing.ts";

afterEach(runCleanUps);

for (const client of subscriptionClients) {
  describe(`the server, as used by ${client.name},`, () => {
    it("sends a created user to every subscriber, with the fields that each selects", async () => {
      const { app, port } = await startListening();
      const queries = [
        SUBSCRIBE_USERS,
        SUBSCRIBE_USERS,
        SUBSCRIBE_USERS,
        SUBSCRIBE_NAMES,
        "subscription { userCreated { e: email } }",
      ];
      const results = queries.map((query) => firstEvent(client, port, { query }));
      await waitForSubscriptions(app, queries.length);
      const { data } = await postQuery(app, createUserOperation("ann"));
      const { id } = (data as { createUser: { id: string } }).createUser;
      const whole = { name: "ann", email: "ann@example.org", posts: [{ title: `a post of ${id}` }] };
      assert.deepEqual(await Promise.all(results), [
        { data: { userCreated: whole } },
        { data: { userCreated: whole } },
        { data: { userCreated: whole } },
        { data: { userCreated: { name: "ann" } } },
        { data: { userCreated: { e: "ann@example.org" } } },
      ]);
    });

    it("executes equal subscriptions once per event, and separately for each set of variables", async () => {
      let reads = 0;
      const store = arrayStore({
        async postsOf(ids) {
          reads += 1;
          return ids.map(() => []);
        },
      });
      const { app, port } = await startListening({ store });
      const query = "subscription ($a: Boolean!) { userCreated { name posts { title } email @include(if: $a) } }";
      const variables = [true, true, true, false, false];
      const results = variables.map((a) => firstEvent(client, port, { query, variables: { a } }));
      await waitForSubscriptions(app, variables.length);
      await postQuery(app, createUserOperation("ann"));
      const fields = (await Promise.all(results)).map(({ data }) => Object.keys(data?.userCreated as object));
      assert.deepEqual(
        fields.map((names) => names.includes("email")),
        variables,
      );
      assert.ok(reads <= 2, `${reads} reads`);
    });

    it("sends users in the order of their creation, and stops when the client unsubscribes", async () => {
      // Each read of posts takes less time than the one before it.
      const gates = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
      let reads = 0;
      const store = arrayStore({
        async postsOf(ids) {
          reads += 1;
          await gates[reads - 1]?.promise;
          return ids.map(() => []);
        },
      });
      const { app, port } = await startListening({ store });
      const results = client.iterate(port, { query: SUBSCRIBE_USERS });
      const names: unknown[] = [];
      const first = results.next();
      await waitForSubscriptions(app, 1);
      for (const name of ["a", "b", "c"]) await postQuery(app, createUserOperation(name));
      for (const { resolve } of gates.toReversed()) resolve();
      for (const next of [first, results.next(), results.next()]) {
        const { data } = (await next).value as { data: { userCreated: { name: string } } };
        names.push(data.userCreated.name);
      }
      assert.deepEqual(names, ["a", "b", "c"]);
      await results.return?.();
      await waitForSubscriptions(app, 0);
    });

    it("does not send a user whose creation was refused", async () => {
      const { app, port } = await startListening();
      const first = firstEvent(client, port, { query: SUBSCRIBE_NAMES });
      await waitForSubscriptions(app, 1);
      assert.deepEqual(replyCodesOf(await postQuery(app, createUserOperation(" "))), ["BAD_USER_INPUT"]);
      await postQuery(app, createUserOperation("bob"));
      assert.deepEqual(await first, { data: { userCreated: { name: "bob" } } });
    });

    it("also executes queries and mutations", async () => {
      const { app, port } = await startListening();
      const { data } = await firstEvent(client, port, createUserOperation("ann"));
      const { id } = (data as { createUser: { id: string } }).createUser;
      const query = "query One($id: ID!) { user(id: $id) { name } }";
      const operation = { query, variables: { id }, operationName: "One" };
      assert.deepEqual(await firstEvent(client, port, operation), { data: { user: { name: "ann" } } });
      await waitUntil(() => app.subscriptions.counts().streams === 0);
    });

    it("returns the errors of a query with its data", async () => {
      const { port } = await startListening();
      const { data, errors } = await firstEvent(client, port, { query: '{ user(id: "x") { name } }' });
      assert.deepEqual(data, { user: null });
      assert.deepEqual(
        errors?.map(({ extensions }) => extensions?.code),
        ["NOT_FOUND"],
      );
    });

    const INVALID = "GRAPHQL_VALIDATION_FAILED";
    const refused: readonly (readonly [name: string, OperationRequest, code: string, limit?: string])[] = [
      ["a syntax error", { query: "subscription {" }, "GRAPHQL_PARSE_FAILED"],
      ["an unknown field", { query: "subscription { userCreated { age } }" }, "GRAPHQL_VALIDATION_FAILED"],
      [
        "two root fields",
        { query: "subscription { userCreated { id } b: userCreated { id } }" },
        "GRAPHQL_VALIDATION_FAILED",
      ],
      ["fields that are nested too deeply", { query: SUBSCRIBE_USERS }, "LIMIT_EXCEEDED"],
      ["too many tokens", { query: `subscription { userCreated { ${"id ".repeat(2_000)} } }` }, "LIMIT_EXCEEDED"],
      [
        "too many aliases",
        {
          query: `subscription { userCreated { ${Array.from({ length: 31 }, (_, n) => `a${n}: id`).join(" ")} } }`,
        },
        "LIMIT_EXCEEDED",
      ],
      [
        "a missing variable",
        { query: "subscription ($a: Boolean!) { userCreated { id @skip(if: $a) } }" },
        "BAD_USER_INPUT",
      ],
      [
        "a variable that is nested too deeply",
        {
          query: "subscription ($a: Boolean!) { userCreated { id @skip(if: $a) } }",
          variables: { a: true, b: [[[[[[[[[[1]]]]]]]]]] },
        },
        "LIMIT_EXCEEDED",
      ],
      ["a list that costs too much", { query: `{ users(first: 900) { name } }` }, "LIMIT_EXCEEDED", "cost"],
      [
        "an event that costs too much",
        { query: `subscription { userCreated { ${"id ".repeat(300)} } }` },
        "LIMIT_EXCEEDED",
        "cost",
      ],
      [
        "too many root fields",
        { query: `{ ${Array.from({ length: 11 }, (_, n) => `a${n}: __typename`).join(" ")} }` },
        "LIMIT_EXCEEDED",
        "rootFields",
      ],
      [
        "too many root fields of a subscription",
        { query: `subscription { ${"userCreated { id } ".repeat(11)} }` },
        "LIMIT_EXCEEDED",
        "rootFields",
      ],
      ["a field that is skipped", { query: `subscription { userCreated @skip(if: true) { id } }` }, INVALID],
      [
        "a field whose inclusion depends on a variable",
        {
          query: "subscription ($a: Boolean!) { userCreated @include(if: $a) { id } }",
          variables: { a: false },
        },
        INVALID,
      ],
      [
        "a field in a fragment whose inclusion depends on a variable",
        {
          query:
            "subscription ($a: Boolean = false) { ... { ...A @include(if: $a) } } fragment A on Subscription { userCreated { id } }",
        },
        INVALID,
      ],
      [
        "a field that is skipped in a fragment",
        {
          query:
            "subscription { ...A } fragment A on Subscription { ...B } fragment B on Subscription { ...A userCreated @skip(if: true) { id } }",
        },
        INVALID,
      ],
      [
        "a query in the document of a subscription whose field is conditional",
        {
          query: `query A { __typename } subscription B($a: Boolean!) { userCreated @include(if: $a) { id } }`,
          operationName: "A",
        },
        INVALID,
      ],
      ["an unknown operation", { query: `${SUBSCRIBE_NAMES}`, operationName: "B" }, "GRAPHQL_VALIDATION_FAILED"],
      ["introspection", { query: '{ __type(name: "User") { name } }' }, "GRAPHQL_VALIDATION_FAILED"],
    ];
    for (const [name, operation, code, limit] of refused) {
      it(`refuses ${name} with ${code}`, async () => {
        const limits = { depth: 2, cost: 250 };
        const { app, port, logged } = await startListening({ limits, introspection: false });
        await assert.rejects(firstEvent(client, port, operation), (errors: unknown) => {
          assert.ok(Array.isArray(errors), String(errors));
          assert.deepEqual(
            errors.map(({ extensions }) => extensions.code),
            [code],
          );
          if (limit !== undefined) assert.equal(errors[0].extensions.limit, limit);
          return true;
        });
        assert.equal(app.subscriptions.counts().subscriptions, 0);
        assert.deepEqual(
          logged.filter(({ level }) => Number(level) > 30),
          [],
        );
      });
    }

    it("refuses a caller that may not subscribe", async () => {
      const { port } = await startListening({ policy: { access: "authenticated", rules: {} } });
      await assert.rejects(firstEvent(client, port, { query: SUBSCRIBE_USERS }), (errors: { extensions: object }[]) => {
        assert.deepEqual(errors[0]?.extensions, { code: "UNAUTHENTICATED" });
        return true;
      });
    });

    it("reports an internal error without detail", async () => {
      const store = arrayStore({ postsOf: () => Promise.reject(new Error("secret of the database")) });
      const { app, port, logged } = await startListening({ store });
      const first = firstEvent(client, port, { query: SUBSCRIBE_USERS });
      await waitForSubscriptions(app, 1);
      await postQuery(app, createUserOperation("ann"));
      const { errors } = await first;
      assert.deepEqual(
        errors?.map(({ extensions }) => extensions?.code),
        ["INTERNAL_SERVER_ERROR"],
      );
      assert.doesNotMatch(JSON.stringify(errors), /secret/);
      assert.match(JSON.stringify(logged), /secret of the database/);
    });
  });
}
