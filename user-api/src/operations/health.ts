/** Liveness and readiness endpoints. */
import { setTimeout } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import type { Events } from "../events/events.ts";
import type { UserStore } from "../store/store.ts";

export interface HealthOptions {
  readonly store: Pick<UserStore, "ping">;
  readonly events: Pick<Events, "health">;
  /** The time in which the store must respond. Default 3 s. */
  readonly milliseconds?: number;
}

/**
 * `/healthz` and `/livez`: 200 while the process runs. `/readyz`: 200 when the store responds in time, else 503. All
 * report the events' state, which does not affect readiness: without events users are still created and read.
 */
export function serveHealth(app: FastifyInstance, { store, events, milliseconds = 3_000 }: HealthOptions): void {
  /** Rejects after the time limit, so that the request gets a response even when the store gives none. */
  const silence = async (): Promise<never> => {
    await setTimeout(milliseconds, undefined, { ref: false });
    throw new Error(`no response within ${milliseconds} ms`);
  };

  for (const path of ["/healthz", "/livez"])
    app.get(path, { logLevel: "warn" }, async () => ({ status: "ok", events: events.health() }));
  app.get("/readyz", { logLevel: "warn" }, async (request, reply) => {
    try {
      await Promise.race([store.ping(), silence()]);
      return { status: "ok", events: events.health() };
    } catch (error) {
      request.log.warn({ err: error }, "the store does not respond");
      return reply.code(503).send({ status: "the store does not respond", events: events.health() });
    }
  });
}
