/** What the writes of the store share. */
import { Conflict, type Kind, Rejected, type Resource, type ResourceClient } from "@sluice/crds";
import type { Written } from "@sluice/model";
import { Unavailable, type WriteFault } from "../store.ts";
import type { View } from "./view.ts";

export interface WriteContext {
  readonly client: ResourceClient;
  readonly homeNamespace: string;
  /** spec.class of what is made; undefined for the default class. */
  readonly class: string | undefined;
  /** The entities before the write. */
  readonly view: View;
}

/** The value with what must be waited for, or why nothing was written. */
export type Attempt<Value> =
  | { readonly value: Value; readonly awaits: readonly Written[]; readonly fault?: undefined }
  | { readonly fault: WriteFault; readonly value?: undefined; readonly awaits?: undefined };

/** A fault of the entity as a whole, in the words of whoever refuses it. */
export const refused = (message: string): WriteFault => ({
  kind: "invalid",
  violations: [{ path: ["@entity"], message }],
});

/** What the client throws as a fault; `exists` is what it means that there is such a resource already. */
export function faultOf(error: unknown, { kind, name }: { kind: Kind; name: string }, exists: WriteFault): WriteFault {
  if (error instanceof Rejected) return refused(error.message);
  if (!(error instanceof Conflict)) return unreachable(error);
  switch (error.reason) {
    case "exists":
      return exists;
    case "owned":
      return { kind: "owned", what: `${kind} ${name}`, owners: error.owners };
    case "changed":
      return { kind: "changed", message: `the ${kind} ${name} was changed in the meantime: try again` };
  }
}

export function unreachable(cause: unknown): never {
  throw new Unavailable("the resources cannot be read or written: the log of the admin listener says why", { cause });
}

export const refOf = (kind: Kind, { metadata: { namespace, name } }: Pick<Resource, "metadata">) => ({
  kind,
  namespace,
  name,
});
