/** Metrics in Prometheus' text format at /metrics. The number of values of each label is bounded. */
import type { FastifyInstance } from "fastify";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { isErrorCode } from "../errors.ts";
import type { Events } from "../events/events.ts";
import type { Operation } from "../limits/documents.ts";

/**
 * The number of operation names with a label value of their own. Clients choose names, so operations with further names
 * are counted as `other`.
 */
const NAMES = 100;
/**
 * The maximum length of an operation name that is a label value and is logged in full, in UTF-16 units. A name may be
 * as long as a request, and counted names stay in memory.
 */
export const LONGEST_NAME = 100;

export interface SubscriptionCounts {
  readonly sockets: number;
  readonly streams: number;
  readonly subscriptions: number;
  /** The number of sockets, streams and operations that ended because their client read its events too slowly. */
  readonly slow: number;
}

export interface MetricsOptions {
  readonly registry: Registry;
  readonly subscriptions: () => SubscriptionCounts;
  readonly events: Pick<Events, "health">;
}

/** The numbers of executed operations with one name and type, by outcome. */
interface Executions {
  readonly operation: string;
  readonly type: string;
  ok: number;
  error: number;
}

export type Metrics = ReturnType<typeof makeMetrics>;

export function makeMetrics({ registry, subscriptions, events }: MetricsOptions) {
  const registers = [registry];
  /** `collect` is called before the counter is read. */
  const counter = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    collect?: (counter: Counter<Label>) => void,
  ) =>
    new Counter<Label>({
      name: `sluice_user_api_${name}_total`,
      help,
      labelNames: [...labelNames],
      registers,
      collect() {
        collect?.(this);
      },
    });
  const executions = new Map<string, Executions>();
  const selections = new Map<string, { count: number }>();
  counter(
    "operations",
    `Operations that were executed, by name, type and outcome. Names after the first ${NAMES}, and names of more than ${LONGEST_NAME} characters, are counted as other.`,
    ["operation", "type", "outcome"],
    (operations) => {
      operations.reset();
      for (const { operation, type, ok, error } of executions.values()) {
        if (ok > 0) operations.inc({ operation, type, outcome: "ok" }, ok);
        if (error > 0) operations.inc({ operation, type, outcome: "error" }, error);
      }
    },
  );
  counter("fields", "Operations that select a field, by the field's name in the schema.", ["field"], (fields) => {
    fields.reset();
    for (const [field, { count }] of selections) fields.inc({ field }, count);
  });
  const errors = counter("errors", "Errors that were sent to clients, by code.", ["code"]);
  const limited = counter("rate_limited", "Requests and operations that were refused by the rate limit.", []);
  const seconds = new Histogram({
    name: "sluice_user_api_operation_seconds",
    help: "Duration of operations, by type.",
    labelNames: ["type"] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  new Gauge({
    name: "sluice_user_api_live",
    help: "Open WebSockets, event streams and subscriptions.",
    labelNames: ["kind"] as const,
    registers,
    collect() {
      const counts = subscriptions();
      this.set({ kind: "socket" }, counts.sockets);
      this.set({ kind: "stream" }, counts.streams);
      this.set({ kind: "subscription" }, counts.subscriptions);
    },
  });
  new Counter({
    name: "sluice_user_api_slow_consumers_total",
    help: "Sockets, streams and operations that were ended because their client read its events too slowly.",
    registers,
    collect() {
      this.reset();
      this.inc(subscriptions().slow);
    },
  });
  new Gauge({
    name: "sluice_user_api_events_connected",
    help: "1 while this replica receives notifications of users that other replicas create, otherwise 0.",
    registers,
    collect() {
      this.set(events.health().connected ? 1 : 0);
    },
  });

  const names = new Set<string>();
  function nameOf(given: string | undefined): string {
    if (given === undefined) return "";
    if (given.length > LONGEST_NAME || (!names.has(given) && names.size === NAMES)) return "other";
    names.add(given);
    return given;
  }
  /**
   * The numbers to increase for each operation. Counters of prom-client sort and join their labels at each increment,
   * which costs 2 % of a small request. So the counters of operations and fields are set only when they are read.
   */
  const tallies = new WeakMap<Operation, { executions: Executions; selections: readonly { count: number }[] }>();
  function tallyOf({ node, fields }: Operation) {
    const type = node.operation;
    const operation = nameOf(node.name?.value);
    return {
      executions: executions.getOrInsertComputed(`${type} ${operation}`, () => ({ operation, type, ok: 0, error: 0 })),
      selections: [...fields].map((field) => selections.getOrInsertComputed(field, () => ({ count: 0 }))),
    };
  }
  function record(operation: Operation, took: number | null, outcome: "ok" | "error"): void {
    const { executions, selections } = tallies.getOrInsertComputed(operation, tallyOf);
    executions[outcome] += 1;
    if (took !== null) seconds.observe({ type: executions.type }, took);
    for (const selection of selections) selection.count += 1;
  }
  const count = (codes: readonly unknown[]): void => {
    for (const code of codes) errors.inc({ code: isErrorCode(code) ? code : "INTERNAL_SERVER_ERROR" });
  };

  return {
    /** Counts an executed operation and its errors. `took`: seconds; null for a subscription, which has no duration. */
    recordExecution(operation: Operation, took: number | null, codes: readonly unknown[]): void {
      record(operation, took, codes.length === 0 ? "ok" : "error");
      count(codes);
    },
    /** Counts an operation whose execution failed as a whole, such as by TIMEOUT. `refused` counts its error. */
    recordRejection: (operation: Operation, took: number): void => record(operation, took, "error"),
    /** Counts the errors of an operation that was not executed, or that took too long. */
    refused: count,
    limited: () => limited.inc(),
  };
}

/**
 * `/metrics`, for clients that reach the port directly. Requests through a gateway get 404: a route to /graphql often
 * covers all paths, and operation names must not become public.
 */
export function serveMetrics(app: FastifyInstance, registry: Registry): void {
  app.get("/metrics", { logLevel: "warn" }, async ({ headers }, reply) => {
    if (headers["x-gateway-secret"] !== undefined || headers["x-forwarded-for"] !== undefined) {
      return reply.callNotFound();
    }
    return reply.header("content-type", registry.contentType).send(await registry.metrics());
  });
}
