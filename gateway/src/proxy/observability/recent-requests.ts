/**
 * Remembers recent requests that the gateway refused, that services failed, or whose response was slow, with the
 * reason. Requests are grouped by kind, status, route and plugin, and only the newest of each group are kept: a flood
 * of one kind of refusal does not displace the others.
 */
import type { RecentRequest, RecentRequestFilter } from "@sluice/model";
import { idAndNameOf, matchesIdOrName } from "../../exchange/entity-name.ts";
import { gatewayErrors } from "../../exchange/gateway-errors.ts";
import type { LiveExchange } from "../exchange/live-exchange.ts";
import type { RejectedRequest, RequestObserver } from "./observer.ts";
import {
  boundedHost,
  exchangeRecord,
  isFailed,
  isRefused,
  pluginIdOf,
  pluginOf,
  refusalRecord,
  responseStart,
  withoutQuery,
} from "./request-records.ts";

/** Maximum number of groups; the one whose last request is the oldest is forgotten. */
const MAX_GROUPS = 50;
/** Maximum number of requests of a group. */
const GROUP_SIZE = 10;
/** Milliseconds within which at most `GROUP_SIZE` requests of a group are recorded. */
const INTERVAL = 1000;
/** Maximum characters of a reason. */
const MAX_REASON = 500;

interface Group {
  /** Oldest first. */
  readonly requests: RecentRequest[];
  /** When the current interval began, by `performance.now()`. */
  since: number;
  /** Requests recorded in the current interval. */
  recorded: number;
}

export interface RecentRequestsOptions {
  /** A request is slow if this many milliseconds pass before its response begins, or before its client disconnects. */
  readonly slowAfter: number;
}

export class RecentRequestLog implements RequestObserver {
  readonly #slowAfter: number;
  /** By kind, status, route and plugin; the group with the newest request is the last. */
  readonly #groups = new Map<string, Group>();

  constructor({ slowAfter }: RecentRequestsOptions) {
    this.#slowAfter = slowAfter;
  }

  finished(exchange: LiveExchange): void {
    const { status, timings, route } = exchange;
    const { started, ended = started } = timings;
    const kind = isRefused(exchange) ? "refused" : isFailed(exchange) ? "failed" : "slow";
    if (kind === "slow" && responseStart(exchange) - started < this.#slowAfter) return;
    const group = this.#groupFor(`${kind} ${status} ${route.id} ${pluginIdOf(exchange) ?? ""}`, ended);
    if (group !== null) keep(group, exchangeEntry(exchange, kind));
  }

  rejected(refusal: RejectedRequest): void {
    const group = this.#groupFor(refusal.name, performance.now());
    if (group !== null) keep(group, refusalEntry(refusal));
  }

  /** The requests that the filter selects, newest first. */
  list({ kind, route, service, consumer, plugin, status, size }: RecentRequestFilter): readonly RecentRequest[] {
    return [...this.#groups.values()]
      .flatMap(({ requests }) => requests)
      .filter(
        (request) =>
          (kind === null || request.kind === kind) &&
          (status === null || request.status === status) &&
          matchesIdOrName(request.route, route) &&
          matchesIdOrName(request.service, service) &&
          matchesIdOrName(request.consumer, consumer) &&
          matchesIdOrName(request.plugin, plugin),
      )
      .sort(newestFirst)
      .slice(0, size);
  }

  /** Null: the group has recorded enough requests for now. */
  #groupFor(key: string, now: number): Group | null {
    let group = this.#groups.get(key);
    if (group === undefined) {
      const [oldest] = this.#groups.keys();
      if (this.#groups.size >= MAX_GROUPS && oldest !== undefined) this.#groups.delete(oldest);
      group = { requests: [], since: now, recorded: 0 };
    } else if (now - group.since >= INTERVAL) {
      group.since = now;
      group.recorded = 0;
    } else if (group.recorded >= GROUP_SIZE) return null;
    group.recorded++;
    this.#groups.delete(key);
    this.#groups.set(key, group);
    return group;
  }
}

type Timed = Pick<RecentRequest, "time">;

/** Times in ISO 8601 sort as text. */
export const newestFirst = (one: Timed, other: Timed): number =>
  one.time < other.time ? 1 : one.time > other.time ? -1 : 0;

function keep({ requests }: Group, entry: RecentRequest): void {
  if (requests.length >= GROUP_SIZE) requests.shift();
  // A copy, because a string may be a slice of the request's head, which would stay in memory too.
  requests.push(structuredClone(entry));
}

function exchangeEntry(exchange: LiveExchange, kind: RecentRequest["kind"]): RecentRequest {
  const { request_id, trace_id, client, method, path, status, latencies, target, tries } = exchangeRecord(
    exchange,
    withoutQuery,
  );
  const { request, route, service, consumer } = exchange;
  return {
    time: new Date().toISOString(),
    request_id,
    trace_id: trace_id ?? null,
    kind,
    reason: reasons[kind](exchange).slice(0, MAX_REASON),
    status,
    client_address: client,
    method,
    host: boundedHost(request),
    path,
    route: idAndNameOf(route),
    service: service && idAndNameOf(service),
    consumer: consumer && idAndNameOf(consumer),
    plugin: pluginOf(exchange),
    target: target ?? null,
    tries,
    latencies: { ...latencies, upstream: latencies.upstream ?? null },
  };
}

function refusalEntry(refusal: RejectedRequest): RecentRequest {
  const { request_id, trace_id, client, method, path, status, latencies } = refusalRecord(refusal);
  return {
    time: new Date().toISOString(),
    request_id,
    trace_id: trace_id ?? null,
    kind: "refused",
    reason: gatewayErrors[refusal.name].message,
    status,
    client_address: client ?? null,
    method: method ?? null,
    host: refusal.request && boundedHost(refusal.request),
    path: path ?? null,
    route: null,
    service: null,
    consumer: null,
    plugin: null,
    target: null,
    tries: 0,
    latencies: { request: latencies.request, gateway: latencies.request, upstream: null },
  };
}

const refusalReason = ({ ownReason, status }: LiveExchange): string => ownReason ?? `answered with status ${status}`;

function slowReason(exchange: LiveExchange): string {
  const { timings, isAbandoned } = exchange;
  const { started, forwarded, answered } = timings;
  const began = responseStart(exchange);
  if (isAbandoned) return `the client disconnected after ${seconds(began - started)}, before the response began`;
  if (forwarded === undefined || answered === undefined)
    return `the gateway answered after ${seconds(began - started)}`;
  const [own, upstream, held] = [forwarded - started, answered - forwarded, began - answered];
  if (held > own && held > upstream) return `plugins held the response for ${seconds(held)}`;
  return own > upstream
    ? `the request was forwarded after ${seconds(own)}: plugins took this time, or other attempts failed`
    : `the service began to respond after ${seconds(upstream)}`;
}

const reasons: Readonly<Record<RecentRequest["kind"], (exchange: LiveExchange) => string>> = {
  refused: refusalReason,
  failed: ({ status }) => `the service answered with status ${status}`,
  slow: slowReason,
};

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(2)} s`;
