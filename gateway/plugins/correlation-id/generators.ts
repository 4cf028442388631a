/** Generators of ids. Each worker thread has its own state, as each worker process does in Kong. */
import { randomUUID } from "node:crypto";
import type { ClientConnection, ExchangeRequest } from "@sluice/plugin-sdk";
import type { CorrelationIdConfig } from "./schema.ts";

export type Generator = (request: ExchangeRequest, now: () => number) => string;

const workerPrefix = `${randomUUID()}#`;
let generated = 0;

interface Usage {
  /** Number of the connection, from 1. */
  readonly serial: number;
  /** The number of ids generated for requests on the connection. */
  requests: number;
}

const usages = new WeakMap<ClientConnection, Usage>();
let connections = 0;

/** Connections get their numbers at their first generated id, so that requests without this plugin cost nothing. */
function usageOf(connection: ClientConnection): Usage {
  const known = usages.get(connection);
  if (known !== undefined) return known;
  const usage = { serial: ++connections, requests: 0 };
  usages.set(connection, usage);
  return usage;
}

export const generators: Readonly<Record<CorrelationIdConfig["generator"], Generator>> = {
  uuid: () => randomUUID(),
  "uuid#counter": () => workerPrefix + ++generated,
  tracker({ connection }, now) {
    const { localAddress, port } = connection;
    const usage = usageOf(connection);
    const time = (now() / 1000).toFixed(3);
    return `${localAddress}-${port}-${process.pid}-${usage.serial}-${++usage.requests}-${time}`;
  },
};
