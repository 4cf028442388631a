/** Decides whether a route that serves no HTTP has plugins that should protect it. Plugins act on HTTP only. */
import { mayProtect } from "@sluice/model/serving";
import type { CompiledRoute, Runtime } from "../../compile/runtime.ts";

/**
 * Why the route has to be closed; null: it need not. A plugin counts if it may protect and is attached to the route or
 * its service, or if its `protocols` name the protocol of the route. Other plugins without a route are for HTTP only, as
 * in Kong.
 */
export function missingProtection({ route, chains }: CompiledRoute, { snapshot }: Runtime): string | null {
  const [protocol = "tls"] = route.protocols;
  const plugin = chains.candidates(null).find(({ id, name, protocols }) => {
    const entity = snapshot.plugins.get(id);
    const isAttached = entity !== undefined && (entity.route !== null || entity.service !== null);
    return (
      (isAttached || protocols.includes(protocol)) && (mayProtect(name) || entity?._sluice?.unavailable !== undefined)
    );
  });
  return plugin === undefined
    ? null
    : `the plugin ${plugin.name} protects the route, but acts on HTTP only: remove the plugin from the route or Gateway`;
}
