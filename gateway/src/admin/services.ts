/** What services do differently. */
import type { Service } from "@sluice/model";
import type { Operations } from "./operations/index.ts";

/**
 * Kong's clients replace a whole service and know nothing of `upstream_headers`: one that does not name the member
 * leaves it as it is. Null and [] take the headers away.
 */
export const services = ({ prepare }: Operations): Partial<Operations> => ({
  prepare(raw, how) {
    const prepared = prepare(raw, how);
    const before = how.before as Service | null;
    if (how.keeps || !before || Object.hasOwn(prepared, "upstream_headers")) return prepared;
    return { ...prepared, upstream_headers: before.upstream_headers };
  },
});
