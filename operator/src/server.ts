/** The operator's listener: health, metrics, the nodes with their revisions, and the wait endpoint of the admin API. */
import type { WaitRequest } from "@sluice/model";
import Fastify, { type FastifyInstance } from "fastify";
import type { Registry } from "prom-client";
import type { LeaderElection } from "./leader-election/leader-election.ts";
import type { PublishStage } from "./publish/publish-stage.ts";
import type { StatusStage } from "./status/status-stage.ts";
import { watchedKinds } from "./watch/cluster-state.ts";

export interface ServerOptions {
  readonly publisher: PublishStage["publisher"];
  readonly waiters: StatusStage["waiters"];
  readonly registry: Registry;
  /** Kinds and state that have not been read; the operator is ready when there are none. */
  readonly unsynced: () => readonly string[];
  readonly election: Pick<LeaderElection, "term" | "leader">;
}

/** Maximum number of concurrent waits; more get 503. Callers can read the status instead. */
const MAX_WAITING = 1000;

const waitSchema = {
  body: {
    type: "object",
    required: ["resources"],
    properties: {
      timeout: { type: "integer", minimum: 0, maximum: 30_000 },
      resources: {
        type: "array",
        minItems: 1,
        maxItems: 5000,
        items: {
          type: "object",
          required: ["kind", "namespace", "name"],
          properties: {
            kind: { type: "string", enum: watchedKinds },
            namespace: { type: "string" },
            name: { type: "string" },
            uid: { type: "string" },
            generation: { type: "integer", minimum: 0 },
            resourceVersion: { type: "string" },
            deleted: { type: "boolean" },
          },
        },
      },
    },
  },
};

export function createServer({ publisher, waiters, registry, unsynced, election }: ServerOptions): FastifyInstance {
  const server = Fastify({ forceCloseConnections: true });
  server.get("/healthz", async () => ({ message: "alive" }));
  server.get("/readyz", async (_request, reply) => {
    const missing = unsynced();
    if (missing.length === 0) return { message: "ready" };
    return reply.code(503).send({ message: `not yet read: ${missing.join(", ")}` });
  });
  server.get("/metrics", async (_request, reply) =>
    reply.header("content-type", registry.contentType).send(await registry.metrics()),
  );
  server.get("/status", async () => {
    const { acknowledged, lagging, silent } = publisher.acknowledgement(publisher.revision());
    return {
      revision: publisher.revision(),
      hash: publisher.hash(),
      term: election.term(),
      leader: election.leader(),
      acknowledged,
      lagging,
      silent,
      nodes: publisher.nodes().map(({ address, state, lastError: trouble }) => ({
        address,
        // The status listener is on the host of the push listener, without TLS.
        status: state?.statusPort === undefined ? null : `http://${new URL(address).hostname}:${state.statusPort}`,
        ...state,
        trouble,
      })),
    };
  });
  server.post<{ Body: WaitRequest }>("/wait", { schema: waitSchema }, async ({ body }, reply) => {
    if (waiters.size >= MAX_WAITING) return reply.code(503).send({ message: "too many requests are waiting" });
    return waiters.wait(body);
  });
  return server;
}
