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
import type { IncomingRequest } from "../../exchange/request.ts";
import { keyNamesOf, withoutKeys, withoutKeysOfTarget } from "../key-parameters.ts";
import { JsonBytes } from "./json-bytes.ts";
import { REDACTED, writeRequestHeaders, writeResponseHeaders } from "./log-headers.ts";

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

/** Constant parts of records as bytes: they are copied in half the time that a string takes. */
const json = (text: string): Uint8Array => Buffer.from(text);
const BEGIN = json('{"request":{"id":"');
const URI = json('","uri":');
const QUERY = json(',"querystring":');
const METHOD = json(',"method":');
const HEADERS = json(',"headers":');
const SIZE = json(',"size":');
const UPSTREAM_URI = json('},"upstream_uri":');
const LATENCIES = json('},"latencies":{"request":');
const KONG = json(',"kong":');
const PROXY = json(',"proxy":');
const RECEIVE = json(',"receive":');
const TRIES = json('},"tries":[');
const TRY = json('{"balancer_start":');
const NEXT_TRY = json(',{"balancer_start":');
const IP = json(',"ip":');
const PORT = json(',"port":');
const FAILED = json(',"state":"failed"}');
const TRIES_END = json("]");
const CLIENT = json(',"client_ip":');
const STARTED = json(',"started_at":');
const FROM_UPSTREAM = json(',"source":"upstream",');
const FROM_KONG = json(',"source":"kong",');
const CONSUMER = json(',"consumer":');
const END = json("}");
const NO_QUERY = json("{}");

/** The record that was written last. Reused, because records are written one at a time. */
const record = new JsonBytes();
/** Id of the exchange of `record`; null: none, or the exchange has changed since. */
let recordId: string | null = null;

/** The record of an exchange that has ended. Its memory is used again for the next record. */
export function logRecordOf(exchange: LoggedExchange): JsonBytes {
  if (recordId === exchange.id) return record;
  recordId = null;
  record.clear();
  writeRecord(exchange);
  if (exchange.logFields !== null) {
    const text = withFields(record.toString(), exchange.logFields);
    record.clear();
    record.text(text);
  }
  recordId = exchange.id;
  return record;
}

/** Called when log fields of an exchange change. */
export function forgetLogRecord(): void {
  recordId = null;
}

function writeRecord(exchange: LoggedExchange): void {
  const { timings, service, consumer, status, forwardedTarget } = exchange;
  const names = keyNamesOf(exchange.runtime.snapshot);
  const isForwarded = exchange.source === "service";
  const latencies = latenciesOf(timings);
  const epoch = epochAt(timings.ended ?? timings.started);
  record.piece(BEGIN);
  record.text(exchange.id);
  record.piece(URI);
  writeRequest(exchange, names);
  record.piece(UPSTREAM_URI);
  record.string(forwardedTarget === null ? "" : withoutKeysOfTarget(forwardedTarget, names, REDACTED));
  record.piece(statusJson(status, isForwarded));
  writeResponseHeaders(record, exchange.sentHead, names);
  record.piece(SIZE);
  record.number(exchange.bytesOut);
  record.piece(LATENCIES);
  record.number(latencies.request);
  record.piece(KONG);
  record.number(latencies.kong);
  record.piece(PROXY);
  record.number(latencies.proxy);
  record.piece(RECEIVE);
  record.number(latencies.receive);
  record.piece(TRIES);
  writeTries(exchange.attempts, epoch);
  record.piece(TRIES_END);
  if (exchange.credential !== null) writeCredential(exchange.credential);
  record.piece(CLIENT);
  record.string(exchange.request.clientAddress);
  record.piece(STARTED);
  record.number(Math.floor(epoch + timings.started));
  record.piece(isForwarded ? FROM_UPSTREAM : FROM_KONG);
  record.piece(routeJson(exchange.route, service));
  if (consumer !== null) {
    record.piece(CONSUMER);
    record.piece(consumerJson(consumer));
  }
  record.piece(END);
}

/** Milliseconds after which the clock is read again. */
const CLOCK_INTERVAL = 100;
let epoch = 0;
let epochUntil = Number.NEGATIVE_INFINITY;

/**
 * The Unix time at which the monotonic clock was 0. Not only computed once, because the clock may be corrected.
 *
 * @param now By `performance.now()`
 */
function epochAt(now: number): number {
  if (now > epochUntil) {
    epoch = Date.now() - performance.now();
    epochUntil = now + CLOCK_INTERVAL;
  }
  return epoch;
}

/** Writes the members of `request` from the value of `uri` on. */
function writeRequest({ request, bytesIn }: LoggedExchange, names: ReadonlySet<string>): void {
  const query = withoutKeys(request.query, names, REDACTED);
  const uri = record.length;
  record.string(query === "" ? request.target.sentPath : request.target.sentPath + query);
  const uriEnd = record.length;
  record.piece(originJson(request));
  // Without the opening quotation mark.
  record.repeat(uri + 1, uriEnd);
  record.piece(QUERY);
  if (query.length < 2) record.piece(NO_QUERY);
  else record.text(queryText(query));
  record.piece(METHOD);
  record.string(request.method);
  record.piece(HEADERS);
  writeRequestHeaders(record, request, names);
  record.piece(SIZE);
  record.number(bytesIn);
  const { tlsVersion, tlsCipher } = request.head.peer;
  if (tlsVersion === null) return;
  record.text(',"tls":');
  record.text(JSON.stringify({ version: tlsVersion, cipher: tlsCipher, client_verify: "NONE" }));
}

let lastOrigin = { scheme: "", host: "", port: 0, part: json("") };

/** The member `url` up to the host and port. Most requests have those of the previous one. */
function originJson({ scheme, host, connection: { port } }: IncomingRequest): Uint8Array {
  if (lastOrigin.host !== host || lastOrigin.port !== port || lastOrigin.scheme !== scheme) {
    const name = host.includes(":") ? host.replace(/:\d*$/, "") : host;
    const part = json(`,"url":${JSON.stringify(`${scheme}://${name}:${port}`).slice(0, -1)}`);
    // The host may be a slice of a head, which would stay in memory too.
    lastOrigin = { scheme, host: Buffer.from(host).toString(), port, part };
  }
  return lastOrigin.part;
}

/** By status, negative for responses of the gateway: the members from `upstream_status` to the name of the headers. */
const statusParts = new Map<number, Uint8Array>();

function statusJson(status: number, isForwarded: boolean): Uint8Array {
  const key = isForwarded ? status : -status;
  const known = statusParts.get(key);
  if (known !== undefined) return known;
  const part = json(`,"upstream_status":"${isForwarded ? status : ""}","response":{"status":${status},"headers":`);
  statusParts.set(key, part);
  return part;
}

function writeTries(attempts: readonly ForwardAttempt[], epoch: number): void {
  let isFirst = true;
  for (const { started, host, port, failed } of attempts) {
    record.piece(isFirst ? TRY : NEXT_TRY);
    record.number(Math.floor(epoch + started));
    record.piece(IP);
    record.string(host);
    record.piece(PORT);
    record.number(port);
    record.piece(failed ? FAILED : END);
    isFirst = false;
  }
}

function writeCredential({ id, consumer }: ExchangeCredential): void {
  record.text(',"authenticated_entity":');
  record.text(JSON.stringify({ id, consumer_id: consumer?.id }));
}

const workspaceText = `"workspace":${JSON.stringify(workspace.id)},"workspace_name":${JSON.stringify(workspace.name)}`;

/** An entity as JSON, without members that only Sluice has, such as upstream headers, which may be secret. */
function entityText(entity: SnapshotRoute | Service | Consumer): string {
  const {
    _sluice: _,
    upstream_headers: __,
    retry_budget: ___,
    ...members
  } = entity as Readonly<Record<string, unknown>>;
  return JSON.stringify({ ...withoutUnset(members), ws_id: workspace.id });
}

const consumers = new WeakMap<Consumer, Buffer>();

const consumerJson = (consumer: Consumer): Buffer =>
  consumers.getOrInsertComputed(consumer, () => Buffer.from(entityText(consumer)));

/** By route: the workspace, the route and the service as JSON, as in the last record of the route. */
const routes = new WeakMap<object, { readonly service: Service | null; readonly json: Buffer }>();

export function routeJson(route: SnapshotRoute, service: Service | null): Buffer {
  const known = routes.get(route);
  if (known?.service === service) return known.json;
  const serviceText = service === null ? "" : `,"service":${entityText(service)}`;
  const json = Buffer.from(`${workspaceText},"route":${entityText(route)}${serviceText}`);
  routes.set(route, { service, json });
  return json;
}

/**
 * The parameters of a query (with its `?`) as JSON. The values of a repeated name become a list; a name without `=` has
 * the value true.
 */
function queryText(query: string): string {
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
