/**
 * The operator's listener. It serves health, metrics and the nodes with their revisions, and two requests of the admin
 * API: to wait for the nodes, and to call an endpoint of a plugin. Only the call of a plugin's endpoint can change
 * anything or return data other than states and metrics, so only this request needs a token.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { isPluginEndpointCall, type WaitRequest } from "@sluice/model";
import Fastify, { type FastifyInstance } from "fastify";
import type { Registry } from "prom-client";
import type { LeaderElection } from "./leader-election/leader-election.ts";
import type { PublishStage } from "./publish/publish-stage.ts";
import { operatorSettings } from "./settings.ts";
import type { StatusStage } from "./status/status-stage.ts";
import { watchedKinds } from "./watch/cluster-state.ts";

export interface ServerOptions {
  readonly publisher: PublishStage["publisher"];
  readonly waiters: StatusStage["waiters"];
  readonly askPlugin: PublishStage["askPlugin"];
  readonly registry: Registry;
  /** The unread kinds, and `saved state` while that is unread; the operator is ready when the list is empty. */
  readonly unsynced: () => readonly string[];
  readonly election: Pick<LeaderElection, "term" | "leader">;
  /** The number of Routes that are derived from Ingresses and from resources of the Gateway API. */
  readonly derivedRoutes: () => number;
  /** Bearer token for requests to endpoints of plugins; null: they are refused. */
  readonly token: string | null;
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

/** Maximum number of concurrent requests to endpoints of plugins; more get 503. */
const MAX_CALLS = 16;

export function createServer(options: ServerOptions): FastifyInstance {
  const { publisher, waiters, registry, unsynced, election, derivedRoutes, askPlugin, token } = options;
  const server = Fastify({
    forceCloseConnections: true,
    // To check the one schema by the meta-schema would take a tenth of the processor time of the operator's start.
    ajv: { customOptions: { validateSchema: false, code: { optimize: false } } },
  });
  for (const path of ["/healthz", "/livez"]) server.get(path, async () => ({ message: "alive" }));
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
      derivedRoutes: derivedRoutes(),
      acknowledged,
      lagging,
      silent,
      nodes: publisher.nodes().map(({ address, fleet, state, lastAnswerAt, lastError: trouble }) => ({
        address,
        fleet,
        lastSeen: lastAnswerAt === null ? null : isoTimeOf(lastAnswerAt),
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
  let calls = 0;
  server.post<{ Body: unknown }>("/plugins", async ({ body, headers }, reply) => {
    const refuse = (status: number, message: string) => reply.code(status).send({ message });
    if (token === null) {
      const { variable } = operatorSettings.token;
      return refuse(403, `requests to endpoints of plugins need a token: set ${variable}`);
    }
    if (!isToken(headers.authorization, token)) return refuse(401, "the bearer token is missing or wrong");
    if (!isPluginEndpointCall(body))
      return refuse(400, "the body must have a plugin (an id) and a request with method, path and query");
    if (calls >= MAX_CALLS) return refuse(503, "too many requests to endpoints of plugins are under way");
    calls += 1;
    try {
      return await askPlugin(body);
    } finally {
      calls -= 1;
    }
  });
  return server;
}

/** A time of the monotonic clock in ISO 8601, with seconds. */
const isoTimeOf = (time: number): string =>
  new Date(Date.now() - (performance.now() - time)).toISOString().replace(/\.\d+Z$/, "Z");

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

const isToken = (authorization: string | undefined, token: string): boolean =>
  timingSafeEqual(digest(authorization ?? ""), digest(`Bearer ${token}`));
