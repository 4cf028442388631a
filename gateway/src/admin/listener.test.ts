/** Requests that the listener does not read to their end. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { type Admin, startAdmin } from "./index.ts";
import { silentLog, testingSettings } from "./testing.ts";
import { createTestingStore } from "./testing-store.ts";

describe("a request that cannot be read", () => {
  let admin: Admin;
  before(async () => {
    admin = await startAdmin({
      settings: testingSettings(),
      opened: createTestingStore(),
      log: silentLog,
      version: "1",
    });
  });
  after(() => admin.close());

  const send = async (raw: string) => {
    const socket = connect(admin.address.port, "127.0.0.1");
    socket.write(raw);
    const answer = await text(socket);
    return { status: Number(answer.slice(9, 12)), body: JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4)) };
  };

  test("gets Kong's message, not Node's, if its method is unknown", async () => {
    assert.deepEqual(await send("FOO /services HTTP/1.1\r\nHost: localhost\r\n\r\n"), {
      status: 405,
      body: { message: "Method not allowed" },
    });
  });

  test("gets a response if its body is too large, even if the client sends the whole body before it reads", async () => {
    const socket = connect(admin.address.port, "127.0.0.1");
    const length = 11 * 1024 * 1024;
    socket.write(
      `POST /batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`,
    );
    for (let piece = 0; piece < 11; piece++) {
      await new Promise<void>((resolve, reject) => {
        socket.write(Buffer.alloc(length / 11, " "), (error) => (error ? reject(error) : resolve()));
      });
    }
    const answer = await text(socket);
    assert.match(answer, /^HTTP\/1\.1 413 /);
    assert.match(answer, /"message":"Payload too large"/);
  });

  test("gets an error message if it is not HTTP", async () => {
    assert.deepEqual(await send("\x16\x03\x01\r\n\r\n"), {
      status: 400,
      body: { message: "the request is not HTTP" },
    });
  });
});
