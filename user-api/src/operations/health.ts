/** Whether the process lives and whether it can serve, for who runs it. */
import type { FastifyInstance } from "fastify";
import type { Events } from "../events/events.ts";
import type { UserStore } from "../store/store.ts";

export interface HealthOptions {
  readonly store: Pick<UserStore, "ping">;
  readonly events: Pick<Events, "health">;
}

/**
 * `/healthz`: the process lives. `/readyz`: 200 when the store answers, else 503. Both tell of the events too; without
 * them users are created and read all the same, so they make nobody unready.
 */
export function serveHealth(app: FastifyInstance, { store, events }: HealthOptions): void {
  app.get("/healthz", { logLevel: "warn" }, async () => ({ status: "ok", events: events.health() }));
  app.get("/readyz", { logLevel: "warn" }, async (request, reply) => {
    try {
      await store.ping();
      return { status: "ok", events: events.health() };
    } catch (error) {
      request.log.warn({ err: error }, "the store does not answer");
      return reply.code(503).send({ status: "the store does not answer", events: events.health() });
    }
  });
}
