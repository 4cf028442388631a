/** The spans of an exchange in the form of Zipkin's API v2, with Kong's names and tags. */
import { type Exchange, randomId, SPAN_DIGITS } from "@sluice/plugin-sdk";
import type { ZipkinConfig } from "./schema.ts";

/** The trace to which an exchange belongs, the ids of two spans of the exchange, and whether its spans are sent. */
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

const entityTags = ({ service, route }: Exchange): Tags => ({
  "kong.service": service?.id,
  "kong.service_name": service?.name,
  "kong.route": route.id,
  "kong.route_name": route.name,
});

function requestSpanOf(exchange: Exchange, trace: ZipkinTrace, config: ZipkinConfig): Span {
  const { request, timings, consumer, credential } = exchange;
  const fixed = Object.fromEntries((config.static_tags ?? []).map(({ name, value }) => [name, value]));
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
      ...fixed,
      ...requestTags(request.headerValues(tagHeader)),
      "http.status_code": exchange.status,
      "kong.consumer": consumer?.id,
      "kong.credential": config.include_credential ? credential?.id : null,
    },
    ...(config.phase_duration_flavor === "annotations" && { annotations: [["krs", timings.started]] }),
  };
}

function proxySpanOf(
  exchange: Exchange,
  trace: ZipkinTrace,
  { name, config }: { name: string; config: ZipkinConfig },
): Span {
  const { timings, service, attempts } = exchange;
  const { started, ended = started, answered } = timings;
  const forwarded = timings.forwarded ?? ended;
  const last = attempts.at(-1);
  const isAnnotated = config.phase_duration_flavor === "annotations";
  const whole = (milliseconds: number) => Math.max(0, Math.floor(milliseconds));
  return {
    id: trace.proxySpan,
    parentId: trace.requestSpan,
    name: `${name} (proxy)`,
    kind: "CLIENT",
    start: started,
    end: ended,
    remote: { serviceName: service?.name ?? undefined, ...(last && { address: last.host, port: last.port }) },
    tags: {
      ...entityTags(exchange),
      "peer.hostname": service !== null && last !== undefined ? service.host : null,
      ...(!isAnnotated && {
        "kong.access.duration_ms": whole(forwarded - started),
        "kong.body_filter.duration_ms": answered === undefined ? null : whole(ended - answered),
      }),
    },
    ...(isAnnotated && {
      annotations: [
        ["kas", started],
        ["kaf", forwarded],
        ...(answered === undefined ? [] : [["khs", answered] as const]),
        ["kbf", ended],
      ],
    }),
  };
}

const attemptSpansOf = (exchange: Exchange, trace: ZipkinTrace, name: string): readonly Span[] =>
  exchange.attempts.map(({ host, port, started, failed }, index) => ({
    id: randomId(SPAN_DIGITS),
    parentId: trace.requestSpan,
    name: `${name} (balancer try ${index + 1})`,
    kind: "CLIENT",
    start: started,
    end: exchange.attempts[index + 1]?.started ?? exchange.timings.answered ?? exchange.timings.ended ?? started,
    remote: { serviceName: exchange.service?.name ?? undefined, address: host, port },
    tags: {
      ...entityTags(exchange),
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

/**
 * The spans as JSON texts, as Kong sends them: one of each attempt, one of the time in the proxy, and one of the
 * request.
 *
 * @param now Unix milliseconds of the end of the exchange
 */
export function zipkinSpansOf(
  exchange: Exchange,
  trace: ZipkinTrace,
  { config, now }: { readonly config: ZipkinConfig; readonly now: number },
): readonly string[] {
  const ended = exchange.timings.ended ?? exchange.timings.started;
  const micros = (time: number) => Math.floor((now - ended + time) * 1000);
  const request = requestSpanOf(exchange, trace, config);
  const { name } = request;
  const spans = [...attemptSpansOf(exchange, trace, name), proxySpanOf(exchange, trace, { name, config }), request];
  return spans.map(({ id, parentId, kind, start, end, remote, tags, annotations, name: spanName }) =>
    JSON.stringify({
      traceId: trace.traceId,
      id,
      ...(parentId !== null && { parentId }),
      name: spanName.slice(0, MAX_VALUE),
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
