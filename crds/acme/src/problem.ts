/** Errors of CAs, as problem documents (RFC 7807, RFC 8555 section 6.7). */
import { type AcmeErrorText, escapeControlCharacters } from "@sluice/model";
import { isRecord } from "@sluice/plugin-sdk";

const PREFIX = "urn:ietf:params:acme:error:";
/** Characters of a detail that are kept. */
const MOST_DETAIL = 1000;

export class AcmeProblem extends Error {
  override readonly name = "AcmeProblem";
  /** Without the prefix of ACME; null: the CA has not sent a problem document. */
  readonly type: string | null;
  /** Status of the response; null: the error is not that of a response. */
  readonly status: number | null;
  /** Milliseconds after which the CA allows the next attempt; null: it named none. */
  readonly retryAfter: number | null;

  constructor(
    message: string,
    facts: { readonly type?: string | null; readonly status?: number; readonly retryAfter?: number | null } = {},
  ) {
    super(escapeControlCharacters(message.slice(0, MOST_DETAIL)));
    this.type = facts.type ?? null;
    this.status = facts.status ?? null;
    this.retryAfter = facts.retryAfter ?? null;
  }

  get text(): AcmeErrorText {
    return { type: this.type, detail: this.message };
  }
}

interface ProblemFacts {
  readonly status?: number;
  readonly retryAfter?: number | null;
}

/** The error in a problem document, with the details of its subproblems, or of an authorization or order. */
export function problemOf(document: unknown, fallback: string, facts: ProblemFacts = {}): AcmeProblem {
  if (!isRecord(document)) return new AcmeProblem(fallback, facts);
  const { type, detail, subproblems } = document;
  const parts = Array.isArray(subproblems) ? subproblems.filter(isRecord) : [];
  const details = [detail, ...parts.map((part) => part.detail)].filter((text) => typeof text === "string");
  return new AcmeProblem(details.length > 0 ? details.join("; ") : fallback, {
    ...facts,
    type: typeof type === "string" ? type.replace(PREFIX, "") : null,
  });
}
