/** Finds sample requests that another route would answer, by matching them with the router before and after. */
import type { Route, Service } from "@sluice/model";
import { Router } from "../../compile/router/router.ts";
import type { EntityPair } from "./entity-pairs.ts";
import { type SampleRequest, sampleRequestsFor } from "./sample-requests.ts";

export interface ReroutedRequests {
  /** Number of requests tried. */
  readonly sampled: number;
  /** At most a hundred. */
  readonly changed: readonly {
    readonly request: SampleRequest;
    readonly before: MatchedRoute;
    readonly after: MatchedRoute;
  }[];
  /** There are more routes or changes than were examined. */
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

export function reroutedRequests(before: Routing, after: Routing, pairs: readonly EntityPair[]): ReroutedRequests {
  const touched = pairs.flatMap(({ collection, before: old, after: fresh }) =>
    collection === "routes" ? [old, fresh].filter((route) => route !== null) : [],
  ) as readonly Route[];
  // Changed routes come first: they matter most if there is no room for all.
  const samples = new Map<string, SampleRequest>();
  const routes = [...touched, ...after.routes];
  for (const route of routes) {
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
      headerValues: (name) => (Object.hasOwn(headers, name) ? [headers[name] ?? ""] : []),
    });
    if (!winner) return null;
    const { id, name, service } = winner.route;
    const to = service && byId.get(service.id);
    return { id, name, service: to ? (to.name ?? to.id) : null };
  };
}
