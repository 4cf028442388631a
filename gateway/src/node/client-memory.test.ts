/** The memory of a node while several hundred connections send many requests and read no response body. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { constants } from "node:http2";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { sendRequest } from "../../../test/conformance/engine/client.ts";
import { block, frame, frameBytes, frameFlags } from "../../../test/conformance/engine/http2-frames.ts";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { startFileNode } from "../testing-file-node.ts";

const CONNECTIONS = 450;
const STREAMS = 128;
const MEGABYTE = 1024 * 1024;
/** A SETTINGS frame that sets SETTINGS_INITIAL_WINDOW_SIZE to 0. */
const NO_WINDOW = frameBytes(frame.settings, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]));

/**
 * The bytes that one connection sends: the first request adds a field of 3900 bytes to the HPACK table, and each byte
 * 0xbe in the others refers to this field.
 */
function attack(): Buffer {
  const request = block([
    [":method", "GET"],
    [":scheme", "http"],
    [":path", "/"],
    [":authority", "a"],
  ]);
  const kept = Buffer.concat([Buffer.from([0x40, 1, 0x78, 0x7f, 0xbd, 0x1d]), Buffer.alloc(3900, "a")]);
  const again = Buffer.alloc(3, 0xbe);
  const streams = Array.from({ length: STREAMS }, (_, index) => {
    const fields = Buffer.concat([request, index === 0 ? kept : again]);
    return frameBytes(frame.headers, frameFlags.endStream | frameFlags.endHeaders, index * 2 + 1, fields);
  });
  return Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), NO_WINDOW, ...streams]);
}

/** Counts refused streams in the received frames; an incomplete frame is kept until the rest arrives. */
function countRefusals(socket: Socket, onRefusal: () => void): void {
  let bytes = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    while (bytes.length >= 9 && bytes.length >= 9 + bytes.readUIntBE(0, 3)) {
      const isReset = bytes[3] === frame.reset && bytes.readUInt32BE(9) === constants.NGHTTP2_REFUSED_STREAM;
      if (isReset) onRefusal();
      bytes = bytes.subarray(9 + bytes.readUIntBE(0, 3));
    }
  });
}

async function startNode(context: TestContext) {
  const folder = temporaryFolder("client-memory");
  const file = join(folder.path, "sluice.json");
  writeFileSync(file, JSON.stringify({ _format_version: "3.0" }));
  const env = { SLUICE_PROXY_HTTP2: "true" };
  const { node, proxy, status } = await startFileNode({ file, env });
  context.after(async () => {
    await node.stop();
    folder.remove();
  });
  const held = async () => {
    const { body } = await sendRequest(status, { path: "/metrics" });
    return Number(/^sluice_memory_bytes\{.*kind="clients"\} (\d+)$/m.exec(body)?.[1]);
  };
  /** CPU seconds of the node; the system counts them in hundredths. */
  const busy = () => {
    const [, , user = 0, system = 0] = readFileSync(`/proc/${node.pid}/stat`, "utf8").split(" ").slice(11).map(Number);
    return (user + system) / 100;
  };
  const resident = () => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${node.pid}/status`, "utf8"))?.[1]) * 1024;
  return { proxy, held, resident, busy };
}

test("a node stays within its memory limit and answers other clients while 450 connections send 57,600 requests and accept no response body", async (context) => {
  const { proxy, held, resident, busy } = await startNode(context);
  await sendRequest(proxy);
  const before = resident();
  const busyBefore = busy();
  const sent = attack();
  let [refused, closed, slowest, largest] = [0, 0, 0, 0];
  const sockets = Array.from({ length: CONNECTIONS }, () => {
    const socket = connect(proxy, "127.0.0.1", () => socket.write(sent));
    context.after(() => socket.destroy());
    countRefusals(socket, () => refused++);
    return socket.on("error", () => {}).once("close", () => closed++);
  });
  const ended = Date.now() + 4000;
  while (Date.now() < ended) {
    const asked = performance.now();
    assert.equal((await sendRequest(proxy)).status, 404);
    slowest = Math.max(slowest, performance.now() - asked);
    largest = Math.max(largest, await held());
  }
  const grown = resident() - before;
  context.diagnostic(`${grown / MEGABYTE} MB more, slowest answer ${slowest} ms, ${refused} refused, ${closed} closed`);
  assert.ok(refused > 0 || closed > 0, "some were refused or closed");
  assert.ok(largest <= 128 * MEGABYTE, `${largest} bytes are counted`);
  assert.ok(grown < 200 * MEGABYTE, `${grown / MEGABYTE} MB more`);
  const spent = busy() - busyBefore;
  assert.ok(spent < 6, `${spent} s of CPU`);
  assert.ok(slowest < 8000, `another client was answered after ${slowest} ms`);
  for (const socket of sockets) socket.destroy();
  await waitFor(async () => (await held()) === 0, { what: "all memory to be released" });
});
