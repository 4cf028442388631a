/** The request that would be sent to the upstream, or the connection that would be opened. */
import { type Address, type ExplainedTarget, type Explanation, hostAndPort } from "@sluice/model/serving";
import { HeaderEditList } from "@sluice/plugin-sdk";
import { reportedWeight } from "../balance/algorithms/algorithm.ts";
import { type BalancingRequest, hashInputOf } from "../balance/algorithms/hash-source.ts";
import type { Balancer } from "../balance/balancer.ts";
import type { ReasonToRefuse } from "../balance/health-report.ts";
import type { ServiceUpstream, UpstreamTarget } from "../compile/runtime.ts";
import type { ForwardPlan, LiveExchange } from "../proxy/exchange/live-exchange.ts";
import { isGrpc } from "../proxy/exchange/protocols.ts";
import { strippedPrefix, upstreamHostFor } from "../proxy/headers/upstream-headers.ts";
import { createUpstreamHeads } from "../proxy/http1/upstream/upstream-head.ts";
import type { Pipeline } from "../proxy/pipeline.ts";
import { connectionView } from "../proxy/streams/stream-connection.ts";

const HIDDEN = "(hidden)";

interface ExplainedUpstreamOptions {
  readonly exchange: LiveExchange;
  readonly pipeline: Pipeline;
  /** The protocol to which the request asks to upgrade; null: none. */
  readonly protocol: string | null;
  readonly reasonToRefuse: ReasonToRefuse;
}

export function explainedUpstream(
  forward: ForwardPlan,
  { exchange, pipeline, protocol, reasonToRefuse }: ExplainedUpstreamOptions,
): NonNullable<Explanation["upstream"]> {
  const { upstream, method, path } = forward;
  const [first] = upstream.targets;
  const { request, match, consumer, credential } = exchange;
  const certain = certainTarget(upstream, { request, match, consumer, credential });
  const target = certain ?? first;
  const isHttp1 = target !== undefined && !(upstream.speaksHttp2 || isGrpc(exchange.request));
  const headers = isHttp1
    ? headersOf(createUpstreamHeads(pipeline)(exchange, { forward, target, protocol }))
    : pairsOf(pipeline.upstreamHeaders(exchange));
  const hosts = new Set(upstream.targets.map((each) => upstreamHostFor(exchange, certain ?? each)));
  return {
    method,
    url: `${first?.scheme ?? "http"}://${upstream.host}${withoutAddedValues(path, exchange.request.query)}`,
    path_changes: pathChanges(forward, exchange),
    headers: headers.map(([name, value]) => [name, shownValue(name, value, { exchange, hosts })] as const),
    ...explainedTargets(upstream, certain, reasonToRefuse),
  };
}

/** @param clientAddress See `RawConnection` */
export function explainedConnectionTargets(
  upstream: ServiceUpstream,
  clientAddress: string,
  reasonToRefuse: ReasonToRefuse,
): NonNullable<Explanation["upstream"]> {
  const { service } = upstream;
  const [first] = upstream.targets;
  const certain = certainTarget(upstream, connectionView(clientAddress));
  return {
    method: null,
    url: `${first?.scheme === "https" ? "tls" : "tcp"}://${hostAndPort(service)}`,
    path_changes: [],
    headers: [],
    ...explainedTargets(upstream, certain, reasonToRefuse),
  };
}

function explainedTargets(
  { parts: { balancer }, targets }: ServiceUpstream,
  certain: UpstreamTarget | null,
  reasonToRefuse: ReasonToRefuse,
) {
  const all = balancer === null ? targets.map(plainTarget) : balancedTargets(balancer);
  return {
    algorithm: balancer?.upstream.algorithm ?? "round-robin",
    targets: all.map(
      ({ host, port, ...target }): ExplainedTarget => ({ ...target, refusal: reasonToRefuse(host, port) }),
    ),
    target: certain && hostAndPort(certain),
  };
}

/** Whether a target accepts requests. */
export const hasTarget = ({ parts, targets }: ServiceUpstream): boolean =>
  targets.length > 0 && (parts.balancer === null || parts.balancer.isUp);

/** Why every target that may get the request is refused; null: at least one is not refused. */
export function targetRefusal({ parts, targets }: ServiceUpstream, reasonToRefuse: ReasonToRefuse): string | null {
  const eligible = targets.filter((_target, at) => parts.balancer === null || parts.balancer.isEligible(at));
  const refusals = eligible.map(({ host, port }) => reasonToRefuse(host, port));
  return refusals.includes(null) ? null : (refusals[0] ?? null);
}

/** How the configuration of route and service changes the path. Empty: it does not, or a plugin has set the path. */
function pathChanges({ upstream }: ForwardPlan, exchange: LiveExchange): readonly string[] {
  if (exchange.upstreamPath !== null) return [];
  const { route } = exchange;
  const { service, basePath } = upstream;
  const removed = strippedPrefix(exchange);
  return [
    ...(removed === null ? [] : [`${removed} removed (strip_path of route ${route.name ?? route.id})`]),
    ...(basePath === "/" ? [] : [`${basePath} added (path of service ${service.name ?? service.id})`]),
  ];
}

type Pairs = readonly (readonly [name: string, value: string])[];

/** @param head In wire format */
const headersOf = (head: string): Pairs =>
  head
    .split("\r\n")
    .slice(1)
    .flatMap((line) => {
      const colon = line.indexOf(":");
      return colon < 0 ? [] : [[line.slice(0, colon), line.slice(colon + 1).trim()] as const];
    });

const pairsOf = (flat: readonly string[]): Pairs =>
  Array.from({ length: flat.length / 2 }, (_, at) => [flat[2 * at] ?? "", flat[2 * at + 1] ?? ""] as const);

/** A target before its address is examined. */
type UnexaminedTarget = Omit<ExplainedTarget, "refusal"> & Address;

const plainTarget = ({ host, port }: UpstreamTarget): UnexaminedTarget => ({
  address: hostAndPort({ host, port }),
  weight: null,
  healthy: null,
  host,
  port,
});

const balancedTargets = ({ entries, checksHealth }: Balancer): readonly UnexaminedTarget[] =>
  entries.map(({ member: { address, host, port, health }, weight }) => ({
    address,
    weight: reportedWeight(weight),
    healthy: checksHealth ? health.healthy : null,
    host,
    port,
  }));

/** The only target that may get the request, or the one that its hash selects; null: other requests matter too. */
function certainTarget(
  upstream: ServiceUpstream,
  of: Omit<BalancingRequest, "responseHeaders">,
): UpstreamTarget | null {
  const { parts, targets } = upstream;
  const { balancer } = parts;
  const eligible = targets.filter((_target, at) => balancer === null || balancer.isEligible(at));
  const [only, ...others] = eligible;
  if (only !== undefined && others.length === 0) return only;
  if (balancer?.needsHash !== true) return null;
  const responseHeaders = new HeaderEditList();
  const view = { ...of, responseHeaders };
  // Without a hash, the target depends on earlier requests, and choosing one would affect later requests. A client
  // without the hashed cookie gets a random cookie.
  if (hashInputOf(balancer.upstream, view) === null || responseHeaders.lines !== "") return null;
  const attempts = upstream.attempts(view);
  const target = attempts.next();
  attempts.endTry();
  return target;
}

/** Headers by which authentication plugins name the consumer. */
const identityNames: ReadonlySet<string> = new Set([
  "x-consumer-id",
  "x-consumer-custom-id",
  "x-consumer-username",
  "x-consumer-groups",
  "x-credential-identifier",
  "x-anonymous-consumer",
  "x-authenticated-groups",
]);

interface ShownValueOptions {
  readonly exchange: LiveExchange;
  /** The values of the header Host that are sent to the targets. */
  readonly hosts: ReadonlySet<string>;
}

/** Values that Services and plugins have set may be secrets. Those that identify the consumer are not. */
function shownValue(name: string, value: string, { exchange: { upstreamEdits }, hosts }: ShownValueOptions): string {
  const lower = name.toLowerCase();
  const isSet = upstreamEdits?.editOf(lower) !== undefined;
  if (isSet && !identityNames.has(lower)) return HIDDEN;
  return lower === "host" && hosts.size > 1 ? "(the target's)" : value;
}

/** Path and query, without the values of query parameters that plugins have added. */
function withoutAddedValues(target: string, sentQuery: string): string {
  const at = target.indexOf("?");
  if (at < 0) return target;
  const [path, query] = [target.slice(0, at), target.slice(at + 1)];
  if (`?${query}` === sentQuery) return target;
  const sent = new Set(sentQuery.replace(/^\?/, "").split("&"));
  const shown = query.split("&").map((pair) => (sent.has(pair) ? pair : `${pair.split("=", 1)[0]}=${HIDDEN}`));
  return `${path}?${shown.join("&")}`;
}
