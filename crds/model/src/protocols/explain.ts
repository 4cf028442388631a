/**
 * Explanations of requests, and of connections that are not HTTP, from the nodes to the admin API (`POST /explain`). A
 * call to a node is a PluginEndpointCall whose plugin is NODE and whose path is `nodePaths.explain`
 * (plugin-endpoint.ts).
 */
import { isIP } from "node:net";
import {
  array,
  type Checked,
  choice,
  integer,
  isRecord,
  isToken,
  mapping,
  nullable,
  type RecordMembers,
  record,
  type Static,
  text,
  type Violation,
} from "@sluice/plugin-sdk";
import type { CertificateDetails } from "../certificate-details.ts";
import { checkValue } from "./check-value.ts";
import { connectionUrlOf } from "./connection-url.ts";

export const explainRequestSchema = record(
  {
    url: text({
      description:
        "URL of the request, such as http://api.example/users?page=2, or of a connection to a stream listener, such as " +
        "tcp://10.0.0.7:9100 or tls://mail.example:9443.",
      maxLength: 8192,
    }),
    method: text({ description: "Method of the request.", default: "GET", maxLength: 64 }),
    headers: mapping(
      array(text({ description: "A value.", rule: "header-value", minLength: 0, maxLength: 8192 }), {
        description: "Values.",
      }),
      {
        description: "Headers of the request. The header Host follows from the URL unless it is given.",
        default: {},
        keyRule: "header-name",
        maxProperties: 100,
      },
    ),
    client_address: text({
      description: "Address from which the client connects.",
      default: "127.0.0.1",
      maxLength: 64,
    }),
    client_port: nullable(
      integer({ description: "Port from which the client of a connection connects.", minimum: 1, maximum: 65_535 }),
    ),
    http_version: choice(["1.1", "2"], { description: "Version of HTTP.", default: "1.1" }),
    server_name: nullable(
      text({
        description:
          "Server name in the TLS handshake. Default: the host of an https or tls URL, unless it is an address.",
        maxLength: 255,
      }),
    ),
    port: nullable(
      integer({
        description:
          "Port of a Gateway's listener: the one that clients use, or the one that nodes open. Default: the node's " +
          "own listeners.",
        minimum: 1,
        maximum: 65_535,
      }),
    ),
    body: nullable(text({ description: "The request's body.", minLength: 0, maxLength: 32_768 })),
    body_size: nullable(
      integer({
        description: "Size of the body in bytes, if `body` is not given.",
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
      }),
    ),
    size: integer({
      description: "Maximum number of routes that are listed as candidates.",
      default: 20,
      minimum: 1,
      maximum: 1000,
    }),
  },
  { description: "A request or a connection to explain." },
);

export type ExplainRequest = Static<typeof explainRequestSchema>;

/** Reads a request to explain. A single value of a header may be given without a list. */
export function readExplainRequest(value: unknown): Checked<ExplainRequest> {
  const given = isRecord(value) && isRecord(value.headers) ? { ...value, headers: listed(value.headers) } : value;
  const checked = checkValue(explainRequestSchema, given ?? {});
  if (checked.violations) return checked;
  const violations = checkTexts(checked.value);
  return violations.length > 0 ? { violations } : checked;
}

const listed = (headers: RecordMembers): RecordMembers =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === "string" ? [value] : value]),
  );

const URL_FORM = /^https?:\/\/[^/?#\s\p{Cc}]+(?:[/?][^#\s\p{Cc}]*)?$/u;

/** Refuses values that cannot be sent as one request. The gateway answers other faults, such as a malformed Host. */
function checkTexts(given: ExplainRequest): readonly Violation[] {
  const { url, method, headers, client_address, client_port, body, body_size } = given;
  const violations: Violation[] = [];
  const refuse = (message: string, ...path: readonly string[]) => void violations.push({ path, message });
  if (isIP(client_address) === 0) refuse("expected an IP address", "client_address");
  if (url.startsWith("tcp:") || url.startsWith("tls:")) return [...violations, ...checkConnection(given)];
  if (!URL_FORM.test(url)) refuse("expected a URL such as http://api.example/users", "url");
  if (!isToken(method)) refuse("expected a method such as GET", "method");
  if (client_port !== null) refuse("only connections (tcp://, tls://) are described with a client port", "client_port");
  const named = (wanted: string) =>
    Object.entries(headers).flatMap(([name, values]) => (name.toLowerCase() === wanted ? values : []));
  if (body !== null && body_size !== null) refuse("set either body or body_size", "body_size");
  else if (body_size !== null && named("transfer-encoding").length > 0)
    refuse("with Transfer-Encoding the gateway does not know the size: set body", "body_size");
  const size = body === null ? body_size : Buffer.byteLength(body);
  const [length, ...others] = named("content-length");
  if (size !== null && length !== undefined && others.length === 0 && /^\d+$/.test(length) && Number(length) !== size)
    refuse(`the body has ${size} bytes`, "headers", "content-length");
  return violations;
}

/** Refuses members that a connection does not have. */
function checkConnection(given: ExplainRequest): readonly Violation[] {
  const { url, method, headers, http_version, server_name, body, body_size } = given;
  const refusals: Readonly<Record<string, string | false>> = {
    url: connectionUrlOf(url) === null && "expected a URL such as tcp://10.0.0.7:9100 or tls://mail.example:9443",
    method: method !== "GET" && "a connection has no method",
    headers: Object.keys(headers).length > 0 && "a connection has no headers",
    http_version: http_version !== "1.1" && "a connection has no version of HTTP",
    body: body !== null && "a connection has no body",
    body_size: body_size !== null && "a connection has no body",
    server_name: server_name !== null && url.startsWith("tcp:") && "a connection without TLS has no server name",
  };
  return Object.entries(refusals).flatMap(([member, message]) =>
    message === false ? [] : [{ path: [member], message }],
  );
}

export interface EntityName {
  readonly id: string;
  readonly name: string | null;
}

/** One path of a route: each path is a candidate of its own. A route for connections has no paths. */
export interface RouteCandidate {
  readonly route: EntityName;
  /** As configured; null: the route has no paths. */
  readonly path: string | null;
  /** `lost`: the candidate matches, but an earlier candidate in the list is chosen. */
  readonly result: "chosen" | "lost" | "no match";
  /** The first attribute that does not match; null if the candidate matches. */
  readonly attribute: string | null;
  readonly reason: string;
}

export type PluginResult =
  | "ran"
  | "answered"
  | "failed"
  | "applies"
  | "unknown"
  | "not reached"
  | "overridden"
  | "other protocol"
  | "disabled";

export interface ExplainedPlugin extends EntityName {
  /** The name of this instance: `NAMESPACE/NAME` of its custom resource, its `instance_name`, or its id. */
  readonly label: string;
  /** The entities that the plugin is attached to; empty: the plugin applies to all requests. */
  readonly scope: Readonly<Record<string, EntityName>>;
  /**
   * `ran`, `answered`, `failed` (with an error): in the phase `access`. `applies`: the plugin has no such phase.
   * `unknown`: the result depends on another server, which is not asked. `not reached`: an earlier plugin answered or
   * has an unknown result, or the consumer becomes known too late. For a connection, the phase is `connection`, and
   * `answered` means that the plugin closes it. `overridden`: a plugin of the same name with a more specific scope
   * applies. `other protocol`: the plugin does not apply to the protocol of the request or connection. `disabled`: its
   * `enabled` is false.
   */
  readonly result: PluginResult;
  readonly reason: string | null;
  /** Whether the plugin may find the consumer of a request. */
  readonly identifies: boolean;
}

/** A counter as it is now. Explaining a request does not count it. */
export interface ExplainedCounter {
  readonly plugin: string;
  readonly period: string;
  readonly limit: number;
  readonly count: number;
  /**
   * A clause about the requests that share the counter, such as `counted by client address 10.0.0.7`. Null: the plugin
   * does not count by a property of requests.
   */
  readonly counted_by: string | null;
  /** Whether each node has its own counter, so that the count of another node may differ. */
  readonly per_node: boolean;
}

export interface ExplainedTarget {
  readonly address: string;
  /** Null: all targets have the same weight. */
  readonly weight: number | null;
  /** Null: no health check is configured, so failing targets also get requests. */
  readonly healthy: boolean | null;
  /** Why the gateway refuses to connect to the address, as far as this is known without DNS; null: no known reason. */
  readonly refusal: string | null;
}

/** The certificate that a client gets in its TLS handshake. */
export interface ExplainedHandshake {
  /** Null: the client sends none. */
  readonly server_name: string | null;
  /**
   * The SNI that selects the certificate, such as `*.example`, or the listener of a Gateway that the server name
   * selects; null: none matches, so the handshake fails.
   */
  readonly sni: string | null;
  readonly certificate: ({ readonly id: string } & CertificateDetails) | null;
}

/** A connection that is not HTTP, as the node sees it. */
export interface ExplainedConnection {
  /** `tls`: TLS ends at the gateway, or no route matches. */
  readonly protocol: "tcp" | "tls" | "tls_passthrough";
  readonly client_address: string;
  /** Null: it was not described. */
  readonly client_port: number | null;
  /** The address and port of the node; null: those of a Gateway's listener. */
  readonly destination_address: string | null;
  readonly port: number;
  /** Null: there is none. */
  readonly server_name: string | null;
}

export interface Explanation {
  /** Null: a request is described, or the listener of the connection is unknown. */
  readonly connection: ExplainedConnection | null;
  /** Null: there is no TLS, or it does not end at the gateway. */
  readonly handshake: ExplainedHandshake | null;
  /** Sentences about parts that are probably unintended, such as a disabled plugin that would protect the route. */
  readonly warnings: readonly string[];
  readonly request: {
    readonly method: string;
    readonly scheme: string;
    readonly host: string;
    readonly path: string;
    readonly client_address: string;
    /** The settings by which the node determines the client's address. */
    readonly trusted_ips: readonly string[];
    readonly real_ip_header: string;
  } | null;
  /** The listener of a Gateway that serves the request; null: one of the node's own listeners, or none. */
  readonly listener: string | null;
  readonly route: EntityName | null;
  readonly service: EntityName | null;
  readonly consumer: EntityName | null;
  /** The candidates that match, in order of precedence, and then those that came closest to a match. */
  readonly candidates: readonly RouteCandidate[];
  /** The number of candidates that are not listed. */
  readonly other_candidates: number;
  /** The plugins that apply, in order of priority, and then those that do not apply. */
  readonly plugins: readonly ExplainedPlugin[];
  readonly counters: readonly ExplainedCounter[];
  /**
   * The request as it would be sent, or the connection that would be opened; null: the gateway answers itself or closes
   * the connection, or the result is unknown.
   */
  readonly upstream: {
    /** Null: it is a connection. */
    readonly method: string | null;
    /** Scheme, host of the service, and path; for a connection `tcp://` or `tls://`, host and port. */
    readonly url: string;
    /** How the path became that of `url`, such as `/v2 removed (strip_path of route a)`. */
    readonly path_changes: readonly string[];
    /** Values that come from Secrets or plugins are hidden. */
    readonly headers: readonly (readonly [name: string, value: string])[];
    readonly algorithm: string;
    readonly targets: readonly ExplainedTarget[];
    /** The target that the request would go to; null: it depends on other requests or on chance. */
    readonly target: string | null;
  } | null;
  /** Why the gateway closes the connection; null: it does not, or a request is described. */
  readonly closed: {
    /** The status of a response with the same cause. */
    readonly status: number;
    readonly reason: string;
  } | null;
  /** The gateway's own response; null: the upstream answers, a connection is described, or the result is unknown. */
  readonly response: {
    readonly status: number;
    readonly headers: readonly (readonly [name: string, value: string])[];
    readonly body: string;
  } | null;
  /** Lines that the gateway would log, which contain more detail than a response. */
  readonly log: readonly string[];
  /** Why the explanation ends before the result; null: it is complete. */
  readonly unknown: string | null;
}

/** A node that was asked for the explanation. */
export interface ExplainingNode {
  readonly node: string;
  /** The revision that the node serves; null: it is unknown, or the store has no revisions. */
  readonly revision: number | null;
  /** Why the node has not explained the request; null: it has. */
  readonly unanswered: string | null;
  /** How its explanation differs from the one that is returned; empty if they agree, or if it has not answered. */
  readonly differences: readonly ExplanationDifference[];
}

export interface ExplanationDifference {
  /** What differs, such as `route` or `answer`. */
  readonly about: string;
  /** On this node, and on the node whose explanation is returned; null: none. */
  readonly here: string | null;
  readonly explained: string | null;
}

/** The response to `POST /explain`: the explanation that most nodes give, and the nodes of its fleet. */
export interface FleetExplanation extends Explanation {
  /** One of the nodes that give this explanation. */
  readonly node: string;
  readonly nodes: readonly ExplainingNode[];
}
