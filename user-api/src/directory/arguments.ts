/** Validates the arguments of fields: names and e-mail addresses of users, titles of posts, and pages of users. */

import type { GraphQLError } from "graphql";
import { createFailure } from "../errors.ts";
import { asciiDomain } from "../store/email-key.ts";
import { type PageBounds, UUID } from "../store/store.ts";

export const MAX_NAME = 200;
export const MAX_TITLE = 300;
/** In bytes. RFC 5321, 4.5.3.1.3: a path, which is an address in angle brackets, has at most 256 octets. */
export const MAX_EMAIL = 254;

const ADDRESS = /^[^\s@<>()[\]",:;\\]{1,64}@[^\s@.<>()[\]",:;\\]+(\.[^\s@.<>()[\]",:;\\]+)+$/u;

/** Whether the text has the form of an address once its domain is in ASCII. */
function isAddress(email: string): boolean {
  const at = email.lastIndexOf("@") + 1;
  const domain = asciiDomain(email.slice(at));
  return domain !== null && ADDRESS.test(email.slice(0, at) + domain);
}

export interface Violation {
  readonly path: readonly [string];
  readonly message: string;
}

export interface NewUser {
  readonly name: string;
  readonly email: string;
}

/** Whether the text contains control characters or half of a surrogate pair; Postgres refuses some of them. */
const unprintable = (text: string): boolean => /\p{Cc}/u.test(text) || !text.isWellFormed();

/**
 * White space and characters without a visible form of their own, such as U+200B and U+3164. Names may contain them
 * between other characters.
 */
const INVISIBLE = /[\s\p{Default_Ignorable_Code_Point}]/gu;

/** The violation in a name or a title, or null. */
function faultOfText(text: string, maximum: number): string | null {
  if (text.replace(INVISIBLE, "") === "") return "must not be blank";
  if ([...text].length > maximum) return `must not be longer than ${maximum} characters`;
  if (unprintable(text)) return "must not contain control characters or unpaired surrogates";
  return null;
}

/** The violation in an e-mail address, or null. Checks only the form, not whether the address receives mail. */
function faultOfEmail(email: string): string | null {
  const visible = email.replace(INVISIBLE, "");
  if (visible === "") return "must not be blank";
  if (Buffer.byteLength(email) > MAX_EMAIL) return `must not be longer than ${MAX_EMAIL} bytes`;
  if (
    unprintable(email) ||
    // With invisible characters, two addresses that look alike could belong to two users.
    visible !== email ||
    !isAddress(email)
  ) {
    return "must be an e-mail address, such as ann@example.org";
  }
  return null;
}

/** The checked arguments, or all of their errors. */
export type CheckedArguments<Value> = { readonly value: Value } | { readonly violations: readonly Violation[] };

const FAULTS: Readonly<Record<string, (text: string) => string | null>> = {
  name: (name) => faultOfText(name, MAX_NAME),
  email: faultOfEmail,
  title: (title) => faultOfText(title, MAX_TITLE),
};

/** The texts `name`, `email` and `title`, trimmed and in composed form (NFC). */
export function checkTexts<Texts extends Readonly<Partial<Record<"name" | "email" | "title", string>>>>(
  given: Texts,
): CheckedArguments<Texts> {
  const violations: Violation[] = [];
  const value = Object.fromEntries(
    Object.entries(given).map(([member, text]) => {
      const composed = text.normalize("NFC").trim();
      const message = FAULTS[member]?.(composed) ?? null;
      if (message !== null) violations.push({ path: [member], message });
      return [member, composed];
    }),
  );
  return violations.length > 0 ? { violations } : { value: value as Texts };
}

/** The arguments as GraphQL passes them: absent, null, or of their types. */
export interface PageArguments {
  readonly first?: number | null;
  readonly after?: string | null;
}

/** The page, or all errors of the arguments. `maximum` is the maximum number of users in one list. */
export function checkPage({ first, after }: PageArguments, maximum: number): CheckedArguments<PageBounds> {
  const violations: Violation[] = [];
  if (typeof first === "number" && (first < 1 || first > maximum)) {
    violations.push({ path: ["first"], message: `must be a whole number from 1 to ${maximum}` });
  }
  if (typeof after === "string" && !UUID.test(after)) {
    violations.push({ path: ["after"], message: "must be the id of the last user of the previous page" });
  }
  return violations.length > 0 ? { violations } : { value: { first: first ?? undefined, after: after ?? undefined } };
}

/** The error for a complete list that would be longer than the limit. */
export const tooManyItems = (maximum: number): GraphQLError =>
  createFailure(
    "LIMIT_EXCEEDED",
    `There are more than ${maximum} users: ask for a page with users(first: ${maximum}), and for the next one by adding ` +
      "after: with the id of the last user",
    { limit: "page", maximum },
  );
