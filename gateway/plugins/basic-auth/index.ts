/** basic-auth: requests need a consumer's user name and password (docs/reference/kong-compatibility.md#basic-auth). */
import {
  type AuthenticationResult,
  authenticationPhase,
  challengeOf,
  type DirectResponse,
  definePlugin,
  type Exchange,
} from "@sluice/plugin-sdk";
import { isPassword, PasswordQueueFull } from "./passwords.ts";
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
  phases({ anonymous, hide_credentials, realm }) {
    const refusal: DirectResponse = {
      status: 401,
      message: "Unauthorized",
      headers: { "WWW-Authenticate": challengeOf("Basic", realm) },
    };

    function identify(
      exchange: Exchange,
      { username, password }: Login,
    ): AuthenticationResult | Promise<AuthenticationResult> {
      const { identities } = exchange;
      const credential = identities.credential("basicauth_credentials", username);
      const consumer = credential && identities.consumer(credential.consumer.id);
      if (credential === undefined || consumer === undefined) {
        const reason = identities.whyInvalid("basicauth_credentials", username);
        return { refusal: reason === null ? refusal : { ...refusal, reason } };
      }
      const resultOf = (isRight: boolean): AuthenticationResult =>
        isRight ? { identity: { consumer, credential, identifier: credential.username } } : { refusal };
      const isRight = isPassword(password, { consumerId: consumer.id, stored: credential.password });
      if (typeof isRight === "boolean") return resultOf(isRight);
      return isRight.then(resultOf, (error: unknown) => {
        if (error instanceof PasswordQueueFull) return { refusal: overloaded };
        throw error;
      });
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
          if (isLast || exchange.identities.credential("basicauth_credentials", login.username) !== undefined) {
            return identify(exchange, login);
          }
        }
        return { refusal };
      },
    });
    return { access };
  },
});
