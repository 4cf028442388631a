/** Operations of sockets are counted and limited as requests are. */
import assert from "node:assert/strict";
import { on } from "node:events";
import { afterEach, describe, it } from "node:test";
import type { WebSocket } from "ws";
import { arrayStore, fromGateway } from "../testing.ts";
import {
  createUserOperation,
  openAcknowledgedSocket,
  runCleanUps,
  SUBSCRIBE_NAMES,
  startListening,
  subscribe,
  waitForSubscriptions,
} from "./testing.ts";

const USERS = "query All { users { name } }";

/** The messages that a socket receives, one by one, however quickly they arrive. */
function heard(socket: WebSocket): () => Promise<{ readonly type: string; readonly payload?: unknown }> {
  const messages = on(socket, "message");
  return async () => {
    const { value } = await messages.next();
    return JSON.parse(String(value?.[0]));
  };
}

describe("an operation of a socket", () => {
  afterEach(runCleanUps);

  it("counts towards the rate of its client like a request, and the socket stays open", async () => {
    const { app, url, http } = await startListening({ requestsPerMinute: 3 });
    // The upgrade is the first of the counted requests.
    const socket = await openAcknowledgedSocket(url, { headers: fromGateway });
    const next = heard(socket);
    const answers = [];
    for (const id of ["1", "2", "3"]) {
      socket.send(subscribe(id, USERS));
      const first = await next();
      answers.push(first.type);
      if (first.type === "next") assert.equal((await next()).type, "complete");
      else {
        const [error] = first.payload as readonly { extensions: { code: string; seconds: number } }[];
        assert.equal(error?.extensions.code, "RATE_LIMITED");
        assert.ok(Number(error?.extensions.seconds) >= 1);
      }
    }
    assert.deepEqual(answers, ["next", "next", "error"]);
    assert.equal((await fetch(`${http}?query={users{id}}`, { headers: fromGateway })).status, 429);
    // Another client has a rate of its own.
    assert.equal((await fetch(`${http}?query={users{id}}`)).status, 200);
    assert.equal(socket.readyState, socket.OPEN);
    assert.match((await app.inject("/metrics")).body, /^sluice_user_api_rate_limited_total 2$/m);
  });

  it("is in the metrics: queries, subscriptions and refusals", async () => {
    const { app, url } = await startListening();
    const socket = await openAcknowledgedSocket(url);
    const next = heard(socket);
    socket.send(subscribe("1", USERS));
    await next();
    await next();
    socket.send(subscribe("2", "{ nobody }"));
    assert.equal((await next()).type, "error");
    socket.send(subscribe("3", SUBSCRIBE_NAMES));
    await waitForSubscriptions(app, 1);
    const { body } = await app.inject("/metrics");
    for (const line of [
      'sluice_user_api_operations_total{operation="All",type="query",outcome="ok"} 1',
      'sluice_user_api_operations_total{operation="",type="subscription",outcome="ok"} 1',
      'sluice_user_api_fields_total{field="Subscription.userCreated"} 1',
      'sluice_user_api_errors_total{code="GRAPHQL_VALIDATION_FAILED"} 1',
      'sluice_user_api_live{kind="socket"} 1',
      'sluice_user_api_live{kind="subscription"} 1',
    ]) {
      assert.ok(body.split("\n").includes(line), line);
    }
  });

  it("may name a trusted document by its id, its hash or its text, and by nothing else", async () => {
    const byId = new Map([["all", USERS]]);
    const { url } = await startListening({ trusted: { byId, texts: new Set(byId.values()) } });
    const socket = await openAcknowledgedSocket(url);
    const next = heard(socket);
    const hash = (sha256Hash: string) => ({ extensions: { persistedQuery: { version: 1, sha256Hash } } });
    const asked = [
      [{ query: USERS }, "next"],
      [{ query: USERS, documentId: null }, "next"],
      [{ query: "", documentId: "all" }, "next"],
      [{ query: "", ...hash("all") }, "next"],
      [{ query: "", ...hash("none") }, "PERSISTED_QUERY_NOT_FOUND"],
      [{ query: "", documentId: "__proto__" }, "PERSISTED_QUERY_NOT_FOUND"],
      [{ query: "{ users { id } }" }, "PERSISTED_QUERY_NOT_FOUND"],
      [{ query: "{ users { id } }", documentId: "all" }, "BAD_REQUEST"],
      [{ query: "", documentId: 1 }, "BAD_REQUEST"],
      [{ query: "" }, "BAD_REQUEST"],
    ] as const;
    for (const [payload, expected] of asked) {
      socket.send(JSON.stringify({ id: "1", type: "subscribe", payload }));
      const { type, payload: answer } = await next();
      if (type === "next") assert.equal((await next()).type, "complete");
      const [error] = type === "next" ? [] : (answer as readonly { readonly extensions: { readonly code: string } }[]);
      assert.equal(error?.extensions.code ?? type, expected, JSON.stringify(payload));
    }
  });

  it("that takes too long ends with TIMEOUT, which is counted, and the socket stays open", async () => {
    const store = arrayStore({ users: () => new Promise<never>(() => {}) });
    const { app, url } = await startListening({ store, limits: { milliseconds: 20 } });
    const socket = await openAcknowledgedSocket(url);
    const next = heard(socket);
    socket.send(subscribe("1", USERS));
    const { type, payload } = await next();
    assert.equal(type, "error");
    assert.match(JSON.stringify(payload), /"code":"TIMEOUT"/);
    const { body } = await app.inject("/metrics");
    assert.match(body, /^sluice_user_api_operations_total\{operation="All",type="query",outcome="error"\} 1$/m);
    assert.match(body, /^sluice_user_api_errors_total\{code="TIMEOUT"\} 1$/m);
    socket.send('{"type":"ping"}');
    assert.equal((await next()).type, "pong");
  });

  it("that subscribes receives an error for an event that takes too long, and then the next events", async () => {
    let calls = 0;
    const postsOf = (ids: readonly string[]) => {
      calls += 1;
      return calls === 1 ? new Promise<never>(() => {}) : Promise.resolve(ids.map(() => []));
    };
    const { app, url, http } = await startListening({ store: arrayStore({ postsOf }), limits: { milliseconds: 50 } });
    const socket = await openAcknowledgedSocket(url);
    const next = heard(socket);
    socket.send(subscribe("1", "subscription { userCreated { name posts { title } } }"));
    await waitForSubscriptions(app, 1);
    for (const name of ["ann", "bob"]) {
      const headers = { "content-type": "application/json" };
      await fetch(http, { method: "POST", headers, body: JSON.stringify(createUserOperation(name)) });
    }
    const first = (await next()).payload as { readonly errors: readonly { extensions: { code: string } }[] };
    assert.deepEqual(
      first.errors.map(({ extensions }) => extensions.code),
      ["TIMEOUT"],
    );
    assert.deepEqual((await next()).payload, { data: { userCreated: { name: "bob", posts: [] } } });
  });
});
