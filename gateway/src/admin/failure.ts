/** What went wrong while a request was answered, as the answer that tells no more than the client may know. */
import type { Log } from "@sluice/crds";
import { DatabaseUnavailable, Unavailable } from "../stores/store.ts";
import {
  badRequest,
  databaseUnavailable,
  HttpError,
  storeUnavailable,
  tooLarge,
  unexpected,
  unsupportedType,
} from "./errors.ts";

/** Anything that is neither the client's fault nor the store's is a bug of ours: it is logged with its stack. */
export function httpErrorOf(error: unknown, log: Log): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof Unavailable) {
    const { message, cause } = error;
    log.error({ reason: cause instanceof Error ? cause.message : undefined }, message);
    return error instanceof DatabaseUnavailable ? databaseUnavailable(message) : storeUnavailable(message);
  }
  // Faults that the HTTP server finds carry the status that it would answer.
  const { statusCode = 500 } = error as { readonly statusCode?: number };
  if (statusCode === 413) return tooLarge();
  if (statusCode === 415) return unsupportedType();
  if (statusCode < 500) return badRequest((error as Error).message);
  log.error({ err: error }, "a request failed");
  return unexpected();
}
