/**
 * basic-auth: requests need the user name and password of a consumer, or of an htpasswd file
 * (docs/reference/kong-compatibility.md#basic-auth).
 */
import {
  type AuthenticationResult,
  addressList,
  authenticationPhase,
  challengeOf,
  type DirectResponse,
  definePlugin,
  type Exchange,
} from "@sluice/plugin-sdk";
import { PasswordQueueFull } from "./hash-queue.ts";
import { namesOf, supportedForms } from "./htpasswd.ts";
import { HtpasswdUsers } from "./htpasswd-users.ts";
import { isPassword } from "./passwords.ts";
import { basicAuthFacts } from "./schema.ts";

interface Login {
  readonly username: string;
  /** The bytes that the client sent, which need not be UTF-8. */
  readonly password: Buffer;
}

const COLON = 0x3a;
const LINE_FEED = 0x0a;

/** The headers that are searched for a login, in Kong's order. */
const HEADERS = ["proxy-authorization", "authorization"] as const;

const overloaded: DirectResponse = { status: 503, message: "Service unavailable" };

/**
 * The login in the value of a header; undefined: it contains none. As in Kong, colons before the user name are skipped,
 * and the password ends at a line feed.
 */
function loginOf(value: string | undefined): Login | undefined {
  const encoded = value === undefined ? undefined : /[Bb]asic\s*(.+)/.exec(value)?.[1];
  if (encoded === undefined || !/^[\dA-Za-z+/]*={0,2}$/.test(encoded)) return undefined;
  const bytes = Buffer.from(encoded, "base64");
  const start = bytes.findIndex((byte) => byte !== COLON);
  const colon = start === -1 ? -1 : bytes.indexOf(COLON, start);
  if (colon === -1) return undefined;
  const lineFeed = bytes.indexOf(LINE_FEED, colon);
  const password = bytes.subarray(colon + 1, lineFeed === -1 ? undefined : lineFeed);
  return { username: bytes.subarray(start, colon).toString("utf8"), password };
}

export const basicAuth = definePlugin({
  ...basicAuthFacts,
  phases({ anonymous, hide_credentials, realm, htpasswd, htpasswd_only: isOnly, exempt }, { log, scope }) {
    const isExempt = addressList(exempt);
    const users = htpasswd === null ? null : new HtpasswdUsers(htpasswd, scope.id);
    const refusal: DirectResponse = {
      status: 401,
      message: "Unauthorized",
      headers: { "WWW-Authenticate": challengeOf("Basic", realm) },
    };

    /** The consumer's credential with this user name. Undefined: it is not accepted. */
    function credentialOf({ identities }: Exchange, username: string) {
      return isOnly || users?.has(username) ? undefined : identities.credential("basicauth_credentials", username);
    }

    const isKnown = (exchange: Exchange, username: string): boolean =>
      users?.has(username) === true || credentialOf(exchange, username) !== undefined;

    function identify(
      exchange: Exchange,
      { username, password }: Login,
    ): AuthenticationResult | Promise<AuthenticationResult> {
      const { identities } = exchange;
      const address = exchange.request.clientAddress;
      const credential = credentialOf(exchange, username);
      const consumer = credential && identities.consumer(credential.consumer.id);
      if (credential === undefined || consumer === undefined) {
        const reason = isOnly ? null : identities.whyInvalid("basicauth_credentials", username);
        const refused = { refusal: reason === null ? refusal : { ...refusal, reason } };
        if (users === null) return refused;
        return settle(users.isPassword({ username, password, address }), (isRight) => {
          if (!isRight) return refused;
          return { identity: { consumer: null, credential: users.credentialOf(username), identifier: username } };
        });
      }
      return settle(
        isPassword(password, { consumerId: consumer.id, stored: credential.password, address }),
        (isRight) => (isRight ? { identity: { consumer, credential, identifier: credential.username } } : { refusal }),
      );
    }

    const access = authenticationPhase({
      plugin: "basic-auth",
      anonymous,
      authenticate(exchange) {
        for (const name of HEADERS) {
          const value = exchange.request.header(name);
          if (value === undefined) continue;
          if (hide_credentials) exchange.upstreamHeaders.remove(name);
          const login = loginOf(value);
          // If the user in Proxy-Authorization is unknown, Authorization is used.
          const isLast = name === "authorization" || exchange.request.header("authorization") === undefined;
          if (login === undefined) continue;
          if (isLast || isKnown(exchange, login.username)) {
            return identify(exchange, login);
          }
        }
        return { refusal };
      },
    });

    return {
      access(exchange) {
        if (isExempt?.(exchange.request.clientAddress) !== true) return access(exchange);
        if (hide_credentials) for (const name of HEADERS) exchange.upstreamHeaders.remove(name);
        return undefined;
      },
      start() {
        if (users === null || users.withoutLogin.length === 0) return;
        log.warn(
          `users of htpasswd cannot log in, because their hashes are not supported: ${namesOf(users.withoutLogin)}. ` +
            `Supported are ${supportedForms}`,
        );
      },
    };
  },
});

/** The result for a comparison that may not have ended. */
function settle(
  isRight: boolean | Promise<boolean>,
  resultOf: (isRight: boolean) => AuthenticationResult,
): AuthenticationResult | Promise<AuthenticationResult> {
  if (typeof isRight === "boolean") return resultOf(isRight);
  return isRight.then(resultOf, (error: unknown) => {
    if (error instanceof PasswordQueueFull) return { refusal: overloaded };
    throw error;
  });
}
