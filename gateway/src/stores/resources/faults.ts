/** Why something was not written, in the words of the store. */
import { Conflict, type Kind, Rejected } from "@sluice/crds";
import { Unavailable, type WriteFault } from "../store.ts";

/** A fault of the entity as a whole, in the words of whoever refuses it. */
export const refused = (message: string): WriteFault => ({
  kind: "invalid",
  violations: [{ path: ["@entity"], message }],
});

export const changedBehind = (kind: Kind, name: string): WriteFault => ({
  kind: "changed",
  message: `the ${kind} ${name} was changed in the meantime: try again`,
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
      return changedBehind(kind, name);
  }
}

export function unreachable(cause: unknown): never {
  throw new Unavailable("the resources cannot be read or written: the log of the admin listener says why", { cause });
}
