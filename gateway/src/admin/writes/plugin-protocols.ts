/**
 * Refuses a plugin whose protocols match none of its route or, without a route, of its service's routes, as Kong's admin
 * API does. Like Kong, it checks only requests that set the protocols or the reference, so the protocols of a route can
 * be changed before those of its plugins. Files and custom resources may contain such plugins.
 */
import { coveredProtocols, type Plugin, type Route } from "@sluice/model";
import { invalidEntity } from "../http/errors.ts";
import type { EntityReader, EntityRequest, PreparedWrite } from "../requests.ts";

/** Routes in a page. */
const PAGE = 100;

/** Kong's messages. */
const NOT_OF_ROUTE = "must match the associated route's protocols";
const NOT_OF_SERVICE = "must match the protocols of at least one route pointing to this Plugin's service";

/**
 * @param isPartial Whether members that the body leaves out stay as they are
 * @throws HttpError 400
 */
export async function checkPluginProtocols(
  prepared: PreparedWrite,
  { body, store }: EntityRequest,
  isPartial: boolean,
): Promise<PreparedWrite> {
  const [write] = prepared.writes;
  if (write === undefined || write.op === "remove") return prepared;
  const plugin = write.entity as Plugin;
  const given = body({ before: plugin });
  const deciding = isPartial ? ["protocols", "route", "service"] : ["protocols"];
  if (deciding.every((member) => (given[member] ?? null) === null)) return prepared;
  const message = await faultOf(plugin, store);
  if (message !== null) throw invalidEntity([{ path: ["protocols"], message }]);
  return prepared;
}

/** Null: there is none. */
async function faultOf({ name, protocols, route, service }: Plugin, store: EntityReader): Promise<string | null> {
  const covered = coveredProtocols(name, protocols);
  const matches = (candidate: Route) => candidate.protocols.some((protocol) => covered.has(protocol));
  if (route !== null) {
    const found = await store.find("routes", { id: route.id });
    // The store reports a route that does not exist.
    return found === null || matches(found) ? null : NOT_OF_ROUTE;
  }
  if (service === null) return null;
  const where = { member: "service", id: service.id };
  let hasRoutes = false;
  let after: string | undefined;
  do {
    const { entities, more } = await store.list("routes", { size: PAGE, where, ...(after !== undefined && { after }) });
    if (entities.some(matches)) return null;
    hasRoutes ||= entities.length > 0;
    after = more ? entities.at(-1)?.id : undefined;
  } while (after !== undefined);
  return hasRoutes ? NOT_OF_SERVICE : null;
}
