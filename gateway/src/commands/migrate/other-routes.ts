/** Finds the served routes that get the requests of a route that is left out of the document. */

import {
  checkDocument,
  type Document,
  literalPrefix,
  normalizePath,
  type SnapshotRoute,
  streamProtocols,
} from "@sluice/model";
import { isRecord } from "@sluice/plugin-sdk";
import { isStreamRoute } from "../../compile/listeners/stream-routes.ts";
import { Router } from "../../compile/router/router.ts";
import type { RoutableRequest } from "../../compile/runtime.ts";

type Members = Readonly<Record<string, unknown>>;

/** Maximum number of sentences that a report has for one route that is left out. */
const MOST_EXAMPLES = 3;

/** Returns a function that states, for a route that is left out, what happens to its requests. */
export function otherRoutes(document: Document): (leftOut: Members) => readonly string[] {
  const snapshot = checkDocument(document).value?.snapshot;
  const isServed = ({ service }: SnapshotRoute) => service === null || snapshot?.services.get(service.id)?.enabled;
  const routes = [...(snapshot?.routes.values() ?? [])].filter(isServed);
  const closed = new Set(
    [...(snapshot?.plugins.values() ?? [])].flatMap(({ route, consumer, consumer_group, _sluice }) =>
      _sluice?.unavailable !== undefined && consumer === null && consumer_group === null ? (route?.id ?? []) : [],
    ),
  );
  const router = Router.empty.with({ removed: [], added: routes.filter((route) => !isStreamRoute(route)) });
  return (leftOut) => {
    const sentences = examplesOf(leftOut).map((request) => {
      const route = router.match(request).winner?.route;
      const example = `${request.method} ${request.host === "" ? "" : `${request.scheme}://${request.host}`}${request.path}`;
      if (route === undefined) return `requests such as ${example} match no route and are answered 404`;
      const answer = closed.has(route.id) ? ", which answers 503" : "";
      return `requests such as ${example} go to the route ${nameOf(route)}${answer}`;
    });
    return [...new Set(sentences)].slice(0, MOST_EXAMPLES);
  };
}

const nameOf = ({ name, id }: SnapshotRoute): string => name ?? id;

/** Example requests for a route: one for each of its paths, or for `/`, with the route's first host, method and SNI. */
function examplesOf({ paths, hosts, methods, headers, snis, protocols }: Members): readonly RoutableRequest[] {
  // A route of connections: no request matches it.
  if (textsIn(protocols).some((protocol) => streamProtocols.some((one) => one === protocol))) return [];
  const host = (textsIn(hosts)[0] ?? "").toLowerCase().replace("*", "any");
  const [method = "GET"] = textsIn(methods);
  const [serverName = null] = textsIn(snis);
  const scheme = Array.isArray(protocols) && protocols.length > 0 && !protocols.includes("http") ? "https" : "http";
  const values = new Map(
    Object.entries(isRecord(headers) ? headers : {}).map(([name, list]) => [name.toLowerCase(), textsIn(list)]),
  );
  const headerValues = (name: string) => values.get(name) ?? [];
  const examples = textsIn(paths).map((path) => (path.startsWith("~") ? literalPrefix(path.slice(1)) : path));
  return (examples.length > 0 ? examples : ["/"]).map((path) => {
    const normal = normalizePath(path) ?? path;
    const elsewhere = { query: "", documentPort: null };
    return {
      method,
      path: normal.startsWith("/") ? normal : "/",
      scheme,
      host,
      serverName,
      ...elsewhere,
      headerValues,
    };
  });
}

const textsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
