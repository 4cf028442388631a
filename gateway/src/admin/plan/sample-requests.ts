/** Sample requests that a route should match. */
import type { Route } from "@sluice/model";

export interface SampleRequest {
  readonly method: string;
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The TLS server name; null: none. */
  readonly sni: string | null;
}

/** Maximum values of each attribute's list. */
const MAX_EACH = 4;

/** Routes with regular expressions get no samples for these: matching text is not generated. */
export function sampleRequestsFor(route: Route): readonly SampleRequest[] {
  const hosts = valuesOrNull(route.hosts).map((host) => host?.replace("*", "sample") ?? "sample.invalid");
  const paths = valuesOrNull(route.paths).flatMap((path) =>
    path === null ? ["/"] : path.startsWith("~") ? [] : pathsBelow(path),
  );
  const methods = valuesOrNull(route.methods).map((method) => method ?? "GET");
  const snis = valuesOrNull(route.snis);
  const headers = headersOf(route);
  if (headers === undefined) return [];
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

/** At least one: null if the route does not restrict the attribute. */
const valuesOrNull = (values: readonly string[] | null): readonly (string | null)[] =>
  values === null || values.length === 0 ? [null] : values.slice(0, MAX_EACH);

/** The prefix itself, and a path below it. */
const pathsBelow = (prefix: string): readonly string[] => [prefix, `${prefix.replace(/\/$/, "")}/sample`];

function headersOf(route: Route): Readonly<Record<string, string>> | undefined {
  const headers = Object.entries(route.headers ?? {}).map(
    ([name, [value = ""]]) => [name.toLowerCase(), value] as const,
  );
  return headers.some(([, value]) => value.startsWith("~*")) ? undefined : Object.fromEntries(headers);
}
