/**
 * A process of simulated nodes: `simulated-nodes.ts <count>`, with the settings that name a node's certificate
 * (SLUICE_PUSH_TLS_*). Each simulated node has a real push listener on a port of its own and its own hash. A document
 * that several nodes receive is processed once for all of them. Prints `ports [...]`, and `all {"hash", "at"}` with the
 * Unix milliseconds when all nodes have reached the same hash.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import {
  applyChange,
  applyDocument,
  type Checked,
  emptySnapshot,
  type NodeReport,
  type PushChange,
  type PushDocument,
  type Snapshot,
} from "@sluice/model";
import { type PushAnswer, type PushServer, startPushServer } from "../../../gateway/src/sources/push/push-server.ts";

const file = (variable: string): string => readFileSync(process.env[variable] ?? "", "utf8");
const tls = {
  cert: file("SLUICE_PUSH_TLS_CERT"),
  key: file("SLUICE_PUSH_TLS_KEY"),
  ca: file("SLUICE_PUSH_TLS_CA"),
};
const count = Number(process.argv[2]);

/** Snapshots, keyed by the push that made them. The oldest are removed: nodes are at most a few documents apart. */
const made = new Map<string, Checked<Snapshot>>();
const REMEMBERED = 32;

function once(name: string, make: () => Checked<Snapshot>): Checked<Snapshot> {
  const known = made.get(name);
  if (known) return known;
  const checked = make();
  made.set(name, checked);
  for (const old of made.keys()) {
    if (made.size <= REMEMBERED) break;
    made.delete(old);
  }
  return checked;
}

/** By hash of a document: the number of nodes that have it. */
const runs = new Map<string, number>();

function noteRun(before: string | null, hash: string): void {
  if (before === hash) return;
  if (before !== null) {
    const left = (runs.get(before) ?? 0) - 1;
    if (left > 0) runs.set(before, left);
    else runs.delete(before);
  }
  const now = (runs.get(hash) ?? 0) + 1;
  runs.set(hash, now);
  if (now === count) console.log(`all ${JSON.stringify({ hash, at: performance.timeOrigin + performance.now() })}`);
}

function startNode(): Promise<PushServer> {
  let snapshot = emptySnapshot;
  let state: NodeReport = { node: randomUUID(), hash: null, revision: 0, version: "simulated" };

  function receive(revision: number, taken: Checked<Snapshot>): PushAnswer {
    if (taken.violations) return { status: 400, body: { message: "refused", violations: taken.violations } };
    noteRun(state.hash, taken.value.hash);
    snapshot = taken.value;
    state = { ...state, revision, hash: taken.value.hash };
    return { status: 200, body: state };
  }

  return startPushServer({
    listen: { host: "127.0.0.1", port: 0 },
    tls,
    maxBytes: 256 * 2 ** 20,
    authenticationFault: () => null,
    async answer(request, body) {
      if (request === "state") return { status: 200, body: state };
      if (request === "document") {
        const { revision, document } = body as PushDocument;
        return receive(
          revision,
          once(`put ${revision}`, () => applyDocument(emptySnapshot, document)),
        );
      }
      const { revision, base, change } = body as PushChange;
      if (base !== state.hash) return { status: 409, body: state };
      return receive(
        revision,
        once(`${base} ${revision}`, () => applyChange(snapshot, change)),
      );
    },
  });
}

const servers = await Promise.all(Array.from({ length: count }, startNode));
console.log(`ports ${JSON.stringify(servers.map(({ address }) => address.port))}`);
process.once("SIGTERM", () => process.exit());
