/** The URL of a server to which a plugin sends what it records. */
import type { Violation } from "../violation.ts";

/** A violation, in Kong's words, for a text that is no http or https URL. The schema reports values of other types. */
export function endpointViolations(member: string, value: unknown): readonly Violation[] {
  if (typeof value !== "string" || value === "") return [];
  const url = URL.parse(value);
  if (url !== null && /^https?:$/.test(url.protocol)) return [];
  const problem = (message: string) => [{ path: [member], message }];
  if (!value.includes("://")) return problem("missing scheme in url");
  return problem(url === null ? "missing host in url" : "the scheme must be http or https");
}

/** Like `endpointViolations`, but also refuses a user name or password in the URL, for plugins that send neither. */
export function plainEndpointViolations(member: string, value: unknown): readonly Violation[] {
  const url = typeof value === "string" ? URL.parse(value) : null;
  if (url === null || url.username + url.password === "") return endpointViolations(member, value);
  return [{ path: [member], message: "must not contain a user name or a password" }];
}
