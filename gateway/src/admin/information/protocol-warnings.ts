/**
 * Plugins whose protocols match none of their route or, without a route, of their service's routes. In a cluster, the
 * condition ResolvedRefs of the Plugin reports them.
 */
import { type Plugin, protocolMismatch, type Route } from "@sluice/model";
import { readCollection } from "../../stores/read-all.ts";
import type { Store } from "../../stores/store.ts";
import type { ServedWarning } from "./certificate-warnings.ts";

export async function protocolWarnings(store: Pick<Store, "list">): Promise<readonly ServedWarning[]> {
  const plugins = (await readCollection(store, "plugins")).filter(
    ({ enabled, route, service }) => enabled && (route ?? service) !== null,
  );
  if (plugins.length === 0) return [];
  const routes = await readCollection(store, "routes");
  const byId = new Map(routes.map((route) => [route.id, route]));
  const byService = Map.groupBy(routes, ({ service }) => service?.id ?? null);
  return plugins.flatMap((plugin): readonly ServedWarning[] => {
    const { id, instance_name, name, route, service } = plugin;
    const own = route === null ? (byService.get(service?.id ?? null) ?? []) : [byId.get(route.id)].filter(isRoute);
    const message = mismatchOf(plugin, own);
    if (message === null) return [];
    return [
      {
        subject: `plugin ${instance_name ?? `${name} ${id}`}`,
        message,
        remedy: `Add a protocol of the ${route === null ? "service's routes" : "route"} to protocols of the plugin, or delete the plugin.`,
        entity: { collection: "plugins", id },
      },
    ];
  });
}

const isRoute = (route: Route | undefined): route is Route => route !== undefined;

/** Null: the protocols match those of a route, or there is no route yet. */
function mismatchOf(plugin: Plugin, routes: readonly Route[]): string | null {
  const mismatches = routes.map(({ protocols }) => protocolMismatch(plugin, protocols));
  return mismatches.includes(null) ? null : (mismatches[0] ?? null);
}
