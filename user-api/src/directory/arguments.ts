/** Validates the arguments of fields: a new user's name and email address, and the page of a list of users. */

import type { GraphQLError } from "graphql";
import { failure } from "../errors.ts";
import { asciiDomain } from "../store/email-key.ts";
import { type Page, UUID } from "../store/store.ts";

export const MAX_NAME = 200;
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

/** The violation in a name, or null. */
function faultOfName(name: string): string | null {
  if (name.replace(INVISIBLE, "") === "") return "must not be blank";
  if ([...name].length > MAX_NAME) return `must not be longer than ${MAX_NAME} characters`;
  if (unprintable(name)) return "must not contain control characters or unpaired surrogates";
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

/** The values, trimmed and in composed form (NFC), or all of their errors. */
export function checkNewUser(
  given: NewUser,
): { readonly value: NewUser } | { readonly violations: readonly Violation[] } {
  const name = given.name.normalize("NFC").trim();
  const email = given.email.normalize("NFC").trim();
  const violations: Violation[] = [];
  for (const [member, message] of Object.entries({ name: faultOfName(name), email: faultOfEmail(email) })) {
    if (message !== null) violations.push({ path: [member], message });
  }
  return violations.length > 0 ? { violations } : { value: { name, email } };
}

/** The arguments as GraphQL passes them: absent, null, or of their types. */
export interface GivenPage {
  readonly first?: number | null;
  readonly after?: string | null;
}

/** The page, or all errors of the arguments. `maximum` is the maximum number of users in one list. */
export function checkPage(
  { first, after }: GivenPage,
  maximum: number,
): { readonly value: Page } | { readonly violations: readonly Violation[] } {
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
export const tooMany = (maximum: number): GraphQLError =>
  failure(
    "LIMIT_EXCEEDED",
    `There are more than ${maximum} users: ask for a page with users(first: ${maximum}), and for the next one by adding ` +
      "after: with the id of the last user",
    { limit: "page", maximum },
  );
