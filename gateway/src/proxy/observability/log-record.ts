/**
 * The record of an exchange for log plugins, as JSON in the format of Kong's `kong.log.serialize`. Authorization headers
 * and API keys are redacted. Headers that the gateway adds for the upstream are left out, because they may be secret.
 */
import type { Consumer, Service, Snapshot, SnapshotRoute } from "@sluice/model";
import {
  type ExchangeCredential,
  type ForwardAttempt,
  type LogValue,
  latenciesOf,
  type Timings,
  withoutUnset,
  workspace,
} from "@sluice/plugin-sdk";
import type { IncomingRequest } from "../exchange/request.ts";
import { keyNamesOf, withoutKeyCookies, withoutKeys } from "./key-parameters.ts";

export interface LoggedExchange {
  readonly id: string;
  readonly request: IncomingRequest;
  readonly runtime: { readonly snapshot: Snapshot };
  readonly route: SnapshotRoute;
  readonly service: Service | null;
  readonly consumer: Consumer | null;
  readonly credential: ExchangeCredential | null;
  readonly timings: Timings;
  readonly status: number;
  readonly source: "service" | "gateway";
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Path and query of the last attempt; null: the request was not forwarded. */
  readonly forwardedTarget: string | null;
  /** The response's head as it was sent: its text, or a flat list of headers. Null: none was sent. */
  readonly sentHead: string | readonly string[] | null;
  readonly attempts: readonly ForwardAttempt[];
  /** Members set by plugins, by dotted name. */
  readonly logFields: ReadonlyMap<string, LogValue> | null;
}

/** As in Kong. */
const REDACTED = "REDACTED";

export function logRecordOf(exchange: LoggedExchange): string {
  const { request, timings, forwardedTarget, consumer, credential, service, source } = exchange;
  const names = keyNamesOf(exchange.runtime.snapshot);
  const query = withoutKeys(request.query, names, REDACTED);
  const uri = request.target.sentPath + query;
  // From the present time: the time of the process's start plus a monotonic time would miss corrections of the clock.
  const epoch = Date.now() - (timings.ended ?? timings.started);
  const members = {
    request: {
      id: exchange.id,
      uri,
      url: `${request.scheme}://${hostOf(request)}:${request.connection.port}${uri}`,
      querystring: grouped(queryPairs(query)),
      method: request.method,
      headers: requestHeaders(request, names),
      size: exchange.bytesIn,
      tls: tlsOf(request),
    },
    upstream_uri: forwardedTarget === null ? "" : redactedTarget(forwardedTarget, names),
    upstream_status: source === "service" ? String(exchange.status) : "",
    response: { status: exchange.status, headers: responseHeaders(exchange.sentHead, names), size: exchange.bytesOut },
    latencies: latenciesOf(timings),
    tries: exchange.attempts.map(({ started, host, port, failed }) => ({
      balancer_start: Math.floor(epoch + started),
      ip: host,
      port,
      ...(failed && { state: "failed" }),
    })),
    authenticated_entity: credential === null ? undefined : { id: credential.id, consumer_id: credential.consumer?.id },
    client_ip: request.clientAddress,
    started_at: Math.floor(epoch + timings.started),
    source: source === "service" ? "upstream" : "kong",
    workspace: workspace.id,
    workspace_name: workspace.name,
  };
  const entities =
    `"route":${entityText(exchange.route)}` +
    (service === null ? "" : `,"service":${entityText(service)}`) +
    (consumer === null ? "" : `,"consumer":${entityText(consumer)}`);
  const text = `${JSON.stringify(members).slice(0, -1)},${entities}}`;
  return exchange.logFields === null ? text : withFields(text, exchange.logFields);
}

/** The entities as JSON, without members that only Sluice has: upstream headers may be secret. */
const entityTexts = new WeakMap<object, string>();

function entityText(entity: SnapshotRoute | Service | Consumer): string {
  let text = entityTexts.get(entity);
  if (text === undefined) {
    const { _sluice: _, upstream_headers: __, ...members } = entity as Readonly<Record<string, unknown>>;
    text = JSON.stringify({ ...withoutUnset(members), ws_id: workspace.id });
    entityTexts.set(entity, text);
  }
  return text;
}

const hostOf = ({ host }: IncomingRequest): string => host.replace(/:\d*$/, "");

function tlsOf({ head: { peer } }: IncomingRequest): object | undefined {
  if (peer.tlsVersion === null) return undefined;
  return { version: peer.tlsVersion, cipher: peer.tlsCipher, client_verify: "NONE" };
}

function redactedTarget(target: string, names: ReadonlySet<string>): string {
  const at = target.indexOf("?");
  return at < 0 ? target : target.slice(0, at) + withoutKeys(target.slice(at), names, REDACTED);
}

type Values<Value> = Record<string, Value | Value[]>;

/** The values of a repeated name become a list. Without a prototype: clients choose the names. */
function grouped<Value extends string | true>(pairs: Iterable<readonly [name: string, value: Value]>): Values<Value> {
  const members: Values<Value> = Object.create(null);
  for (const [name, value] of pairs) {
    const before = members[name];
    members[name] = before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value];
  }
  return members;
}

/** Names and values of a query (with its `?`); true for a name without `=`. */
function* queryPairs(query: string): Generator<readonly [name: string, value: string | true]> {
  if (query.length < 2) return;
  for (const pair of query.slice(1).split("&")) {
    for (const [name, value] of new URLSearchParams(pair)) yield [name, pair.includes("=") ? value : true];
  }
}

function requestHeaders({ rawHeaders }: IncomingRequest, names: ReadonlySet<string>): Values<string> {
  const headers = grouped(listPairs(rawHeaders));
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (name === "authorization" || name === "proxy-authorization" || names.has(name)) headers[name] = REDACTED;
    else if (name === "cookie" && value !== undefined)
      headers[name] = withoutKeyCookies([value].flat().join("; "), names, REDACTED);
  }
  return headers;
}

function responseHeaders(head: LoggedExchange["sentHead"], names: ReadonlySet<string>): Values<string> {
  if (head === null) return {};
  const headers = grouped(typeof head === "string" ? linePairs(head) : listPairs(head));
  const cookies = headers["set-cookie"];
  if (cookies !== undefined && names.size > 0) {
    const [first = "", ...more] = [cookies].flat().map((cookie) => withoutKeyCookies(cookie, names, REDACTED));
    headers["set-cookie"] = more.length === 0 ? first : [first, ...more];
  }
  if (typeof headers.location === "string") headers.location = redactedTarget(headers.location, names);
  return headers;
}

/** Headers are Latin-1, one character per byte; most senders mean UTF-8. ASCII text is the same in both. */
const decoded = (value: string): string =>
  /[\x80-\xff]/.test(value) ? Buffer.from(value, "latin1").toString("utf8") : value;

function* listPairs(list: readonly string[]): Generator<readonly [name: string, value: string]> {
  for (let at = 0; at < list.length; at += 2) yield [(list[at] ?? "").toLowerCase(), decoded(list[at + 1] ?? "")];
}

/** Yields the headers of a head that is given as text, without the first line and anything after the empty line. */
function* linePairs(head: string): Generator<readonly [name: string, value: string]> {
  let start = head.indexOf("\r\n") + 2;
  for (;;) {
    const end = head.indexOf("\r\n", start);
    if (end <= start) return;
    const colon = head.indexOf(":", start);
    yield [head.slice(start, colon).toLowerCase(), decoded(head.slice(colon + 1, end).trim())];
    start = end + 2;
  }
}

/** Dots in a name separate nested members. An outer member that is not an object is replaced. Null removes a member. */
function withFields(text: string, fields: ReadonlyMap<string, LogValue>): string {
  const record = JSON.parse(text) as Record<string, LogValue>;
  for (const [name, value] of fields) {
    const path = name.split(".");
    const last = path.pop() ?? "";
    let at = record;
    for (const each of path) {
      const inner = Object.hasOwn(at, each) ? at[each] : null;
      const next = typeof inner === "object" && inner !== null && !Array.isArray(inner) ? inner : {};
      define(at, each, next);
      at = next as Record<string, LogValue>;
    }
    if (value === null) Reflect.deleteProperty(at, last);
    else define(at, last, value);
  }
  return JSON.stringify(record);
}

/** Defines an own member, also if its name is that of an inherited one, such as `__proto__`. */
const define = (record: object, name: string, value: LogValue): void => {
  Object.defineProperty(record, name, { value, writable: true, enumerable: true, configurable: true });
};
