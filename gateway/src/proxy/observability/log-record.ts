/**
 * The record of an exchange for log plugins, as JSON in the format of Kong's `kong.log.serialize`. Authorization
 * headers and API keys are redacted. Headers that the gateway adds for the upstream are left out, because they may be
 * secret.
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
import { keyNamesOf, withoutKeys, withoutKeysOfTarget } from "./key-parameters.ts";
import { jsonString, REDACTED, requestHeadersText, responseHeadersText } from "./log-headers.ts";

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

export function logRecordOf(exchange: LoggedExchange): string {
  const { request, timings, forwardedTarget, service, consumer, source, status } = exchange;
  const names = keyNamesOf(exchange.runtime.snapshot);
  const query = withoutKeys(request.query, names, REDACTED);
  const uri = jsonString(request.target.sentPath + query);
  const url = jsonString(`${request.scheme}://${hostOf(request)}:${request.connection.port}`);
  const upstreamUri = forwardedTarget === null ? "" : withoutKeysOfTarget(forwardedTarget, names, REDACTED);
  const isForwarded = source === "service";
  const { request: total, kong, proxy, receive } = latenciesOf(timings);
  // Computed from the current time: the process's start time plus a monotonic time would miss corrections of the clock.
  const epoch = Date.now() - (timings.ended ?? timings.started);
  const text =
    `{"request":{"id":"${exchange.id}","uri":${uri},"url":${url.slice(0, -1)}${uri.slice(1)},` +
    `"querystring":${queryText(query)},"method":${jsonString(request.method)},` +
    `"headers":${requestHeadersText(request, names)},"size":${exchange.bytesIn}${tlsText(request)}},` +
    `"upstream_uri":${jsonString(upstreamUri)},"upstream_status":"${isForwarded ? status : ""}",` +
    `"response":{"status":${status},"headers":${responseHeadersText(exchange.sentHead, names)},"size":${exchange.bytesOut}},` +
    `"latencies":{"request":${total},"kong":${kong},"proxy":${proxy},"receive":${receive}},` +
    `"tries":[${triesText(exchange.attempts, epoch)}]${credentialText(exchange.credential)},` +
    `"client_ip":${jsonString(request.clientAddress)},"started_at":${timeText(epoch + timings.started)},` +
    `"source":"${isForwarded ? "upstream" : "kong"}",${routeText(exchange.route, service)}` +
    `${consumer === null ? "}" : `,"consumer":${entityText(consumer)}}`}`;
  return exchange.logFields === null ? text : withFields(text, exchange.logFields);
}

const workspaceText = `"workspace":${JSON.stringify(workspace.id)},"workspace_name":${JSON.stringify(workspace.name)}`;

let lastTime = 0;
let lastTimeText = "0";

/** A time as a whole number; cached, because records often share it, and V8 takes long to format such large numbers. */
export function timeText(milliseconds: number): string {
  const time = Math.floor(milliseconds);
  if (time !== lastTime) {
    lastTime = time;
    lastTimeText = String(time);
  }
  return lastTimeText;
}

export function triesText(attempts: readonly ForwardAttempt[], epoch: number): string {
  let text = "";
  for (const { started, host, port, failed } of attempts) {
    const state = failed ? ',"state":"failed"' : "";
    text += `${text === "" ? "" : ","}{"balancer_start":${timeText(epoch + started)},"ip":${jsonString(host)},"port":${port}${state}}`;
  }
  return text;
}

function credentialText(credential: ExchangeCredential | null): string {
  if (credential === null) return "";
  return `,"authenticated_entity":${JSON.stringify({ id: credential.id, consumer_id: credential.consumer?.id })}`;
}

/** The entities as JSON, without members that only Sluice has, such as upstream headers, which may be secret. */
const entityTexts = new WeakMap<object, string>();

function entityText(entity: SnapshotRoute | Service | Consumer): string {
  let text = entityTexts.get(entity);
  if (text === undefined) {
    const {
      _sluice: _,
      upstream_headers: __,
      retry_budget: ___,
      ...members
    } = entity as Readonly<Record<string, unknown>>;
    text = JSON.stringify({ ...withoutUnset(members), ws_id: workspace.id });
    entityTexts.set(entity, text);
  }
  return text;
}

/** By route: the workspace, the route and the service as JSON, as in the last record of the route. */
const routeTexts = new WeakMap<object, { readonly service: Service | null; readonly text: string }>();

export function routeText(route: SnapshotRoute, service: Service | null): string {
  const known = routeTexts.get(route);
  if (known?.service === service) return known.text;
  const serviceText = service === null ? "" : `,"service":${entityText(service)}`;
  const text = `${workspaceText},"route":${entityText(route)}${serviceText}`;
  routeTexts.set(route, { service, text });
  return text;
}

const hostOf = ({ host }: IncomingRequest): string => (host.includes(":") ? host.replace(/:\d*$/, "") : host);

function tlsText({ head: { peer } }: IncomingRequest): string {
  if (peer.tlsVersion === null) return "";
  return `,"tls":${JSON.stringify({ version: peer.tlsVersion, cipher: peer.tlsCipher, client_verify: "NONE" })}`;
}

/**
 * The parameters of a query (with its `?`) as JSON. The values of a repeated name become a list; a name without `=` has
 * the value true.
 */
function queryText(query: string): string {
  if (query.length < 2) return "{}";
  // Without a prototype: clients choose the names.
  const members: Record<string, string | true | (string | true)[]> = Object.create(null);
  for (const pair of query.slice(1).split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decodedParameter(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? true : decodedParameter(pair.slice(equals + 1));
    const before = members[name];
    members[name] = before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value];
  }
  return JSON.stringify(members);
}

/** Decoded as forms are (WHATWG URL, application/x-www-form-urlencoded). */
const decodedParameter = (text: string): string =>
  /[%+]/.test(text) ? (new URLSearchParams(`=${text}`).get("") ?? "") : text;

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

/** Defines an own member, even if its name is that of an inherited one, such as `__proto__`. */
const define = (record: object, name: string, value: LogValue): void => {
  Object.defineProperty(record, name, { value, writable: true, enumerable: true, configurable: true });
};
