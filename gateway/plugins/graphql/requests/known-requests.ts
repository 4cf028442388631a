/**
 * Requests that were read before: most requests of a client repeat earlier ones, byte by byte, and reading them again
 * would cost more than the rest of the gateway. The whole text is the key, so two requests are never mistaken for each
 * other.
 */
import { LruCache } from "@sluice/plugin-sdk";
import type { ReadGraphqlRequest } from "./read-request.ts";

/** Requests in one generation of the cache, which has two. */
const MAX_REQUESTS = 256;
/** Maximum characters of a request that is kept, and maximum bytes that replace it. All requests take at most 8 MB. */
const MAX_LENGTH = 8192;

export class KnownRequests {
  readonly #requests = new LruCache<ReadGraphqlRequest>(MAX_REQUESTS);

  /** @param text The query of a URL, or the bytes of a body as Latin-1. Undefined: it has not been read recently */
  get(text: string): ReadGraphqlRequest | undefined {
    return text.length > MAX_LENGTH ? undefined : this.#requests.get(text);
  }

  /**
   * Keeps a request that would be read in the same way again: whether a document is known by its hash alone changes as
   * other clients send it, and refused requests are not worth the memory.
   */
  add(text: string, read: ReadGraphqlRequest): void {
    const { operations, refusal, body, query } = read;
    const isKept = refusal === null && operations.length > 0 && operations.every(({ type }) => type !== "unknown");
    const replaced = body?.length ?? query?.length ?? 0;
    if (isKept && text.length <= MAX_LENGTH && replaced <= MAX_LENGTH) this.#requests.set(text, read);
  }
}
