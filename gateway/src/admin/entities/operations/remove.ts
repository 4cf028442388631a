/** DELETE of an entity that does not exist: 204 at the top level, 404 below a parent, as in Kong. */
import { etagOf } from "../../../stores/etag.ts";
import { methodNotAllowed, notFound } from "../../http/errors.ts";
import { requirePreconditions } from "../../http/preconditions.ts";
import type { EntityRequest, PreparedWrite } from "../../requests.ts";
import { lookupForSegment, resolveUrl } from "../resolve-url.ts";
import type { EntityOperations } from "./entity-operations.ts";
import { memberOf, tagOf } from "./upsert.ts";

export async function removeEntity(operations: EntityOperations, call: EntityRequest): Promise<PreparedWrite> {
  const { endpoint, preconditions: conditions, store, params } = call;
  const { collection } = endpoint;
  const isConditional = conditions.match !== undefined || conditions.noneMatch !== undefined;
  // Looked up only when necessary: an invalid entity is not found but can still be removed.
  if (endpoint.kind === "one" && !endpoint.parent && !isConditional) {
    const by = await lookupForSegment(store, collection, params.entity ?? "");
    return removal({ op: "remove", collection, by }, memberOf(by));
  }
  const { entity, hasOtherParent: foreign, by } = await resolveUrl(call);
  if (endpoint.kind === "foreign") throw entity ? methodNotAllowed() : notFound();
  if (endpoint.parent && (!entity || foreign)) throw notFound();
  await requirePreconditions(conditions, () => entity && tagOf(operations, call, entity));
  const etag = isConditional && entity ? { etag: etagOf(entity) } : {};
  return removal({ op: "remove", collection, by: entity ? { id: entity.id } : by, ...etag }, memberOf(by));
}

const removal = (
  write: Extract<PreparedWrite["writes"][number], { op: "remove" }>,
  by: string | undefined,
): PreparedWrite => ({
  writes: [write],
  respond: async () => ({ status: 204 }),
  attempt: { verb: "remove", collection: write.collection, by },
  isRetryable: async ({ kind }) => kind === "changed",
});
