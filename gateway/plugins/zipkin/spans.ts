/** The spans of an exchange or a connection in the form of Zipkin's API v2, with Kong's names and tags. */
import { type EndedConnection, type Exchange, randomId, SPAN_DIGITS } from "@sluice/plugin-sdk";
import type { ZipkinConfig } from "./schema.ts";

type Traced = Exchange | EndedConnection;

/** The trace to which an exchange or a connection belongs, the ids of two of its spans, and whether they are sent. */
export interface ZipkinTrace {
  /** 32 hex digits, or 16 for a new trace with short ids. */
  readonly traceId: string;
  /** The parent of `requestSpan`; null: there is none, or it is unknown. */
  readonly parentId: string | null;
  readonly requestSpan: string;
  readonly proxySpan: string;
  readonly isSampled: boolean;
}

type Tags = Readonly<Record<string, string | number | boolean | null | undefined>>;

interface Endpoint {
  readonly serviceName?: string | undefined;
  readonly address?: string;
  readonly port?: number;
}

interface Span {
  readonly id: string;
  readonly parentId: string | null;
  readonly name: string;
  readonly kind: "SERVER" | "CLIENT";
  /** In milliseconds by the clock of `Timings`. */
  readonly start: number;
  readonly end: number;
  readonly remote: Endpoint;
  readonly tags: Tags;
  readonly annotations?: readonly (readonly [value: string, time: number])[];
}

/** Maximum tags that a request's header may set. */
const MAX_TAGS = 64;
/** Maximum characters of a tag's value, and of a span's name. */
const MAX_VALUE = 1024;

/**
 * A tag as name and value; null: the text is not a tag. As in Kong, the separator is the last `=` of the first word
 * that has a value after it. If there is none, the separator is an `=` that follows the first word.
 */
function tagOf(text: string): readonly [name: string, value: string] | null {
  const part = text.slice(0, 2 * MAX_VALUE).trim();
  const word = part.split(/\s/, 1)[0] ?? "";
  for (let at = word.lastIndexOf("="); at > 0; at = word.lastIndexOf("=", at - 1)) {
    const value = part.slice(at + 1).trim();
    if (value !== "") return [word.slice(0, at), value];
  }
  const rest = part.slice(word.length).trimStart();
  const value = rest.slice(1).trim();
  return rest.startsWith("=") && word !== "" && value !== "" ? [word, value] : null;
}

/** The tags in the values of a request's header: `name=value; name=value`. Invalid tags are left out. */
const requestTags = (values: readonly string[]): Tags =>
  Object.fromEntries(
    values
      .flatMap((value) => value.split(";", MAX_TAGS))
      .slice(0, MAX_TAGS)
      .map(tagOf)
      .filter((tag) => tag !== null),
  );

/** The tags that have a value, as strings; empty strings are left out. */
const textTags = (tags: Tags): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(tags)
      .filter(([, value]) => value !== undefined && value !== null && value !== "")
      .map(([name, value]) => [name, String(value).slice(0, MAX_VALUE)]),
  );

const entityTags = ({ service, route }: Traced): Tags => ({
  "kong.service": service?.id,
  "kong.service_name": service?.name,
  "kong.route": route.id,
  "kong.route_name": route.name,
});

const fixedTags = ({ static_tags }: ZipkinConfig): Tags =>
  Object.fromEntries((static_tags ?? []).map(({ name, value }) => [name, value]));

function requestSpanOf(exchange: Exchange, trace: ZipkinTrace, config: ZipkinConfig): Span {
  const { request, timings, consumer, credential } = exchange;
  const tagHeader = config.tags_header.toLowerCase() as Lowercase<string>;
  return {
    id: trace.requestSpan,
    parentId: trace.parentId,
    name: config.http_span_name === "method" ? request.method : `${request.method} ${request.path}`,
    kind: "SERVER",
    start: timings.started,
    end: timings.ended ?? timings.started,
    remote: { address: request.clientAddress },
    tags: {
      lc: "kong",
      "http.method": request.method,
      "http.host": request.host.replace(/:\d*$/, ""),
      "http.path": request.path,
      "http.protocol": `HTTP/${request.httpVersion}`,
      ...fixedTags(config),
      ...requestTags(request.headerValues(tagHeader)),
      "http.status_code": exchange.status,
      "kong.consumer": consumer?.id,
      "kong.credential": config.include_credential ? credential?.id : null,
    },
    ...(config.phase_duration_flavor === "annotations" && { annotations: [["krs", timings.started]] }),
  };
}

const whole = (milliseconds: number): number => Math.max(0, Math.floor(milliseconds));

/** Durations of phases: the annotations and tags of the span of the time in the proxy, of which the config selects one. */
type Phases = Pick<Span, "tags"> & Required<Pick<Span, "annotations">>;

function phasesOf({ timings }: Exchange): Phases {
  const { started, ended = started, answered } = timings;
  const forwarded = timings.forwarded ?? ended;
  return {
    tags: {
      "kong.access.duration_ms": whole(forwarded - started),
      "kong.body_filter.duration_ms": answered === undefined ? null : whole(ended - answered),
    },
    annotations: [
      ["kas", started],
      ["kaf", forwarded],
      ...(answered === undefined ? [] : [["khs", answered] as const]),
      ["kbf", ended],
    ],
  };
}

interface ProxySpanOptions {
  readonly name: string;
  readonly config: ZipkinConfig;
  readonly phases: Phases;
}

function proxySpanOf(traced: Traced, trace: ZipkinTrace, { name, config, phases }: ProxySpanOptions): Span {
  const { timings, service, attempts } = traced;
  const last = attempts.at(-1);
  const isAnnotated = config.phase_duration_flavor === "annotations";
  return {
    id: trace.proxySpan,
    parentId: trace.requestSpan,
    name: `${name} (proxy)`,
    kind: "CLIENT",
    start: timings.started,
    end: timings.ended ?? timings.started,
    remote: { serviceName: service?.name ?? undefined, ...(last && { address: last.host, port: last.port }) },
    tags: {
      ...entityTags(traced),
      "peer.hostname": service !== null && last !== undefined ? service.host : null,
      ...(!isAnnotated && phases.tags),
    },
    ...(isAnnotated && { annotations: phases.annotations }),
  };
}

interface AttemptSpanOptions {
  readonly name: string;
  /** When the last attempt ended, by the clock of `Timings`. */
  readonly end: number;
}

const attemptSpansOf = (traced: Traced, trace: ZipkinTrace, { name, end }: AttemptSpanOptions): readonly Span[] =>
  traced.attempts.map(({ host, port, started, failed }, index) => ({
    id: randomId(SPAN_DIGITS),
    parentId: trace.requestSpan,
    name: `${name} (balancer try ${index + 1})`,
    kind: "CLIENT",
    start: started,
    end: traced.attempts[index + 1]?.started ?? end,
    remote: { serviceName: traced.service?.name ?? undefined, address: host, port },
    tags: {
      ...entityTags(traced),
      "kong.balancer.try": index + 1,
      ...(failed && { error: true, "kong.balancer.state": "failed" }),
    },
  }));

const ADDRESS = { true: "ipv6", false: "ipv4" } as const;

function endpointOf({ serviceName, address, port }: Endpoint, defaultName: string | null): object | undefined {
  const name = serviceName ?? defaultName ?? undefined;
  // A target's host may be a name.
  const isAddress = address !== undefined && /^[\d.]+$|:/.test(address);
  const endpoint = {
    ...(name !== undefined && { serviceName: name }),
    ...(isAddress && { [ADDRESS[`${address.includes(":")}`]]: address }),
    ...(port !== undefined && { port }),
  };
  return Object.keys(endpoint).length === 0 ? undefined : endpoint;
}

interface SpanOptions {
  readonly config: ZipkinConfig;
  /** Unix milliseconds of the end of the exchange or connection. */
  readonly now: number;
}

/**
 * The spans as JSON texts, as Kong sends them: one of each attempt, one of the time in the proxy, and one of the
 * request.
 */
export function zipkinSpansOf(exchange: Exchange, trace: ZipkinTrace, options: SpanOptions): readonly string[] {
  const { started, answered, ended = started } = exchange.timings;
  const request = requestSpanOf(exchange, trace, options.config);
  const { name } = request;
  const spans = [
    ...attemptSpansOf(exchange, trace, { name, end: answered ?? ended }),
    proxySpanOf(exchange, trace, { name, config: options.config, phases: phasesOf(exchange) }),
    request,
  ];
  return textsOf(spans, trace, { ...options, ended });
}

/** The name of Kong's spans of connections. */
const STREAM = "stream";

/** The same for a connection that is not HTTP. */
export function connectionSpansOf(
  connection: EndedConnection,
  trace: ZipkinTrace,
  options: SpanOptions,
): readonly string[] {
  const { timings, attempts, clientAddress } = connection;
  const { started, forwarded, ended = started } = timings;
  // In Kong, plugins run in the phase preread, which ends when a target is selected.
  const selected = attempts[0]?.started ?? ended;
  const phases: Phases = {
    tags: { "kong.preread.duration_ms": whole(selected - started) },
    annotations: [
      ["kps", started],
      ["kpf", selected],
    ],
  };
  const spans: readonly Span[] = [
    ...attemptSpansOf(connection, trace, { name: STREAM, end: forwarded ?? ended }),
    proxySpanOf(connection, trace, { name: STREAM, config: options.config, phases }),
    {
      id: trace.requestSpan,
      parentId: trace.parentId,
      name: STREAM,
      kind: "SERVER",
      start: started,
      end: ended,
      remote: { address: clientAddress },
      tags: { lc: "kong", ...fixedTags(options.config) },
    },
  ];
  return textsOf(spans, trace, { ...options, ended });
}

interface TextOptions extends SpanOptions {
  /** The time `now`, by the clock of `Timings`. */
  readonly ended: number;
}

function textsOf(
  spans: readonly Span[],
  { traceId }: ZipkinTrace,
  { config, now, ended }: TextOptions,
): readonly string[] {
  const micros = (time: number) => Math.floor((now - ended + time) * 1000);
  return spans.map(({ id, parentId, kind, start, end, remote, tags, annotations, name }) =>
    JSON.stringify({
      traceId,
      id,
      ...(parentId !== null && { parentId }),
      name: name.slice(0, MAX_VALUE),
      kind,
      timestamp: micros(start),
      duration: Math.max(0, micros(end) - micros(start)),
      localEndpoint: { serviceName: config.local_service_name },
      remoteEndpoint: endpointOf(remote, config.default_service_name),
      tags: textTags(tags),
      annotations: annotations?.map(([value, time]) => ({ value, timestamp: micros(time) })),
    }),
  );
}
