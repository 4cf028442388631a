/** Requests while entities change 50 times a second. The changes are pushed to the node as the operator pushes them. */
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type Change, deriveId, type NodeReport } from "@sluice/model";
import { freePort } from "../../../tools/process/index.ts";
import type { BenchReport } from "../report.ts";
import { median, type RoundSample } from "../rounds.ts";
import { type CaseContestants, sampleOf } from "./field.ts";
import { pluginsContent } from "./plugins.ts";
import { documentWith, referTo, routeAt, startBenchNode } from "./sluice.ts";
import { startBenchProgram } from "./stage.ts";
import { runWrk } from "./wrk.ts";

const PER_SECOND = 50;
/** With this pause, 64 connections make about 4,000 requests/s. */
const PAUSE = 16;

/** Every kind of change, in turn; the measured requests use none of the changed entities. */
const kinds: readonly ((turn: number) => Change["put"])[] = [
  (turn) => ({ routes: [routeAt(turn % 1000, { paths: [`/changed/${turn}`] })] }),
  (turn) => ({ routes: [routeAt(100_000 + (turn % 1000))] }),
  (turn) => ({
    services: [{ ...referTo("services", "other"), name: "other", host: "other.test", retries: turn % 10 }],
  }),
  (turn) => ({
    plugins: [
      {
        ...referTo("plugins", "of a route"),
        name: "rate-limiting",
        config: { minute: 1 + turn },
        route: { id: deriveId("routes", "route-1") },
      },
    ],
  }),
  (turn) => ({ consumers: [{ ...referTo("consumers", `new-${turn % 1000}`), username: `new-${turn % 1000}` }] }),
  (turn) => ({
    keyauth_credentials: [
      { ...referTo("keyauth_credentials", "new"), key: `new-${turn}`, consumer: referTo("consumers", "consumer-1") },
    ],
  }),
];

const peers = join(import.meta.dirname, "../peers");

/** A client of a push listener. It keeps the node's report from the last response. */
class Push {
  readonly #port: number;
  readonly #token: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #state: NodeReport | undefined;
  #turn = 0;

  constructor(port: number, token: string) {
    this.#port = port;
    this.#token = token;
  }

  /** Uses node:http, because fetch takes three times as much CPU and all processes share two cores. */
  async #send(method: "PUT" | "PATCH", body: object): Promise<void> {
    const headers = { authorization: `Bearer ${this.#token}`, "content-type": "application/json" };
    const outgoing = request({
      port: this.#port,
      host: "127.0.0.1",
      path: "/document",
      method,
      headers,
      agent: this.#agent,
    });
    outgoing.end(JSON.stringify(body));
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
    const received = await text(answer);
    if (answer.statusCode !== 200) throw new Error(`a push was answered ${answer.statusCode}: ${received}`);
    this.#state = JSON.parse(received) as NodeReport;
  }

  close(): void {
    this.#agent.destroy();
  }

  put(document: object): Promise<void> {
    return this.#send("PUT", { revision: 1, document });
  }

  /** Changes entities until `until` settles. Resolves to the milliseconds from each push until its response. */
  async keepChanging(until: Promise<unknown>): Promise<readonly number[]> {
    let over = false;
    const end = () => {
      over = true;
    };
    until.then(end, end);
    const waits: number[] = [];
    const began = performance.now();
    while (!over) {
      const sent = performance.now();
      const kind = kinds[this.#turn % kinds.length];
      const change = { put: kind?.(this.#turn) ?? {}, remove: {} };
      this.#turn++;
      await this.#send("PATCH", { revision: 1 + this.#turn, base: this.#state?.hash, change });
      waits.push(performance.now() - sent);
      const next = began + (waits.length * 1000) / PER_SECOND;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - performance.now())));
    }
    return waits;
  }
}

export async function measureChanges(field: CaseContestants): Promise<BenchReport> {
  const { stage, effort } = field;
  const [pushPort, token] = [await freePort(), "of-the-bench"];
  const sluice = await stage.keep(
    startBenchNode({ SLUICE_SOURCE: "push", SLUICE_PUSH_LISTEN: `127.0.0.1:${pushPort}`, SLUICE_PUSH_TOKEN: token }),
  );
  const push = new Push(pushPort, token);
  await push.put(documentWith(stage, pluginsContent));
  // A server that ignores the changes, for comparison: sending and reading changes uses CPU of this machine too.
  const sink = new Push((await stage.keep(startBenchProgram("sink", [join(peers, "sink.ts")]))).port, token);
  const waits: number[] = [];
  const url = `http://127.0.0.1:${sluice.port}/api/x`;
  for (const [name, pause] of [
    ["at full speed", {}],
    ["4,000 requests/s", { pause: PAUSE }],
  ] as const) {
    const load = () => runWrk({ url, folder: stage.folder, seconds: effort.seconds, ...pause });
    const whileChanging = async () => {
      const loaded = load();
      waits.push(...(await push.keepChanging(loaded)));
      return loaded;
    };
    const whileSendingElsewhere = async () => {
      const loaded = load();
      await sink.keepChanging(loaded);
      return loaded;
    };
    field.add({ name: `without changes, ${name}`, sample: () => sampleOf(sluice.process, load) });
    field.add({
      name: `changes to another server, ${name}`,
      sample: () => sampleOf(sluice.process, whileSendingElsewhere),
    });
    field.add({ name: `with changes, ${name}`, sample: () => sampleOf(sluice.process, whileChanging) });
  }
  const samples: ReadonlyMap<string, readonly RoundSample[]> = await field.run();
  for (const each of [push, sink]) each.close();
  const loaded = effort.seconds * (effort.rounds + 1) * 2;
  field.note(
    `no request failed; ${(waits.length / loaded).toFixed(0)} changes/s, a change was acknowledged after ` +
      `${median(waits).toFixed(1)} ms (median)`,
  );
  const ratio = (name: string, to = "without changes") => ({
    of: `with changes, ${name}`,
    to: `${to}, ${name}`,
    figure: "p99" as const,
  });
  const elsewhere = "changes to another server";
  return field.report({
    title: `${PER_SECOND} entity changes a second at 10,000 routes`,
    method:
      "One node with key-auth, rate-limiting, prometheus and cors at 10,000 routes and 1,000 consumers. Its push " +
      "listener receives routes, services, plugins, consumers and keys one at a time. 64 connections, once at full speed " +
      "and once with pauses; the benchmark ends if a request fails. Sender, load generator, upstream and node share the " +
      "machine; for comparison, the same changes are therefore also sent to another server, which ignores them.",
    samples,
    ratios: [
      { name: "p99 at full speed, with changes / without", ...ratio("at full speed"), bound: 1.2 },
      { name: "p99 at 4,000 requests/s, with changes / without", ...ratio("4,000 requests/s"), bound: 1.3 },
      { name: "p99 at full speed, changes to the node / to another server", ...ratio("at full speed", elsewhere) },
      {
        name: "p99 at 4,000 requests/s, changes to the node / to another server",
        ...ratio("4,000 requests/s", elsewhere),
      },
    ],
  });
}
