/** The answer that shows what was written. */
import type { Entity } from "@sluice/model";
import type { Answer, Call } from "../call.ts";
import { tagHeader } from "../conditions.ts";
import type { Operations } from "./index.ts";

export async function written(
  operations: Operations,
  { store }: Call,
  { entity, status }: { readonly entity: Entity; readonly status: number },
): Promise<Answer> {
  const body = await operations.present(entity, store);
  return { status, headers: tagHeader(operations.tag(entity, body)), body };
}
