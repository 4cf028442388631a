/**
 * ldap-auth: requests need the user name and password of an LDAP directory
 * (docs/reference/kong-compatibility.md#ldap-auth).
 */
import { isUtf8 } from "node:buffer";
import {
  type AuthenticationResult,
  authenticationPhase,
  challengeOf,
  type DirectResponse,
  definePlugin,
  type Exchange,
  unexpectedError,
} from "@sluice/plugin-sdk";
import { Directory, DirectoryUnavailable, type LdapLogin, type Verification } from "./directory.ts";
import { INVALID_CREDENTIALS, type LdapResult } from "./messages.ts";
import { ldapAuthFacts } from "./schema.ts";

/** The headers that are searched for a login, in Kong's order. */
const HEADERS = ["proxy-authorization", "authorization"] as const;

export const ldapAuth = definePlugin({
  ...ldapAuthFacts,
  phases(config, context) {
    const { anonymous, header_type: type, hide_credentials, realm } = config;
    const directory = new Directory(config, context);
    const refusal: DirectResponse = {
      status: 401,
      message: "Unauthorized",
      // As in Kong, the default scheme is sent in upper case.
      headers: { "WWW-Authenticate": challengeOf(type === "ldap" ? "LDAP" : type, realm) },
    };

    function failure(error: unknown): AuthenticationResult {
      if (!(error instanceof DirectoryUnavailable)) throw error;
      return { response: unexpectedError(`ldap-auth: ${error.message}`) };
    }

    /** Verifies one login after the other until the directory accepts one. */
    function verify(
      exchange: Exchange,
      [login, ...others]: readonly LdapLogin[],
      refused: DirectResponse = refusal,
    ): AuthenticationResult | Promise<AuthenticationResult> {
      if (login === undefined) return { refusal: refused };
      const settle = (verification: Verification) => {
        if ("code" in verification) return verify(exchange, others, refusalOf(refusal, verification));
        if (hide_credentials) for (const name of HEADERS) exchange.upstreamHeaders.remove(name);
        return { identity: { consumer: null, credential: verification, identifier: login.username } };
      };
      try {
        const verification = directory.verify(login);
        return verification instanceof Promise ? verification.then(settle).catch(failure) : settle(verification);
      } catch (error) {
        return failure(error);
      }
    }

    const access = authenticationPhase({
      plugin: "ldap-auth",
      anonymous,
      authenticate(exchange) {
        const logins = HEADERS.flatMap((name) => {
          const credentials = credentialsOf(exchange.request.header(name), type);
          if (credentials === undefined) return [];
          // Removed even if the login fails: the request may be forwarded for the anonymous consumer.
          if (hide_credentials) exchange.upstreamHeaders.remove(name);
          return loginOf(credentials) ?? [];
        });
        return verify(exchange, logins);
      },
    });
    return { access };
  },
});

/** The text after the scheme in a header; undefined: the header is absent or has another scheme. */
function credentialsOf(header: string | undefined, type: string): string | undefined {
  if (header === undefined || !header.toLowerCase().startsWith(type.toLowerCase())) return undefined;
  return /^\s+(.*)$/.exec(header.slice(type.length))?.[1];
}

/** The login in Base64 text; undefined: malformed. As in Kong, a line feed at the end is not part of the password. */
function loginOf(encoded: string): LdapLogin | undefined {
  if (!/^[\dA-Za-z+/]*={0,2}$/.test(encoded)) return undefined;
  const bytes = Buffer.from(encoded, "base64");
  // A server written in C may end the password at a null character, and so accept an empty password.
  const [, username = "", password = ""] = /^([^:\0\n]+):([^\0\n]+)\n?$/.exec(bytes.toString("latin1")) ?? [];
  const name = Buffer.from(username, "latin1");
  if (username === "" || !isUtf8(name)) return undefined;
  return { username: name.toString("utf8"), password: Buffer.from(password, "latin1") };
}

/** A result other than INVALID_CREDENTIALS may be caused by the configuration, so it is logged. */
const refusalOf = (refusal: DirectResponse, { code, diagnostic }: LdapResult) =>
  code === INVALID_CREDENTIALS
    ? refusal
    : { ...refusal, reason: `ldap-auth: the LDAP server refused the bind with the code ${code}: ${diagnostic}` };
