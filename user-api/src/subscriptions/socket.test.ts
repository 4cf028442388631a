import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { afterEach, describe, it } from "node:test";
import type { WebSocket } from "ws";
import { ActiveOperation } from "./connection.ts";
import { openSocket } from "./socket.ts";
import type { OperationRequest } from "./socket-message.ts";
import { runAtEnd, runCleanUps } from "./testing.ts";

afterEach(runCleanUps);

const query = "subscription { userCreated { id } }";
const init = '{"type":"connection_init"}';
const subscribe = (id: unknown = "1", payload: unknown = { query }) =>
  JSON.stringify({ type: "subscribe", id, payload });

interface BegunOperation {
  readonly request: OperationRequest;
  readonly receiver: ActiveOperation;
}

/** A socket without a network: it delivers no frame, so that all frames stay buffered. */
class FakeSocket extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  readonly bufferedAmount = 0;
  readonly sent: unknown[] = [];
  readonly closed: [number, string][] = [];
  send(frame: string): void {
    this.sent.push(JSON.parse(frame));
  }
  close(code: number, reason: string): void {
    this.closed.push([code, reason]);
  }
}

function open({ acknowledged = true, operations = 3, permits = true } = {}) {
  const socket = new FakeSocket();
  const { sent, closed } = socket;
  const begun: BegunOperation[] = [];
  let slow = 0;
  openSocket(socket as unknown as WebSocket, {
    limits: { operations, operationBytes: 1_000, connectionBytes: 1_000, initMilliseconds: 60_000 },
    begin(request, receiver) {
      const active = new ActiveOperation(receiver);
      begun.push({ request, receiver: active });
      return () => active.end();
    },
    admit: () => (permits ? null : [4403, "Forbidden"]),
    slow: () => {
      slow += 1;
    },
    ended: () => undefined,
  });
  runAtEnd(() => socket.emit("close"));
  const session = {
    received: (text: string | null) => void socket.emit("message", Buffer.from(text ?? ""), text === null),
    ended: () => void socket.emit("close"),
  };
  if (acknowledged) {
    session.received(init);
    assert.deepEqual(sent.splice(0), [{ type: "connection_ack" }]);
  }
  const at = (index: number): BegunOperation => {
    const one = begun[index];
    assert.ok(one);
    return one;
  };
  return { session, sent, closed, begun, at, slow: () => slow };
}

describe("graphql-transport-ws", () => {
  it("closes with 4429 on a second connection_init", () => {
    const { session, closed } = open();
    session.received(init);
    assert.deepEqual(closed, [[4429, "Too many initialisation requests"]]);
  });

  it("closes with 4403 when connection_init is refused", () => {
    const { session, sent, closed } = open({ acknowledged: false, permits: false });
    session.received(init);
    assert.deepEqual([sent, closed], [[], [[4403, "Forbidden"]]]);
  });

  it("refuses subscriptions before connection_init", () => {
    const { session, closed, begun } = open({ acknowledged: false });
    session.received(subscribe());
    assert.deepEqual([closed, begun], [[[4401, "Unauthorized"]], []]);
  });

  it("passes an operation on unchanged, and returns its results", () => {
    const { session, sent, at } = open();
    session.received(subscribe("é\n", { query, variables: { a: 1 }, operationName: "A", extensions: {} }));
    assert.deepEqual(at(0).request, { query, variables: { a: 1 }, operationName: "A", extensions: {} });
    at(0).receiver.next('{"data":1}');
    at(0).receiver.next('{"data":2}');
    at(0).receiver.complete();
    assert.deepEqual(sent, [
      { id: "é\n", type: "next", payload: { data: 1 } },
      { id: "é\n", type: "next", payload: { data: 2 } },
      { id: "é\n", type: "complete" },
    ]);
  });

  it("sends no complete after an error", () => {
    const { session, sent, at } = open();
    session.received(subscribe());
    at(0).receiver.fail([{ message: "no" }]);
    at(0).receiver.complete();
    assert.deepEqual(sent, [{ id: "1", type: "error", payload: [{ message: "no" }] }]);
  });

  it("closes with 4409 when an id is in use, and stops all operations", () => {
    const { session, closed, begun, at, sent } = open();
    session.received(subscribe("1"));
    session.received(subscribe("2"));
    session.received(subscribe("1"));
    assert.deepEqual(closed, [[4409, "Subscriber for 1 already exists"]]);
    assert.deepEqual(
      begun.map(({ receiver }) => receiver.ended),
      [true, true],
    );
    at(0).receiver.next("1");
    session.received('{"type":"ping"}');
    assert.deepEqual(sent, []);
  });

  const endings: readonly (readonly [string, (session: ReturnType<typeof open>) => void])[] = [
    ["the client has completed the operation", ({ session }) => session.received('{"type":"complete","id":"1"}')],
    ["the server has completed the operation", ({ at }) => at(0).receiver.complete()],
    ["the operation has failed", ({ at }) => at(0).receiver.fail([])],
  ];
  for (const [name, end] of endings) {
    it(`lets an id be used again when ${name}; results of the former operation are dropped`, () => {
      const opened = open();
      const { session, sent, closed, at } = opened;
      session.received(subscribe());
      end(opened);
      sent.length = 0;
      session.received(subscribe());
      at(0).receiver.next('"former"');
      at(0).receiver.complete();
      at(1).receiver.next('"next"');
      assert.deepEqual([sent, closed], [[{ id: "1", type: "next", payload: "next" }], []]);
    });
  }

  it("stops an operation that the client has completed, and ignores unknown ids", () => {
    const { session, at, closed } = open();
    session.received(subscribe());
    session.received('{"type":"complete","id":"other"}');
    assert.equal(at(0).receiver.ended, false);
    session.received('{"type":"complete","id":"1"}');
    assert.equal(at(0).receiver.ended, true);
    assert.deepEqual(closed, []);
  });

  it("answers pings at any time with their payload, and accepts pongs", () => {
    for (const acknowledged of [false, true]) {
      const { session, sent, closed } = open({ acknowledged });
      session.received('{"type":"ping"}');
      session.received('{"type":"ping","payload":{"a":[1]}}');
      session.received('{"type":"pong","payload":null}');
      assert.deepEqual([sent, closed], [[{ type: "pong" }, { type: "pong", payload: { a: [1] } }], []]);
    }
  });

  it("refuses more operations than a socket may have, and stays open", () => {
    const { session, sent, closed, begun } = open();
    for (const id of ["1", "2", "3", "4"]) session.received(subscribe(id));
    assert.equal(begun.length, 3);
    const message = "A socket may have at most 3 concurrent operations";
    const extensions = { code: "LIMIT_EXCEEDED", limit: "operations", maximum: 3 };
    assert.deepEqual([sent, closed], [[{ id: "4", type: "error", payload: [{ message, extensions }] }], []]);
    session.received('{"type":"complete","id":"1"}');
    session.received(subscribe("4"));
    assert.equal(begun.length, 4);
  });

  it("ends an operation whose results are not read, and no other operation", () => {
    const { session, sent, at, slow } = open();
    session.received(subscribe("1"));
    session.received(subscribe("2"));
    const message = "This client reads its events too slowly";
    const long = "x".repeat(1_000);
    at(0).receiver.next(JSON.stringify(long));
    at(0).receiver.next("2");
    at(0).receiver.next("3");
    at(1).receiver.next("4");
    assert.deepEqual(sent, [
      { id: "1", type: "next", payload: long },
      { id: "1", type: "error", payload: [{ message, extensions: { code: "SLOW_CONSUMER" } }] },
      { id: "2", type: "next", payload: 4 },
    ]);
    assert.deepEqual([at(0).receiver.ended, at(1).receiver.ended, slow()], [true, false, 1]);
  });

  const malformed = [
    null,
    "",
    "{",
    "null",
    "[]",
    '"ping"',
    "{}",
    '{"type":1}',
    '{"type":"start"}',
    '{"type":"toString"}',
    '{"type":"connection_ack"}',
    '{"type":"next","id":"1","payload":{}}',
    '{"type":"error","id":"1","payload":[]}',
    '{"type":"connection_init","payload":1}',
    '{"type":"ping","payload":[]}',
    `{"type":"ping","payload":{"a":${"[".repeat(60_000)}{"1":1}${"]".repeat(60_000)}}}`,
    '{"type":"pong","payload":"x"}',
    '{"type":"complete"}',
    '{"type":"complete","id":""}',
    subscribe(1),
    subscribe(""),
    subscribe("1", null),
    subscribe("1", {}),
    subscribe("1", []),
    subscribe("1", { query: { kind: "Document" } }),
    subscribe("1", { query: "{a}", variables: [] }),
    subscribe("1", { query: "{a}", operationName: 1 }),
    subscribe("1", { query: "{a}", extensions: 1 }),
  ];
  for (const text of malformed) {
    it(`closes with 4400 on ${text === null ? "a binary frame" : text === "" ? "an empty frame" : text.slice(0, 80)}`, () => {
      const { session, closed, begun } = open();
      session.received(text);
      assert.equal(closed.length, 1);
      assert.equal(closed[0]?.[0], 4400);
      assert.match(closed[0]?.[1] ?? "", /^Invalid \w+ (?:message|received)/);
      assert.deepEqual(begun, []);
    });
  }

  it("keeps the reason short enough for a close frame", () => {
    for (const id of ["x".repeat(500), "🐙".repeat(500), `a${"é".repeat(500)}`]) {
      const { session, closed } = open();
      session.received(subscribe(id));
      session.received(subscribe(id));
      const [code, reason = ""] = closed[0] ?? [];
      assert.equal(code, 4409);
      assert.ok(Buffer.byteLength(reason) <= 123 && !reason.includes("\uFFFD"), reason);
    }
  });

  it("stops all operations when the socket is gone", () => {
    const { session, begun, at, sent } = open();
    session.received(subscribe("1"));
    session.received(subscribe("2"));
    session.ended();
    assert.deepEqual(
      begun.map(({ receiver }) => receiver.ended),
      [true, true],
    );
    at(0).receiver.next("1");
    assert.deepEqual(sent, []);
  });
});
