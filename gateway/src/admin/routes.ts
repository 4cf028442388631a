/** All URLs that the admin listener serves, except /metrics. */
import { batchRoutes } from "./batch/index.ts";
import { configRoutes } from "./config/routes.ts";
import { consoleRoutes } from "./console/routes.ts";
import type { AdminContext } from "./context.ts";
import { pluginEndpointRoutes } from "./entities/plugin-endpoints.ts";
import { type AdminRoute, entityRoutes } from "./entities/routes.ts";
import { tagRoutes } from "./entities/tags.ts";
import { healthRoutes } from "./entities/target-health.ts";
import { informationRoutes } from "./information/routes.ts";
import { unsupportedRoutes } from "./information/unsupported-endpoints.ts";
import { revisionRoutes } from "./revisions/routes.ts";

export function adminRoutes(context: AdminContext): readonly AdminRoute[] {
  const supported = [
    ...entityRoutes(context),
    ...tagRoutes(context.store),
    ...healthRoutes(context),
    ...pluginEndpointRoutes(context),
    ...batchRoutes(context),
    ...revisionRoutes(context),
    ...informationRoutes(context),
    ...configRoutes(context),
  ];
  const body = endpointsBody(["/endpoints", "/metrics", ...supported.map(({ url }) => url)]);
  const endpoints: AdminRoute = { url: "/endpoints", handlers: { GET: async () => ({ status: 200, body }) } };
  return [...supported, ...unsupportedRoutes, endpoints, ...consoleRoutes(context)];
}

/**
 * The body of Kong's GET /endpoints, which lists the given URLs. URLs that end in a wildcard are left out.
 *
 * @param urls As served: `/services/:entity`.
 */
const endpointsBody = (urls: readonly string[]): object => ({
  data: [...new Set(urls.filter((url) => !url.endsWith("*")).map(shown))].sort(bySegments),
});

/** `/services/{services}/routes/{routes}`: the parameters `:entity` and `:child` are named after their lists. */
function shown(url: string): string {
  const segments = url.split("/");
  return segments
    .map((segment, index) => (/^:(entity|child)$/.test(segment) ? `{${segments[index - 1]}}` : braced(segment)))
    .join("/");
}

const braced = (segment: string): string => segment.replace(/^:(.+)$/, "{$1}");

/** Sorts the children of a URL right after the URL. */
function bySegments(one: string, other: string): number {
  const [a, b] = [one.replaceAll("/", "\0"), other.replaceAll("/", "\0")];
  return a < b ? -1 : 1;
}
