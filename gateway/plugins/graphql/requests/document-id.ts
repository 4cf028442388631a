/** The id by which a request names a document instead of, or beside, sending it. */
import { malformedRequest, type Refusal } from "../refusals.ts";
import type { Parameters } from "./parameters.ts";

const SHA256 = /^[\da-f]{64}$/i;
const DOCUMENT_ID = /^[\w.:+/=-]{1,128}$/;

interface DocumentId {
  /** The id as sent in `documentId`, `id` or `doc_id`; null: none was sent. */
  readonly id: string | null;
  /** The hash in lower case, from the id or `extensions.persistedQuery`; null: the request has none. */
  readonly sha256: string | null;
  readonly refusal: Refusal | null;
}

const isSent = (value: unknown): boolean => value !== undefined && value !== null;

export function documentIdOf({ documentId, id: shortId, doc_id: relayId, extensions }: Parameters): DocumentId {
  const { persistedQuery } = Object(extensions);
  const ids = [documentId, shortId, relayId].filter(isSent);
  const sent = [...ids, Object(persistedQuery).sha256Hash].filter(isSent);
  const [first] = sent;
  if (first === undefined) return { id: null, sha256: null, refusal: null };
  const refused = (message: string) => ({ id: null, sha256: null, refusal: malformedRequest(message) });
  if (sent.length > 1) return refused("The request names a document in several ways");
  if (typeof first !== "string" || !DOCUMENT_ID.test(first))
    return refused("The id of a document must have at most 128 letters, digits or characters of . _ : + / = -");
  const digits = first.replace(/^sha256:/, "").toLowerCase();
  const sha256 = SHA256.test(digits) ? digits : null;
  const isHash = ids.length === 0;
  if (isHash && sha256 === null) return refused("extensions.persistedQuery.sha256Hash must have 64 hex digits");
  return { id: isHash ? null : first, sha256, refusal: null };
}
