/** graphql: limits the documents of GraphQL services, and counts their requests by operation. */
import {
  type BodyObserver,
  CACHEABLE_OPERATION,
  CACHEABLE_RESULT,
  type CounterMetricOptions,
  type DirectResponse,
  DOCUMENT_HASH,
  definePlugin,
  type Exchange,
  ExchangeValues,
  type HistogramMetricOptions,
  OPERATION_COST,
  OPERATION_NAME,
  OPERATION_TYPE,
  PURGE_NAMES,
  RESULT_NAMES,
  resultPurges,
} from "@sluice/plugin-sdk";
import { SchemaSource } from "./cost/schema-source.ts";
import { noSchema, type ServiceSchema } from "./cost/service-schema.ts";
import { EncodedResult } from "./encoded-result.ts";
import { FailedEvents } from "./failed-events.ts";
import { FailedResults } from "./failed-results.ts";
import { CountedOperations, type OperationLabels } from "./operation-labels.ts";
import { namesOfRules } from "./purge/purge-rules.ts";
import { namesInResult, type ResultObject } from "./purge/result-objects.ts";
import { type Refusal, responseOf } from "./refusals.ts";
import { OperationReaders } from "./requests/operation-readers.ts";
import type { NamedOperation, ReadGraphqlRequest } from "./requests/read-request.ts";
import { type OperationReader, untrustedDocument } from "./requests/request-operations.ts";
import { protocolRefusal, SocketMessages } from "./requests/socket-messages.ts";
import { type OperationIdentity, SocketOperations } from "./requests/socket-operations.ts";
import { graphqlFacts } from "./schema.ts";

const FIRST_ERROR = 400;
/** The first status of failures that clients have not caused. */
const FIRST_FAILURE = 500;
/** The client disconnected before the response. */
const CLIENT_GONE = 499;

/** Operations of a WebSocket that its log record names. */
const MAX_LOGGED = 20;

/** Types of responses that hold results. Results of incremental delivery have other types. */
const RESULT_TYPE = /^application\/(?:json|graphql-response\+json)\s*(?:;|$)/i;

/** GraphQL Yoga sends event streams with `none`, which is no registered coding, so that proxies do not compress them. */
const plainEncodings: ReadonlySet<string> = new Set(["identity", "none"]);

/** The type of responses with a stream of results. */
const EVENTS_TYPE = /^text\/event-stream\s*(?:;|$)/i;

export const operationRequests: CounterMetricOptions = {
  name: "requests_total",
  help: "Requests by service, and by type, name, hash of the document and result of the GraphQL operation: ok, error, or sent if its result is not read",
  labelNames: ["service", "type", "operation", "hash", "result"],
};

export const operationSeconds: HistogramMetricOptions = {
  name: "duration_seconds",
  help: "Seconds until the end of the response, or of an operation over a WebSocket, by service, and by type, name and hash of the document of the GraphQL operation",
  labelNames: ["service", "type", "operation", "hash"],
  bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
};

export const refusedOperations: CounterMetricOptions = {
  name: "refused_total",
  help: "Requests that the limits of GraphQL documents refuse, or would refuse without enforce: false, by service, code of the error, and limit",
  labelNames: ["service", "code", "limit"],
};

/** Undefined: the request is forwarded. */
type Answer = DirectResponse | undefined;

/** @param reason A clause about what is missing, for the log */
const unavailable = (reason: string): DirectResponse => ({
  status: 503,
  message: "Service unavailable",
  reason: `graphql: ${reason}`,
});

interface RequestedOperations {
  readonly operations: readonly NamedOperation[];
  /** Null: the body of the response is not searched for errors. */
  results: FailedResults | FailedEvents | null;
  /** Null: the objects in the result do not matter. */
  readonly objects: ResultObject | null;
}

interface SearchedResults {
  readonly results: FailedResults | FailedEvents;
  /** Null: the results have no coding. */
  readonly encoded: EncodedResult | null;
  /** Whether the cache may use the results for clients that accept other codings. */
  readonly isForAll: boolean;
}

/**
 * Searches the response for errors; null: it has no results that the plugin can read.
 *
 * @param limit As `max_response_size`
 */
function searchedResults(exchange: Exchange, limit: number): SearchedResults | null {
  // With such a status, all operations have failed, whatever the body contains.
  if (limit === 0 || exchange.status >= FIRST_ERROR) return null;
  const coding = exchange.responseHeaderValues("content-encoding").join();
  const isPlain = coding === "" || plainEncodings.has(coding);
  const encoded = isPlain ? null : EncodedResult.of(coding, limit);
  const isForAll = isPlain || variesByCoding(exchange);
  const [type = ""] = exchange.responseHeaderValues("content-type");
  if (RESULT_TYPE.test(type))
    return isPlain || encoded !== null ? { results: new FailedResults(limit), encoded, isForAll } : null;
  return isPlain && EVENTS_TYPE.test(type) ? { results: new FailedEvents(limit), encoded, isForAll } : null;
}

/** Whether the service says that the response depends on the codings which the client accepts. */
function variesByCoding({ receivedHeaders }: Exchange): boolean {
  const varied = receivedHeaders.filter((_, at) => at % 2 === 1 && receivedHeaders[at - 1]?.toLowerCase() === "vary");
  return varied
    .join()
    .toLowerCase()
    .split(/[\s,]+/)
    .includes("accept-encoding");
}

/** Whether the gateway has refused the request, for example because of a rate limit. */
const isRefusal = ({ source, status }: Exchange): boolean =>
  source === "gateway" && status >= FIRST_ERROR && status < FIRST_FAILURE && status !== CLIENT_GONE;

/** Whether the service may find other operations in the request than those that the plugin has found. */
const mayHaveOthers = ({ operations, refusal }: ReadGraphqlRequest): boolean =>
  refusal?.code === "BAD_REQUEST" || operations.length === 0 || operations.some(({ type }) => type === "unknown");

/**
 * The names of what the mutations of a request purge, separated by commas.
 *
 * @param all The names of what a request purges at most
 */
function purgedNames(read: ReadGraphqlRequest, all: readonly string[]): string {
  if (mayHaveOthers(read)) return all.join();
  const changed = read.operations.flatMap(({ type, purgeNames }) =>
    type === "mutation" && purgeNames !== "" ? purgeNames.split(",") : [],
  );
  return [...new Set(changed)].join();
}

/**
 * The names on which a complete result depends, separated by commas; undefined: the types in it.
 *
 * @param types Separated by commas
 */
function resultNames(objects: ResultObject, types: string, pieces: readonly Buffer[]): string | undefined {
  try {
    const names = namesInResult(objects, types.split(","), Buffer.concat(pieces)).join();
    return names === types ? undefined : names;
  } catch {
    // Not valid JSON.
    return undefined;
  }
}

interface ResultObserverOptions extends SearchedResults {
  readonly exchange: Exchange;
  readonly results: FailedResults;
  /** Null: the objects in the result do not matter. */
  readonly objects: ResultObject | null;
}

/** Searches a result for errors, and keeps it if the objects in it matter. */
class ResultObserver implements BodyObserver {
  readonly #options: ResultObserverOptions;
  readonly #pieces: Buffer[] = [];

  constructor(options: ResultObserverOptions) {
    this.#options = options;
  }

  observe(piece: Buffer): void {
    const { encoded } = this.#options;
    if (encoded === null) this.#search(piece);
    else encoded.add(piece);
  }

  complete(): void {
    const { exchange, encoded, isForAll, results, objects } = this.#options;
    const decoded = encoded?.decoded() ?? null;
    if (decoded !== null) this.#search(decoded);
    if (!results.isSuccess || !isForAll) return;
    const { shared } = exchange;
    shared.set(CACHEABLE_RESULT, true);
    if (objects === null) return;
    const names = resultNames(objects, String(shared.get(PURGE_NAMES)), this.#pieces);
    if (names !== undefined) shared.set(RESULT_NAMES, names);
  }

  #search(piece: Buffer): void {
    const { objects, results } = this.#options;
    results.search(piece);
    if (objects !== null && !results.isCut) this.#pieces.push(piece);
  }
}

const loggedFacts = ({ type, name, sha256, cost }: NamedOperation) => ({ type, name, sha256, cost });

const serviceName = ({ service }: Exchange): string => service?.name ?? service?.host ?? "";

export const graphql = definePlugin({
  ...graphqlFacts,
  phases(config, context) {
    const { now, operations: recorder } = context;
    const readers = new OperationReaders(config);
    const source = new SchemaSource(config, context);
    const ruledNames = namesOfRules(config.purge ?? []);
    const counted = new CountedOperations(config.max_operations, now);
    const requests = context.counterMetric(operationRequests);
    const seconds = context.histogramMetric(operationSeconds);
    const refused = context.counterMetric(refusedOperations);
    const requested = new ExchangeValues<RequestedOperations>();
    /** The operations of inspected WebSockets. */
    const sockets = new ExchangeValues<SocketOperations>();

    function decide(exchange: Exchange, read: ReadGraphqlRequest): Answer {
      const { operations, refusal, isUntrusted, body, query } = read;
      exchange.setLogField("graphql.operations", operations.map(loggedFacts));
      const [first, ...others] = operations;
      if (first !== undefined && others.length === 0) {
        if (first.type !== "unknown") exchange.shared.set(OPERATION_TYPE, first.type);
        if (first.sha256 !== null) exchange.shared.set(DOCUMENT_HASH, first.sha256);
      }
      const reported = refusal ?? (isUntrusted ? untrustedDocument : null);
      if (reported !== null) report(exchange, reported);
      if (refusal !== null && config.enforce) return responseOf(refusal, exchange.request);
      if (first !== undefined) {
        exchange.shared.set(OPERATION_COST, String(operations.reduce((sum, { cost }) => sum + cost, 0)));
        exchange.shared.set(OPERATION_NAME, counted.shownName(first.name));
      }
      const isQuery = refusal === null && others.length === 0 && first?.type === "query";
      requested.set(exchange, { operations, results: null, objects: isQuery ? first.objects : null });
      exchange.shared.set(CACHEABLE_OPERATION, isQuery);
      const purged = isQuery ? first.purgeNames : purgedNames(read, ruledNames);
      if (purged !== "") exchange.shared.set(PURGE_NAMES, purged);
      if (body !== undefined) exchange.replaceBody(body);
      if (query !== undefined) exchange.upstreamQuery = query;
      return undefined;
    }

    /** @param known Null: the schema is to be read from the service, and cannot be */
    function check(exchange: Exchange, known: ServiceSchema | null): Answer | Promise<Answer> {
      if (known === null && config.enforce) return unavailable("the schema of the service is not known");
      const chosen = readers.for(exchange, known ?? noSchema);
      if ("missing" in chosen) return unavailable(chosen.missing);
      if (config.websocket === "inspect" && exchange.request.header("upgrade") !== undefined)
        return checkUpgrade(exchange, chosen.reader);
      const read = chosen.reader.read(exchange.request);
      if (read instanceof Promise) return read.then((found) => (found === null ? undefined : decide(exchange, found)));
      return read === null ? undefined : decide(exchange, read);
    }

    async function checkUpgrade(exchange: Exchange, reader: OperationReader): Promise<Answer> {
      const { request, shared } = exchange;
      const refusal = protocolRefusal(request);
      if (refusal !== null) report(exchange, refusal);
      if (refusal !== null && config.enforce) return responseOf(refusal, request);
      const read = await reader.read(request);
      const answer = read === null ? undefined : decide(exchange, read);
      // Without enforce, a WebSocket with another protocol is forwarded as it is.
      if (answer !== undefined || refusal !== null) return answer;
      shared.set(CACHEABLE_OPERATION, false);
      exchange.inspectMessages(socketMessages(exchange, reader));
      return undefined;
    }

    /** The operations of the WebSocket have the limits, the schema and the documents that apply when it opens. */
    function socketMessages(exchange: Exchange, reader: OperationReader): SocketMessages {
      const { enforce, max_body_size: limit, max_response_size: resultLimit } = config;
      const purge = (names: string, isExecuted: boolean) => resultPurges.get(exchange)?.(names.split(","), isExecuted);
      const results = new SocketOperations({
        limit: resultLimit,
        now,
        onPurge: purge,
        onEnd({ operation, failed, duration }) {
          const labels = count(exchange, operation, { result: failed ? "error" : "ok", duration });
          recorder.record({ exchange, type: operation.type, ...labels, failed, duration });
        },
      });
      sockets.set(exchange, results);
      const logged: ReturnType<typeof loggedFacts>[] = [];
      return new SocketMessages({
        reader,
        limit,
        enforce,
        results: resultLimit === 0 ? null : results,
        onOperation(id, read) {
          const { operations, refusal, isUntrusted } = read;
          const reported = refusal ?? (isUntrusted ? untrustedDocument : null);
          if (reported !== null) report(exchange, reported);
          if (logged.length < MAX_LOGGED) {
            logged.push(...operations.map(loggedFacts));
            exchange.setLogField("graphql.operations", [...logged]);
          }
          if (refusal !== null && enforce) return;
          const purged = purgedNames(read, ruledNames);
          for (const operation of operations) {
            if (resultLimit > 0 && results.begin(id, { operation, purged })) continue;
            if (purged !== "") purge(purged, false);
            count(exchange, operation, { result: "sent" });
          }
        },
        onStop: (id) => results.stop(id),
      });
    }

    /** @param duration Milliseconds; absent: the operation has not ended */
    function count(
      exchange: Exchange,
      { type, name: given, sha256 }: OperationIdentity,
      { result, duration }: { readonly result: "ok" | "error" | "sent"; readonly duration?: number },
    ): OperationLabels {
      const service = serviceName(exchange);
      const labels = counted.labelsOf(given, sha256);
      const { name, hash } = labels;
      requests.add(1, [service, type, name, hash, result]);
      if (duration !== undefined) seconds.observe(duration / 1000, [service, type, name, hash]);
      return labels;
    }

    function report(exchange: Exchange, { code, limit }: Refusal): void {
      refused.add(1, [serviceName(exchange), code, limit?.name ?? ""]);
      exchange.setLogField("graphql.refused", limit === undefined ? code : `${code}: ${limit.name}`);
    }

    return {
      access(exchange) {
        const schema = source.get();
        return schema instanceof Promise ? schema.then((known) => check(exchange, known)) : check(exchange, schema);
      },

      responseBody(exchange): BodyObserver | null {
        const request = requested.get(exchange);
        if (request === undefined) return null;
        const searched = searchedResults(exchange, config.max_response_size);
        if (searched === null) return null;
        const { results, encoded, isForAll } = searched;
        request.results = results;
        if (results instanceof FailedEvents) return { observe: (piece) => results.search(piece), complete() {} };
        const objects = exchange.source === "service" ? request.objects : null;
        return new ResultObserver({ exchange, results, encoded, isForAll, objects });
      },

      log(exchange) {
        if (config.websocket === "inspect") sockets.get(exchange)?.stopAll();
        const request = requested.get(exchange);
        if (request === undefined || isRefusal(exchange)) return;
        const { status, timings } = exchange;
        const { started, ended = started } = timings;
        for (const [at, operation] of request.operations.entries()) {
          const failed = status === 0 || status >= FIRST_ERROR || request.results?.has(at) === true;
          const labels = count(exchange, operation, { result: failed ? "error" : "ok", duration: ended - started });
          recorder.record({ exchange, type: operation.type, ...labels, failed });
        }
      },
    };
  },
});
