/** 5,000 subscriptions: their memory while idle, and the time for one event to reach all. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { WebSocket } from "ws";
import { atMost, type BenchReport } from "../report.ts";
import { median } from "../rounds.ts";
import { startUserApi } from "./directory.ts";
import type { UserApiStage } from "./index.ts";

const SUBSCRIPTIONS = 5_000;
/** Sockets opened at a time. */
const AT_ONCE = 100;

const megabytesOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]) / 1024;

interface FeedSubscription {
  readonly sockets: readonly WebSocket[];
  /** Resolves once every socket has received one more event. */
  allReceived(): Promise<void>;
}

const query = "subscription { userCreated { id name email posts { title } } }";

async function followOne(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url, "graphql-transport-ws", { perMessageDeflate: false, skipUTF8Validation: true });
  await once(socket, "open");
  socket.send('{"type":"connection_init"}');
  await once(socket, "message");
  socket.send(JSON.stringify({ id: "1", type: "subscribe", payload: { query } }));
  // The server handles messages in order: once it answers the ping, it has handled the subscription.
  socket.send('{"type":"ping"}');
  await once(socket, "message");
  return socket;
}

async function follow(url: string): Promise<FeedSubscription> {
  const sockets: WebSocket[] = [];
  while (sockets.length < SUBSCRIPTIONS) {
    sockets.push(...(await Promise.all(Array.from({ length: AT_ONCE }, () => followOne(url)))));
  }
  let missing = 0;
  let done = (): void => undefined;
  for (const socket of sockets) {
    socket.on("message", () => {
      missing -= 1;
      if (missing === 0) done();
    });
  }
  return {
    sockets,
    allReceived: () =>
      new Promise((resolve) => {
        missing = SUBSCRIPTIONS;
        done = resolve;
      }),
  };
}

async function create(url: string, name: string): Promise<void> {
  const document = `mutation { createUser(name: "${name}", email: "${name}@bench.example") { id } }`;
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify({ query: document }) });
  const answer = (await response.json()) as { errors?: unknown };
  if (answer.errors !== undefined) throw new Error(JSON.stringify(answer));
}

export async function measureSubscriptions({ databaseUrl, effort }: UserApiStage): Promise<BenchReport> {
  const { process: server, port } = await startUserApi(databaseUrl);
  const sockets: WebSocket[] = [];
  try {
    const url = `http://127.0.0.1:${port}/graphql`;
    // Sends requests first, so that the memory that requests need is not attributed to subscriptions.
    const run = `${Date.now()}`;
    for (let n = 0; n < 50; n++) await create(url, `before${n}x${run}`);
    const before = megabytesOf(server.pid);
    const following = await follow(url.replace("http", "ws"));
    sockets.push(...following.sockets);
    const after = megabytesOf(server.pid);
    const times: number[] = [];
    for (let round = 0; round <= effort.rounds; round++) {
      const allReceived = following.allReceived();
      const began = performance.now();
      await create(url, `round${round}x${run}`);
      await allReceived;
      // The first round is warm-up.
      if (round > 0) times.push(performance.now() - began);
    }
    return {
      title: `${SUBSCRIPTIONS} subscriptions`,
      method:
        "Each subscription has its own WebSocket. Another process on the same machine opens all of them with the same " +
        "document, which includes posts. Memory is the growth of resident memory by the idle subscriptions. The time is " +
        "measured from the beginning of the HTTP request that creates a user until the last socket has the event.",
      rows: [
        {
          "MB before": Math.round(before),
          "MB with subscriptions": Math.round(after),
          "kB for each": Math.round(((after - before) * 1024) / SUBSCRIPTIONS),
          "ms to all, median": Math.round(median(times)),
          "ms to all, min - max": `${Math.round(Math.min(...times))} - ${Math.round(Math.max(...times))}`,
        },
      ],
      verdicts: [
        atMost("idle subscriptions take", after - before, { bound: 150, unit: " MB" }),
        `the process with subscriptions: ${Math.round(after)} MB`,
        atMost("one createUser reaches all subscribers in", median(times), { bound: 500, unit: " ms" }),
      ],
    };
  } finally {
    for (const socket of sockets) socket.terminate();
    await server.stop();
  }
}
