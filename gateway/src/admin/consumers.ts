/** Consumers are also found by their id in another system: `?custom_id=` (kong-contract 1.2). */
import { badRequest } from "./errors.ts";
import type { Operations } from "./operations/index.ts";
import { presentAll } from "./operations/read.ts";
import { textFault } from "./text.ts";

export const consumers = (derived: Operations): Partial<Operations> => ({
  async list(call) {
    const value = call.query.get("custom_id");
    if (value === null) return derived.list(call);
    if (value === "" || textFault(value) !== undefined) throw badRequest("custom_id must be an unempty string");
    const found = await call.store.find("consumers", { member: "custom_id", value });
    const data = await presentAll(derived, found ? [found] : [], call.store);
    return { status: 200, body: { data, next: null } };
  },
});
