/** Whether the process lives and whether it can serve, for who runs it. */
import { setTimeout } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import type { Events } from "../events/events.ts";
import type { UserStore } from "../store/store.ts";

export interface HealthOptions {
  readonly store: Pick<UserStore, "ping">;
  readonly events: Pick<Events, "health">;
  /** How long the store may take to answer. Default 3 s. */
  readonly milliseconds?: number;
}

/**
 * `/healthz`: the process lives. `/readyz`: 200 when the store answers in time, else 503. Both tell of the events too; without
 * them users are created and read all the same, so they make nobody unready.
 */
export function serveHealth(app: FastifyInstance, { store, events, milliseconds = 3_000 }: HealthOptions): void {
  /** Who asks gets an answer even when the store has fallen silent. */
  const silence = async (): Promise<never> => {
    await setTimeout(milliseconds, undefined, { ref: false });
    throw new Error(`no answer within ${milliseconds} ms`);
  };

  app.get("/healthz", { logLevel: "warn" }, async () => ({ status: "ok", events: events.health() }));
  app.get("/readyz", { logLevel: "warn" }, async (request, reply) => {
    try {
      await Promise.race([store.ping(), silence()]);
      return { status: "ok", events: events.health() };
    } catch (error) {
      request.log.warn({ err: error }, "the store does not answer");
      return reply.code(503).send({ status: "the store does not answer", events: events.health() });
    }
  });
}
