/** Targets: PUT changes one that there is, as in Kong; where there is none it makes one. */
import type { Operations } from "./operations/index.ts";
import { placeOf } from "./place.ts";

export const targets = (derived: Operations): Partial<Operations> => ({
  async upsert(call) {
    const { entity, foreign } = await placeOf(call);
    return entity && !foreign && call.conditions.noneMatch === undefined ? derived.change(call) : derived.upsert(call);
  },
});
