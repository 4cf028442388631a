/** A request as the plugin has read it. */
import type { DefinedOperation } from "../documents.ts";
import { UNKNOWN_OPERATION } from "../operation-labels.ts";
import type { ResultObject } from "../purge/result-objects.ts";
import type { Refusal } from "../refusals.ts";

/** An operation under the name by which it is counted. */
export interface NamedOperation {
  readonly type: DefinedOperation["type"] | "unknown";
  /** In parentheses if the client has sent no name. */
  readonly name: string;
  /** SHA-256 of the document in hex digits; null: the document was not read. */
  readonly sha256: string | null;
  /** The cost with the request's variables, at least 1. */
  readonly cost: number;
  /** What the operation purges, or the types in its result (see `OperationPurges`), separated by commas. */
  readonly purgeNames: string;
  /** As in `OperationPurges`. */
  readonly objects: ResultObject | null;
}

export interface ReadGraphqlRequest {
  readonly operations: readonly NamedOperation[];
  /** The first reason to refuse the request; null: it is forwarded. */
  readonly refusal: Refusal | null;
  /** Set if a document is not trusted, and such documents are only logged. */
  readonly isUntrusted?: boolean;
  /** The body to send: it has the trusted document that the client's body only names. Absent: the client's. */
  readonly body?: Buffer;
  /** The query of the URL to send, for the same reason. Absent: the client's. */
  readonly query?: string;
}

/** The operation of a request that cannot be read. */
export const unknownOperation: NamedOperation = {
  type: "unknown",
  name: UNKNOWN_OPERATION,
  sha256: null,
  cost: 1,
  purgeNames: "",
  objects: null,
};
