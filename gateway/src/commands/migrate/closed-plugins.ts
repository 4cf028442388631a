/** Plugins of a servable part whose requests are answered 503. */
import { type Entity, pluginNamed, type ServablePart, servedProtocols, streamProtocols } from "@sluice/model";
import { type EntityLists, entitiesOf } from "../../stores/read-all.ts";

/** The reason for which requests in the scope of a plugin are answered 503, by the plugin's id. */
export const unavailableIn = ({
  document: { plugins = [] },
}: Pick<ServablePart, "document">): ReadonlyMap<string, string> =>
  new Map(
    plugins.flatMap((plugin) => {
      const { id, _sluice } = Object(plugin);
      return typeof _sluice?.unavailable === "string" ? [[id, _sluice.unavailable] as const] : [];
    }),
  );

/**
 * The entities for custom resources, which have no mark for a plugin whose scope must answer 503. Such a plugin gets an
 * unknown name instead, unless its name is unknown anyway: requests in its scope are then answered 503, and the webhook
 * accepts the resource.
 */
export function withUnknownNames(part: Pick<ServablePart, "document">): EntityLists {
  const lists = entitiesOf(part.document);
  const closed = unavailableIn(part);
  const plugins = lists.plugins?.map((plugin) => {
    if (!closed.has(plugin.id) || !pluginNamed(plugin.name)) return plugin;
    // All protocols: another plugin of this scope may get the same name, and may have had other protocols.
    const isAttached = plugin.route || plugin.service;
    // An attached plugin with an unknown name closes connections too, whatever its protocols are.
    const protocols = isAttached ? servedProtocols : [...servedProtocols, ...streamProtocols];
    return { ...plugin, name: `unavailable-${plugin.name}`, config: {}, protocols: [...protocols] };
  });
  return { ...lists, ...(plugins && { plugins }) } satisfies Readonly<Record<string, readonly Entity[]>>;
}
