/**
 * Kong's endpoints that Sluice does not support: reads get 404, which Kong's clients treat as absent, and writes get
 * 400.
 */

import { insteadOfPlugin } from "@sluice/model";
import type { AdminRoute, MethodHandlers } from "../entities/routes.ts";
import { HttpError } from "../http/errors.ts";

const plugin = (name: string): string => `the plugin ${name}: ${insteadOfPlugin(name)}`;

/** The missing features, by the first segment of their URLs. */
const top: Readonly<Record<string, string>> = {
  oauth2: plugin("oauth2"),
  oauth2_tokens: plugin("oauth2"),
  partials: "partials",
  keys: "keys and key sets",
  "key-sets": "keys and key sets",
  "filter-chains": "WebAssembly filters",
  "cloned-plugins": "cloned plugins",
  "custom-plugins": "plugins that are uploaded",
  degraphql_routes: plugin("degraphql"),
  "graphql-rate-limiting-advanced": plugin("graphql-rate-limiting-advanced"),
};

/** Unsupported endpoints below a supported collection. */
const nested: readonly (readonly [parent: string, segment: string, what: string])[] = [
  ["consumers", "oauth2", plugin("oauth2")],
  ["services", "filter-chains", "WebAssembly filters"],
  ["routes", "filter-chains", "WebAssembly filters"],
];

/** Kong's clients accept a 404 for GET and continue without the endpoint. */
function refuse(what: string): MethodHandlers {
  const message = `Sluice does not have ${what}`;
  const read = async () => {
    throw new HttpError(404, { message: "Not found", reason: message });
  };
  const write = async () => {
    throw new HttpError(400, { message });
  };
  return { GET: read, POST: write, PUT: write, PATCH: write, DELETE: write };
}

const routesAt = (url: string, what: string): readonly AdminRoute[] =>
  [url, `${url}/*`].map((at) => ({ url: at, handlers: refuse(what) }));

export const unsupportedRoutes: readonly AdminRoute[] = [
  ...Object.entries(top).flatMap(([segment, what]) => routesAt(`/${segment}`, what)),
  ...nested.flatMap(([parent, segment, what]) => routesAt(`/${parent}/:entity/${segment}`, what)),
];
