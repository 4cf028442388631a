/** Which operation answers which method of an endpoint. */
import { type Collection, collections } from "@sluice/model";
import { credentials } from "./credentials.ts";
import type { Endpoint } from "./endpoints.ts";
import { type Answer, type Call, deriveOperations, type Operations } from "./operations.ts";

export const METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"] as const;
export type Method = (typeof METHODS)[number];

/** Collections that do something differently. */
const special: Partial<Record<Collection, (derived: Operations) => Partial<Operations>>> = {
  keyauth_credentials: credentials,
};

const operations = Object.fromEntries(
  collections.map((collection) => [collection, deriveOperations(special[collection])]),
) as Record<Collection, Operations>;

/** A method without a handler is answered 405; HEAD is GET, and OPTIONS is the same everywhere. */
export type Handlers = Partial<Record<Method, (call: Call) => Promise<Answer>>>;

export const handlersOf = ({ collection, one }: Endpoint): Handlers => {
  const { list, create, show, remove } = operations[collection];
  return one ? { GET: show, DELETE: remove } : { GET: list, POST: create };
};
