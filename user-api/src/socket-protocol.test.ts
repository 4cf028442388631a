import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MAX_OPERATIONS, makeSocketProtocol } from "./socket-protocol.ts";

const init = '{"type":"connection_init"}';
const subscribe = (id: unknown = "1", payload: unknown = { query: "subscription { userCreated { id } }" }) =>
  JSON.stringify({ type: "subscribe", id, payload });

function acknowledged() {
  const protocol = makeSocketProtocol();
  protocol.received(init);
  protocol.sent({ type: "connection_ack" });
  return protocol;
}

describe("graphql-transport-ws", () => {
  it("lets a client init once", () => {
    const protocol = makeSocketProtocol();
    assert.equal(protocol.received(init), null);
    assert.equal(protocol.received(init)?.code, 4429);
  });

  it("lets nobody subscribe before the acknowledgement", () => {
    const protocol = makeSocketProtocol();
    assert.equal(protocol.received(subscribe())?.code, 4401);
    protocol.received(init);
    assert.equal(protocol.received(subscribe())?.code, 4401);
    protocol.sent({ type: "connection_ack" });
    assert.equal(protocol.received(subscribe()), null);
  });

  it("lets an id be used by one operation at a time", () => {
    const protocol = acknowledged();
    const endings = [
      () => protocol.received('{"type":"complete","id":"1"}'),
      () => protocol.sent({ type: "complete", id: "1" }),
      () => protocol.sent({ type: "error", id: "1" }),
    ];
    for (const end of endings) {
      assert.equal(protocol.received(subscribe()), null);
      assert.deepEqual(protocol.received(subscribe()), { code: 4409, reason: "Subscriber for 1 already exists" });
      end();
    }
    assert.equal(protocol.received(subscribe()), null);
  });

  it(`lets a socket have ${MAX_OPERATIONS} operations`, () => {
    const protocol = acknowledged();
    for (let n = 0; n < MAX_OPERATIONS; n++) assert.equal(protocol.received(subscribe(`${n}`)), null);
    assert.equal(protocol.received(subscribe("more"))?.code, 4400);
  });

  it("lets ping and pong pass at any time", () => {
    for (const type of ["ping", "pong"]) assert.equal(makeSocketProtocol().received(JSON.stringify({ type })), null);
  });

  const malformed = [
    "",
    "{",
    "null",
    "[]",
    "{}",
    '{"type":1}',
    '{"type":"start"}',
    '{"type":"connection_init","payload":1}',
    subscribe(1),
    subscribe(""),
    subscribe("1", null),
    subscribe("1", {}),
    subscribe("1", { query: { kind: "Document" } }),
    subscribe("1", { query: "{a}", variables: [] }),
    subscribe("1", { query: "{a}", operationName: 1 }),
  ];
  for (const text of malformed) {
    it(`closes on ${text === "" ? "an empty frame" : text}`, () => {
      const protocol = text.includes("connection_init") ? makeSocketProtocol() : acknowledged();
      assert.equal(protocol.received(text)?.code, 4400);
    });
  }

  it("keeps the reason short enough for a close frame", () => {
    const protocol = acknowledged();
    const id = "🐙".repeat(500);
    protocol.received(subscribe(id));
    assert.ok(Buffer.byteLength(protocol.received(subscribe(id))?.reason ?? "") <= 123);
  });
});
