/** graphql-operations: counts requests of GraphQL services by operation. */
import {
  type BodyObserver,
  type CounterMetricOptions,
  definePlugin,
  type Exchange,
  type HistogramMetricOptions,
} from "@sluice/plugin-sdk";
import { FailedResults } from "./failed-results.ts";
import { OperationNames } from "./operation-names.ts";
import { type NamedOperation, OperationReader } from "./request-operations.ts";
import { graphqlOperationsFacts } from "./schema.ts";

const FIRST_ERROR = 400;

/** Types of responses that hold results. Results of incremental delivery and of subscriptions have other types. */
const RESULT_TYPE = /^application\/(?:json|graphql-response\+json)\s*(?:;|$)/i;

export const operationRequests: CounterMetricOptions = {
  name: "requests_total",
  help: "Requests by service, and by type, name and result (ok or error) of the GraphQL operation",
  labelNames: ["service", "type", "operation", "result"],
};

export const operationSeconds: HistogramMetricOptions = {
  name: "duration_seconds",
  help: "Seconds until the end of the response, by service, and by type and name of the GraphQL operation",
  labelNames: ["service", "type", "operation"],
  bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
};

interface RequestedOperations {
  readonly operations: readonly NamedOperation[];
  /** Null: the body of the response is not searched for errors. */
  results: FailedResults | null;
}

/** Whether the response may have errors in results that the plugin can read. */
function mayHaveErrors(exchange: Exchange): boolean {
  // With such a status, all operations have failed, whatever the body contains.
  if (exchange.status >= FIRST_ERROR) return false;
  const [encoding = "identity"] = exchange.responseHeaderValues("content-encoding");
  const [type = ""] = exchange.responseHeaderValues("content-type");
  return encoding === "identity" && RESULT_TYPE.test(type);
}

export const graphqlOperations = definePlugin({
  ...graphqlOperationsFacts,
  phases(config, context) {
    const { now, operations: recorder } = context;
    const reader = new OperationReader(config.max_body_size);
    const names = new OperationNames(config.max_operations, now);
    const requests = context.counterMetric(operationRequests);
    const seconds = context.histogramMetric(operationSeconds);
    const requested = new WeakMap<Exchange, RequestedOperations>();

    return {
      access(exchange) {
        const operations = reader.read(exchange.request);
        if (operations === null) return undefined;
        if (!(operations instanceof Promise)) return void requested.set(exchange, { operations, results: null });
        return operations.then((found) => void requested.set(exchange, { operations: found, results: null }));
      },

      responseBody(exchange): BodyObserver | null {
        const request = requested.get(exchange);
        if (request === undefined || config.max_response_size === 0 || !mayHaveErrors(exchange)) return null;
        const results = new FailedResults(config.max_response_size);
        request.results = results;
        return { observe: (piece) => results.search(piece), complete() {} };
      },

      log(exchange) {
        const request = requested.get(exchange);
        if (request === undefined) return;
        const { status, service, timings } = exchange;
        const { started, ended = started } = timings;
        const serviceName = service?.name ?? service?.host ?? "";
        for (const [at, { type, name: given }] of request.operations.entries()) {
          const name = names.shown(given);
          const failed = status === 0 || status >= FIRST_ERROR || request.results?.has(at) === true;
          recorder.record({ exchange, type, name, failed });
          requests.add(1, [serviceName, type, name, failed ? "error" : "ok"]);
          seconds.observe((ended - started) / 1000, [serviceName, type, name]);
        }
      },
    };
  },
});
