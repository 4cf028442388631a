/** The response with the written entity. */
import type { Entity } from "@sluice/model";
import { etagHeader } from "../../http/preconditions.ts";
import type { AdminResponse, EntityRequest } from "../../requests.ts";
import type { EntityOperations } from "./entity-operations.ts";

export async function presentWritten(
  operations: EntityOperations,
  { store }: EntityRequest,
  { entity, status }: { readonly entity: Entity; readonly status: number },
): Promise<AdminResponse> {
  const body = await operations.present(entity, store);
  return { status, headers: etagHeader(operations.tag(entity, body)), body };
}
