/** Sample requests of a plan: requests that a route should match, made from its hosts, paths, methods and headers. */
import { compileRegex, type ExplainRequest, normalizePath, type Route } from "@sluice/model";
import { isStreamRoute } from "../../compile/listeners/stream-routes.ts";
import type { RoutableRequest } from "../../compile/runtime.ts";
import { regexSample } from "./regex-sample.ts";

export interface SampleRequest {
  readonly method: string;
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly sni: string | null;
}

/** The address of the client (RFC 5737): it is not in lists of addresses, except those of whole ranges. */
const CLIENT = "192.0.2.1";

/** Maximum number of values that are taken from each attribute's list. */
const MAX_EACH = 4;

/**
 * Requests that a route should match. There are none for a regular expression without a sample (`regexSample`), and for
 * a route of connections.
 */
export function sampleRequestsFor(route: Route): readonly SampleRequest[] {
  if (isStreamRoute(route)) return [];
  const isGrpc = route.protocols.some((protocol) => protocol === "grpc" || protocol === "grpcs");
  const hosts = valuesOrNull(route.hosts).map((host) => host?.replace("*", "sample") ?? "sample.invalid");
  const paths = valuesOrNull(route.paths).flatMap((path) =>
    path === null ? ["/"] : path.startsWith("~") ? pathsMatching(path.slice(1)) : pathsBelow(path),
  );
  const methods = valuesOrNull(route.methods).map((method) => method ?? (isGrpc ? "POST" : "GET"));
  const snis = valuesOrNull(route.snis);
  const matched = headersOf(route);
  if (matched === undefined) return [];
  const headers = { ...matched, ...(isGrpc && { "content-type": "application/grpc" }) };
  const scheme = route.protocols.some((protocol) => protocol === "https" || protocol === "grpcs") ? "https" : "http";
  const [method = "GET"] = methods;
  const [sni = null] = snis;
  const one = { method, scheme, headers, sni } as const;
  const [host = "sample.invalid"] = hosts;
  const [path] = paths;
  if (path === undefined) return [];
  return [
    ...paths.map((each) => ({ ...one, host, path: each })),
    ...hosts.slice(1).map((each) => ({ ...one, host: each, path })),
    ...methods.slice(1).map((each) => ({ ...one, method: each, host, path })),
    ...snis.slice(1).map((each) => ({ ...one, sni: each, host, path })),
  ];
}

/** A request whose TLS handshake asks for the certificate of a server name. */
export const sampleHandshake = (serverName: string): SampleRequest => ({
  method: "GET",
  scheme: "https",
  host: serverName,
  path: "/",
  headers: {},
  sni: serverName,
});

/** The first values of an attribute of the route; a single null if the route does not restrict the attribute. */
const valuesOrNull = (values: readonly string[] | null): readonly (string | null)[] =>
  values === null || values.length === 0 ? [null] : values.slice(0, MAX_EACH);

/** The prefix itself, and a path below it. */
const pathsBelow = (prefix: string): readonly string[] => [prefix, `${prefix.replace(/\/$/, "")}/sample`];

/** A path that the regular expression of a route matches, and a path below it, unless the expression excludes it. */
function pathsMatching(source: string): readonly string[] {
  const sample = regexSample(source);
  const regex = compileRegex(source).value;
  return (sample === null ? [] : pathsBelow(sample)).filter(
    (path) => normalizePath(encodePath(path)) === path && regex?.matchPrefix(path) !== undefined,
  );
}

/** Undefined: the route requires a header that matches a regular expression, and no sample was found. */
function headersOf(route: Route): Readonly<Record<string, string>> | undefined {
  const headers: Record<string, string> = {};
  for (const [name, values] of Object.entries(route.headers ?? {})) {
    const [first = ""] = values;
    const value = values.length === 1 && first.startsWith("~*") ? valueMatching(first.slice(2)) : first;
    if (value === null) return undefined;
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

/** The router compares values in lower case. */
function valueMatching(source: string): string | null {
  const sample = regexSample(source)?.toLowerCase() ?? null;
  return sample !== null && compileRegex(source).value?.test(sample) ? sample : null;
}

/** The request as the router reads it. */
export const routableSample = ({ method, scheme, host, path, headers, sni }: SampleRequest): RoutableRequest => ({
  method,
  path,
  scheme,
  host,
  serverName: sni,
  query: "",
  documentPort: null,
  headerValues: (name) => (Object.hasOwn(headers, name) ? [headers[name] ?? ""] : []),
});

/** The request as `explain` reads it. */
export const describedSample = ({ method, scheme, host, path, headers, sni }: SampleRequest): ExplainRequest => ({
  url: `${scheme}://${host}${encodePath(path)}`,
  method,
  headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
  client_address: CLIENT,
  client_port: null,
  http_version: headers["content-type"] === "application/grpc" ? "2" : "1.1",
  server_name: sni,
  port: null,
  body: null,
  body_size: null,
  size: 1,
});

/** A normalised path keeps the escapes of reserved characters and of `%`. */
const encodePath = (path: string): string =>
  encodeURI(path).replaceAll("%25", "%").replaceAll("#", "%23").replaceAll("?", "%3F");
