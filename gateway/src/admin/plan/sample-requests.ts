/**
 * Finds the sample requests whose route or service changes with planned writes. Each sample is matched with two
 * routers: over the routes before the writes, and over the routes after the writes.
 */
import type { Route, Service } from "@sluice/model";
import { Router } from "../../compile/router/router.ts";

interface SampleRequest {
  readonly method: string;
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly sni: string | null;
}

export interface ReroutedRequests {
  readonly sampled: number;
  /** Sample requests whose route or service changes; at most a hundred. */
  readonly changed: readonly {
    readonly request: SampleRequest;
    readonly before: MatchedRoute;
    readonly after: MatchedRoute;
  }[];
  /** Whether there may be more changes: more routes than were sampled, or more changes than are listed. */
  readonly incomplete: boolean;
}

/** Null: no route matches. */
type MatchedRoute = { readonly id: string; readonly name: string | null; readonly service: string | null } | null;

interface Routing {
  readonly routes: readonly Route[];
  readonly services: readonly Service[];
}

const MAX_SAMPLES = 5_000;
const MAX_TOLD = 100;

export function reroutedRequests(before: Routing, after: Routing, touched: readonly Route[]): ReroutedRequests {
  // Changed routes are sampled first, because the number of samples is limited.
  const samples = new Map<string, SampleRequest>();
  for (const route of [...touched, ...after.routes]) {
    for (const sample of sampleRequestsFor(route))
      if (samples.size < MAX_SAMPLES) samples.set(JSON.stringify(sample), sample);
    if (samples.size >= MAX_SAMPLES) break;
  }
  const [old, fresh] = [matchWith(before), matchWith(after)];
  const changed = [...samples.values()].flatMap((request) => {
    const [was, will] = [old(request), fresh(request)];
    return was?.id === will?.id && was?.service === will?.service ? [] : [{ request, before: was, after: will }];
  });
  return {
    sampled: samples.size,
    changed: changed.slice(0, MAX_TOLD),
    incomplete: samples.size >= MAX_SAMPLES || changed.length > MAX_TOLD,
  };
}

/** As in the node: routes of a disabled service do not exist. */
function matchWith({ routes, services }: Routing): (request: SampleRequest) => MatchedRoute {
  const byId = new Map(services.map((service) => [service.id, service]));
  const served = routes.filter(({ service }) => service === null || byId.get(service.id)?.enabled === true);
  const router = Router.empty.with({ removed: [], added: served });
  return ({ method, scheme, host, path, headers, sni }) => {
    const { winner } = router.match({
      method,
      path,
      scheme,
      host,
      serverName: sni,
      query: "",
      documentPort: null,
      headerValues: (name) => (Object.hasOwn(headers, name) ? [headers[name] ?? ""] : []),
    });
    if (!winner) return null;
    const { id, name, service } = winner.route;
    const to = service && byId.get(service.id);
    return { id, name, service: to ? (to.name ?? to.id) : null };
  };
}

/** Maximum number of values that are taken from each attribute's list. */
const MAX_EACH = 4;

/**
 * Requests that a route should match. There are none for a path that is a regular expression, or for a route that
 * matches a header by a regular expression: strings that match an expression are not generated.
 */
function sampleRequestsFor(route: Route): readonly SampleRequest[] {
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

/** The first values of an attribute of the route; a single null if the route does not restrict the attribute. */
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
