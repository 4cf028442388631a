/**
 * Explains a request: how the node would route and answer it, and why. The request passes the pipeline of the proxy
 * with the node's runtime, so an explanation cannot differ from what the proxy does. The only exception: the services
 * of plugins change and send nothing.
 */
import { connectionUrlOf, type ExplainRequest, type Explanation } from "@sluice/model/serving";
import type { DirectResponse } from "@sluice/plugin-sdk";
import type { Runtime } from "../compile/runtime.ts";
import { idAndNameOf } from "../exchange/entity-name.ts";
import type { GatewayErrorName } from "../exchange/gateway-errors.ts";
import type { ProxyLog } from "../proxy/engine.ts";
import type { LiveExchange } from "../proxy/exchange/live-exchange.ts";
import type { IncomingRequest } from "../proxy/exchange/request.ts";
import { connectionSpecific } from "../proxy/http2/fields.ts";
import { Pipeline } from "../proxy/pipeline.ts";
import type { GatewayResponse } from "../proxy/response/gateway-response.ts";
import { ownMessage } from "../proxy/response/response-phase.ts";
import { describedHead } from "./described-request.ts";
import { explainConnection } from "./explain-connection.ts";
import { type ExplainTools, startExplanation } from "./explain-tools.ts";
import { describedPort } from "./explained-listener.ts";
import type { ExplainedPlugins } from "./explained-plugins.ts";
import { explainedRoutes } from "./explained-routes.ts";
import { explainedUpstream, hasTarget, targetRefusal } from "./explained-upstream.ts";
import {
  explainedHandshake,
  handshakeWarnings,
  ignoredAddressWarnings,
  unprotectedWarnings,
} from "./explained-warnings.ts";

/** An explanation without the routes that were candidates. */
export type ExplainedResult = Omit<Explanation, "candidates" | "other_candidates">;

/** Milliseconds within which the plugins must end their phases. */
const PLUGIN_TIMEOUT = 4000;
/** Maximum characters of a response's body. */
const MAX_BODY = 8192;

export async function explain(described: ExplainRequest, tools: ExplainTools): Promise<Explanation> {
  const connection = connectionUrlOf(described.url);
  if (connection !== null) return explainConnection(described, connection, tools);
  const { result, request } = await explainWithRequest(described, tools);
  const candidates =
    request === null
      ? { candidates: [], other_candidates: 0 }
      : await explainedRoutes(tools.runtime.explainRoutes(request, described.size));
  return { ...result, ...candidates };
}

/** As `explain`, without examining all routes, so that the cost does not depend on their number. */
export const explainResult = async (described: ExplainRequest, tools: ExplainTools): Promise<ExplainedResult> =>
  (await explainWithRequest(described, tools)).result;

interface ResultWithRequest {
  readonly result: ExplainedResult;
  /** Null: its head is invalid. */
  readonly request: IncomingRequest | null;
}

async function explainWithRequest(described: ExplainRequest, tools: ExplainTools): Promise<ResultWithRequest> {
  const { runtime, settings } = tools;
  const { plugins, counters, lines, log } = startExplanation(tools);
  const pipeline = new Pipeline({ settings, log, runtime: () => withExplainedPlugins(runtime, plugins) });
  try {
    const passed = await passPipeline(described, { pipeline, plugins, tools, log });
    const result = { ...describeResult(passed, { described, plugins, tools }), counters, log: lines };
    return { result, request: passed.request };
  } finally {
    plugins.close();
  }
}

/** The runtime, with the explanation's plugin instances in place of its own. */
function withExplainedPlugins(runtime: Runtime, plugins: ExplainedPlugins): Runtime {
  const match: Runtime["match"] = (request) => {
    const found = runtime.match(request);
    return found && { ...found, compiledRoute: plugins.explained(found.compiledRoute) };
  };
  return new Proxy(runtime, {
    get(target, name) {
      if (name === "match") return match;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

interface PipelineResult {
  /** Null: its head is invalid. */
  readonly request: IncomingRequest | null;
  /** Null: the request was refused before a route matched. */
  readonly exchange: LiveExchange | null;
  readonly upstream: Explanation["upstream"];
  readonly response: GatewayResponse | null;
  readonly unknown: string | null;
}

const noResult: PipelineResult = {
  request: null,
  exchange: null,
  upstream: null,
  response: null,
  unknown: null,
};

interface PassOptions {
  readonly pipeline: Pipeline;
  readonly plugins: ExplainedPlugins;
  readonly tools: ExplainTools;
  /** The log of the explanation. */
  readonly log: ProxyLog;
}

async function passPipeline(described: ExplainRequest, options: PassOptions): Promise<PipelineResult> {
  const { pipeline, plugins } = options;
  const { settings } = options.tools;
  const onBodyRead = () => plugins.lacks("it reads the body, which is not given as `body`");
  const { documentPort, fault: unknown } = describedPort(described, options.tools.runtime.listeners.table);
  if (unknown !== undefined) return { ...noResult, unknown };
  const { head, protocol, fault } = describedHead(described, { settings, documentPort, onBodyRead });
  if (fault !== undefined)
    return { ...noResult, response: pipeline.refuse(fault, { peerAddress: described.client_address }) };
  const opened = pipeline.open(head, { bytesIn: 0, bytesOut: 0 });
  if (opened.exchange === undefined) return { ...noResult, request: opened.request, response: opened.refusal };
  const { exchange } = opened;
  try {
    return await untilUnknown(exchange, plugins, () => passPhases(exchange, { ...options, described, protocol }));
  } finally {
    pipeline.endExchange(exchange);
  }
}

interface PhaseOptions extends PassOptions {
  readonly described: ExplainRequest;
  /** The protocol to which the request asks to upgrade; null: none. */
  readonly protocol: string | null;
}

async function passPhases(
  exchange: LiveExchange,
  { pipeline, tools, log, described, protocol }: PhaseOptions,
): Promise<PipelineResult> {
  /** The response of a plugin whose limit the body exceeds. */
  const rejection: { answer?: DirectResponse | GatewayErrorName } = {};
  exchange.sender = {
    reachesGrpc: tools.reachesGrpc,
    opensBySuccess: false,
    reject: (answer) => {
      rejection.answer ??= answer;
    },
    mirror() {},
  };
  const access = await pipeline.access(exchange);
  const { request } = exchange;
  const forward = access.forward !== undefined && hasTarget(access.forward.upstream) ? access.forward : null;
  // The engine reads the rest of the body when it forwards the request.
  if (forward !== null && described.body !== null) exchange.body?.drop();
  const refusal = forward && targetRefusal(forward.upstream, tools.reasonToRefuse);
  if (forward !== null && refusal === null && rejection.answer === undefined) {
    const { reasonToRefuse } = tools;
    const upstream = explainedUpstream(forward, { exchange, pipeline, protocol, reasonToRefuse });
    return { ...noResult, request, exchange, upstream };
  }
  const answer = rejection.answer ?? access.answer ?? (refusal === null ? "noPeer" : "upstreamDown");
  if (answer === "noPeer") log.warn({}, "the upstream failed: no target accepts requests");
  if (answer === "upstreamDown") log.warn({ reason: refusal }, "the upstream failed");
  const own = pipeline.createAnswer(exchange, answer);
  const held =
    exchange.chain.holdingSteps === null ? null : await pipeline.runResponsePhases(exchange, ownMessage(own));
  const response = pipeline.complete(exchange, held ?? own);
  return {
    ...noResult,
    request,
    exchange,
    response: { ...response, headers: pipeline.ownHeaders(exchange, response) },
  };
}

/** The result of the phases; or why it is unknown. */
async function untilUnknown(
  exchange: LiveExchange,
  plugins: ExplainedPlugins,
  run: () => Promise<PipelineResult>,
): Promise<PipelineResult> {
  const timer = setTimeout(() => plugins.lacks(`it did not end within ${PLUGIN_TIMEOUT / 1000} s`), PLUGIN_TIMEOUT);
  try {
    const result = await Promise.race([run(), plugins.unknown.then(() => null)]);
    if (result !== null && plugins.reason === null) return result;
    return { ...noResult, request: exchange.request, exchange, unknown: plugins.reason };
  } finally {
    clearTimeout(timer);
  }
}

interface DescribeOptions {
  readonly described: ExplainRequest;
  readonly plugins: ExplainedPlugins;
  readonly tools: ExplainTools;
}

function describeResult(
  { request, exchange, upstream, response, unknown }: PipelineResult,
  { described, plugins, tools: { runtime, settings, services } }: DescribeOptions,
): Omit<ExplainedResult, "counters" | "log"> {
  const handshake = request && explainedHandshake(request.head.peer, runtime);
  const listed = exchange === null ? [] : plugins.list(exchange.compiledRoute, exchange);
  return {
    connection: null,
    handshake,
    warnings: [
      ...(handshake ? handshakeWarnings(handshake, services.now()) : []),
      ...(request ? ignoredAddressWarnings(request, settings) : []),
      ...unprotectedWarnings(listed),
    ],
    request: request && {
      method: request.method,
      scheme: request.scheme,
      host: request.host,
      path: request.path,
      client_address: request.clientAddress,
      trusted_ips: settings.trustedIps,
      real_ip_header: settings.realIpHeader,
    },
    listener: request && (runtime.listeners.listenerFor(request)?.name ?? null),
    route: exchange && idAndNameOf(exchange.route),
    service: exchange?.service ? idAndNameOf(exchange.service) : null,
    consumer: exchange?.consumer ? idAndNameOf(exchange.consumer) : null,
    plugins: listed,
    upstream,
    closed: null,
    response: response && {
      status: response.status,
      headers: shownHeaders(response, described),
      body: described.method === "HEAD" ? "" : shownBody(response.body),
    },
    unknown,
  };
}

const shownBody = (body: string | Buffer): string =>
  typeof body === "string" ? body.slice(0, MAX_BODY) : body.toString("utf8", 0, MAX_BODY);

/** Over HTTP/2, without the headers about the connection. Cookies are hidden, because they may be those of sessions. */
function shownHeaders({ headers }: GatewayResponse, { http_version }: ExplainRequest) {
  const all = Array.from(
    { length: headers.length / 2 },
    (_, at) => [headers[2 * at] ?? "", headers[2 * at + 1] ?? ""] as const,
  );
  return all
    .filter(([name]) => http_version !== "2" || !connectionSpecific.has(name.toLowerCase()))
    .map(([name, value]) => [name, name.toLowerCase() === "set-cookie" ? "(hidden)" : value] as const);
}
