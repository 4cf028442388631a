/** Checks of the config members that describe a sealed cookie: `<prefix>_name`, `_path`, `_domain` and so on. */
import type { RecordMembers } from "../schema/rules.ts";
import type { Violation } from "../violation.ts";
import { sealedCookieNames } from "./sealed-cookie.ts";

/** A token (RFC 9110 section 5.6.2). */
const NAME = /^[!#$%&'*+\-.^_`|~\dA-Za-z]+$/;
/**
 * The value of an attribute, without the characters that would end it or begin another attribute (RFC 6265 section
 * 4.1.1).
 */
const ATTRIBUTE = /^[\x21-\x3a\x3c-\x7e]*$/;
const PATH = /^\/[\x21-\x3a\x3c-\x7e]*$/;

/**
 * The violations in the members with these prefixes, such as `session_cookie`, one prefix for each cookie. The names of
 * a cookie and of its numbered pieces must differ from those of the other cookies.
 */
export function cookieViolations(config: RecordMembers, prefixes: readonly string[]): readonly Violation[] {
  const invalid = (name: string, pattern: RegExp, message: string): readonly Violation[] => {
    const value = config[name];
    return typeof value === "string" && !pattern.test(value) ? [{ path: [name], message }] : [];
  };
  return prefixes.flatMap((cookie, index) => [
    ...invalid(`${cookie}_name`, NAME, "expected the name of a cookie: letters, digits, dashes and underscores"),
    ...invalid(`${cookie}_path`, PATH, "should start with: / and contain neither spaces nor semicolons"),
    ...invalid(`${cookie}_domain`, ATTRIBUTE, "must contain neither spaces nor semicolons"),
    ...(config[`${cookie}_same_site`] === "None" && config[`${cookie}_secure`] === false
      ? [
          {
            path: [`${cookie}_secure`],
            message: "must not be false with SameSite None: browsers would refuse the cookie",
          },
        ]
      : []),
    ...prefixes
      .slice(0, index)
      .filter((other) => haveCommonName(config[`${cookie}_name`], config[`${other}_name`]))
      .map((other) => ({
        path: [`${cookie}_name`],
        message: `must differ from ${other}_name and its numbered pieces`,
      })),
  ]);
}

const haveCommonName = (first: unknown, second: unknown): boolean =>
  typeof first === "string" &&
  typeof second === "string" &&
  sealedCookieNames(first).some((name) => sealedCookieNames(second).includes(name));
