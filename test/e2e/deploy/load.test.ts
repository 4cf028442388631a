/** The load of the rollout tests: which errors it counts as failures, and after which errors it repeats a request. */
import assert from "node:assert/strict";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { test } from "node:test";
import { freePort, waitFor } from "../../../tools/process/index.ts";
import { type LoadReport, startLoad } from "./load.ts";

interface Asked {
  readonly id: string;
  /** Whether the client uses keep-alive. */
  readonly kept: boolean;
  /** The number of requests on this connection, including this one. */
  readonly count: number;
}

type Serve = (socket: Socket, asked: Asked) => void;

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const answer: Serve = (socket) => socket.write(ok);

/** How long the load waits for a response, in milliseconds: longer than a busy machine may need. */
const PATIENT = 20_000;
const IMPATIENT = 200;

/** Runs the load on a server with this handler until the server has received 60 requests. */
async function load(serve: Serve, patience = PATIENT): Promise<LoadReport & { readonly seen: readonly Asked[] }> {
  const seen: Asked[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    let count = 0;
    sockets.add(socket);
    // The load sends each request in one piece, so a chunk is a whole request.
    socket
      .on("error", () => {})
      .on("data", (head) => {
        const id = /^x-request-id: (.+)$/m.exec(`${head}`)?.[1] ?? "";
        const asked = { id, kept: /^connection: keep-alive/im.test(`${head}`), count: ++count };
        seen.push(asked);
        serve(socket, asked);
      });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const { stop } = startLoad({ url: `http://127.0.0.1:${port}`, headers: {}, every: 5, patience });
  try {
    await waitFor(() => seen.length >= 60, { what: "60 requests" });
    return { ...(await stop()), seen };
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

/** Handles the third request of each keep-alive connection with `serve`, and answers all others. */
const third =
  (serve: Serve): Serve =>
  (socket, asked) =>
    (asked.kept && asked.count === 3 ? serve : answer)(socket, asked);

test("the load repeats a request once if a keep-alive connection ends without a byte of a response, and reports each such request", async () => {
  const cut: string[] = [];
  const { statuses, failures, repeated, connections, seen } = await load(
    third((socket, { id }) => {
      cut.push(id);
      socket.destroy();
    }),
  );
  assert.ok(cut.length > 3);
  assert.deepEqual([Object.keys(statuses), failures, repeated.toSorted()], [["200"], {}, cut.toSorted()]);
  assert.ok(connections >= cut.length, `${connections} connections`);
  for (const id of cut) {
    const times = seen.filter((one) => one.id === id).map(({ kept }) => kept);
    assert.deepEqual(times, [true, false], "the retry is sent once, on a new connection");
  }
});

const faults: Readonly<Record<string, readonly [serve: Serve, words: RegExp, patience?: number]>> = {
  "silence on a keep-alive connection": [third(() => {}), /^no answer within 0.2 s$/, IMPATIENT],
  "the end of a keep-alive connection within the head of a response": [
    third((socket) => socket.end(ok.slice(0, 20))),
    /^socket hang up$/,
  ],
  "the end of a keep-alive connection within the body of a response": [
    third((socket) => socket.end(ok.slice(0, -1))),
    /^aborted$/,
  ],
  "a malformed response": [third((socket) => socket.end("none\r\n\r\n")), /^Parse Error/],
  "the end of a keep-alive connection before its first response": [
    (socket, asked) => (asked.count === 1 && asked.kept ? socket.destroy() : answer(socket, asked)),
    /^socket hang up$|ECONNRESET/,
  ],
  "the end of a connection without keep-alive": [
    (socket, asked) => (asked.kept ? answer(socket, asked) : socket.destroy()),
    /^socket hang up$|ECONNRESET/,
  ],
};

for (const [what, [serve, words, patience]] of Object.entries(faults))
  test(`the load counts ${what} as a failure, and does not repeat the request`, async () => {
    const { failures, failed, repeated, seen } = await load(serve, patience);
    assert.ok(failed.length > 0, "nothing failed");
    for (const failure of Object.keys(failures)) assert.match(failure, words);
    assert.deepEqual(repeated, []);
    assert.equal(new Set(seen.map(({ id }) => id)).size, seen.length, "the server received a request twice");
  });

test("a repeated request whose connection also ends counts as a failure, and is not sent a third time", async () => {
  const cut = new Set<string>();
  const { failed, repeated, seen } = await load((socket, asked) => {
    if (!cut.has(asked.id) && !(asked.kept && asked.count === 3)) return answer(socket, asked);
    cut.add(asked.id);
    socket.destroy();
  });
  assert.ok(cut.size > 0);
  assert.deepEqual([failed.toSorted(), repeated.toSorted()], [[...cut].toSorted(), [...cut].toSorted()]);
  for (const id of cut) assert.equal(seen.filter((one) => one.id === id).length, 2);
});

test("the load records refused connections, and retries until a connection is accepted", async () => {
  const port = await freePort();
  const { stop } = startLoad({ url: `http://127.0.0.1:${port}`, headers: {}, every: 5 });
  const server = createServer((socket) => socket.on("error", () => {}).on("data", () => socket.end(ok)));
  try {
    await new Promise((resolve) => setTimeout(resolve, 50));
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    const { statuses, failures, refused } = await stop();
    assert.deepEqual([Object.keys(statuses), failures], [["200"], {}]);
    assert.ok(refused.length > 0);
  } finally {
    server.close();
  }
});
