/** Which users a list has: all of them, or a page. */
import type { GraphQLError } from "graphql";
import { failure } from "../errors.ts";
import type { Page } from "../store/store.ts";
import type { Violation } from "./new-user.ts";

/** The arguments as GraphQL passes them: absent, null, or of their types. */
export interface GivenPage {
  readonly first?: number | null;
  readonly after?: string | null;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The page, or all errors of the arguments. `maximum` is the most users in one list. */
export function checkPage(
  { first, after }: GivenPage,
  maximum: number,
): { readonly value: Page } | { readonly violations: readonly Violation[] } {
  const violations: Violation[] = [];
  if (typeof first === "number" && (first < 1 || first > maximum)) {
    violations.push({ path: ["first"], message: `must be a whole number from 1 to ${maximum}` });
  }
  if (typeof after === "string" && !UUID.test(after)) {
    violations.push({ path: ["after"], message: "must be the id of the last user of the page before" });
  }
  return violations.length > 0 ? { violations } : { value: { first: first ?? undefined, after: after ?? undefined } };
}

/** The error for a complete list that would be longer than the limit. */
export const tooMany = (maximum: number): GraphQLError =>
  failure(
    "LIMIT_EXCEEDED",
    `There are more than ${maximum} users: ask for a page by users(first: ${maximum}), and for the next one by adding ` +
      "after: with the id of the last user",
    { limit: "page", maximum },
  );
