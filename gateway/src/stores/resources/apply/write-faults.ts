/** Translates errors of the resource client to write faults. */
import { ApiServerError, Conflict, type Kind, ResourceRejected, UnknownKind } from "@sluice/crds";
import { StoreUnavailable, type WriteFault } from "../../store.ts";
import { systemReason } from "../../system-error.ts";

/** A fault of the entity as a whole, with the message of the component that rejects it. */
export const refusedFault = (message: string): WriteFault => ({
  kind: "invalid",
  violations: [{ path: ["@entity"], message }],
});

export const changedFault = (kind: Kind, name: string): WriteFault => ({
  kind: "changed",
  message: `the ${kind} ${name} was changed in the meantime`,
});

/**
 * Translates an error of the client; `exists` is the fault for a resource that exists already.
 *
 * @throws StoreUnavailable for an error that is no rejection of this write.
 */
export function toWriteFault(
  error: unknown,
  { kind, name }: { kind: Kind; name: string },
  exists: WriteFault,
): WriteFault {
  if (error instanceof ResourceRejected) return refusedFault(error.message);
  if (!(error instanceof Conflict)) return throwUnavailable(error);
  switch (error.reason) {
    case "exists":
      return exists;
    case "owned":
      return { kind: "owned", what: `${kind} ${name}`, owners: error.owners };
    case "changed":
      return changedFault(kind, name);
  }
}

/** Maximum characters of a message: a proxy in front of the API server may respond with a whole page. */
const LONGEST = 300;

export function throwUnavailable(cause: unknown): never {
  const reason = reasonOf(cause) ?? "the log of the admin listener has the reason";
  throw new StoreUnavailable(`the resources cannot be read or written: ${reason.slice(0, LONGEST)}`, { cause });
}

/** The message of the system or the API server, which contains no credentials; undefined for errors not to be shown. */
function reasonOf(cause: unknown): string | undefined {
  if (cause instanceof UnknownKind) return cause.message;
  if (!(cause instanceof ApiServerError)) return systemReason(cause);
  const { code, message } = cause;
  if (code === 401) return `the API server does not accept the credentials of the admin listener (${message})`;
  return `the API server answered ${code} (${message})`;
}
