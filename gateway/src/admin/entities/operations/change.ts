/** PATCH: members that the body leaves out stay as they are, null resets a member. */
import { mergeEntity, references } from "@sluice/model";
import { etagOf } from "../../../stores/etag.ts";
import { notFound } from "../../http/errors.ts";
import { requirePreconditions } from "../../http/preconditions.ts";
import type { EntityRequest, PreparedWrite } from "../../requests.ts";
import { resolveReferences } from "../resolve-references.ts";
import { resolveUrl } from "../resolve-url.ts";
import { checkedEntity, updatedAtNow } from "./check.ts";
import type { EntityOperations } from "./entity-operations.ts";
import { memberOf, tagOf } from "./upsert.ts";
import { presentWritten } from "./written.ts";

export async function changeEntity(operations: EntityOperations, call: EntityRequest): Promise<PreparedWrite> {
  const { collection } = call.endpoint;
  const place = await resolveUrl(call);
  const before = place.entity;
  if (!before || place.hasOtherParent) throw notFound();
  await requirePreconditions(call.preconditions, () => tagOf(operations, call, before));
  const plugin = collection === "plugins" && "name" in before ? (before.name ?? undefined) : undefined;
  const raw = operations.prepare(call.body(plugin === undefined ? {} : { plugin }), { before, isPartial: true });
  const named = await resolveReferences(raw, references[collection], call.store);
  const merged = { ...mergeEntity(collection, before, named), id: before.id, ...updatedAtNow(collection) };
  const entity = checkedEntity(call, merged);
  return {
    writes: [{ op: "replace", collection, entity, etag: etagOf(before) }],
    respond: ([effect]) => presentWritten(operations, call, { entity: effect?.after ?? entity, status: 200 }),
    attempt: { verb: "update", collection, by: memberOf(place.by) },
    isRetryable: async ({ kind }) => kind === "changed",
  };
}
