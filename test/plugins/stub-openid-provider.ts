/** An OpenID provider whose documents and tokens a test sets, for responses that a real provider never sends. */
import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

export type { RequestListener };

/** The time at which the clock of the tests starts, in Unix seconds. */
export const NOW = 1_700_000_000;
export const CLIENT_SECRET = "a secret of the client, as long as a key";

const pairs = {
  rsa: generateKeyPairSync("rsa", { modulusLength: 2048 }),
  other: generateKeyPairSync("rsa", { modulusLength: 2048 }),
  short: generateKeyPairSync("rsa", { modulusLength: 1024 }),
  ec: generateKeyPairSync("ec", { namedCurve: "P-256" }),
  ed: generateKeyPairSync("ed25519"),
};

type Pair = keyof typeof pairs;

export const jwkOf = (pair: Pair, members: object = {}): object => ({
  ...pairs[pair].publicKey.export({ format: "jwk" }),
  kid: pair,
  ...members,
});

const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

function signatureOf(algorithm: unknown, text: string, key: KeyObject): Buffer {
  const bytes = Buffer.from(text);
  if (algorithm === "EdDSA") return sign(null, bytes, key);
  if (algorithm === "ES256") return sign("sha256", bytes, { key, dsaEncoding: "ieee-p1363" });
  if (typeof algorithm === "string" && algorithm.startsWith("HS"))
    return createHmac(`sha${algorithm.slice(2)}`, CLIENT_SECRET)
      .update(text)
      .digest();
  return sign("sha256", bytes, key);
}

export interface TokenMembers {
  readonly header?: Readonly<Record<string, unknown>>;
  readonly claims?: object;
  readonly pair?: Pair;
}

export interface StubProvider {
  readonly issuer: string;
  /** The number of requests for each path. */
  readonly requests: ReadonlyMap<string, number>;
  /** A token with the given members and otherwise valid ones. A member that is given as undefined is left out. */
  token(making?: TokenMembers): string;
  /** From now on, the provider publishes these keys. */
  setKeys(keys: readonly object[]): void;
  /** From now on, the listener answers requests for this path. */
  answer(path: string, listener: RequestListener): void;
}

export const DISCOVERY = "/.well-known/openid-configuration";

export async function startStubProvider(test: TestContext): Promise<StubProvider> {
  const requests = new Map<string, number>();
  const listeners = new Map<string, RequestListener>();
  let keys: readonly object[] = [jwkOf("rsa"), jwkOf("ec"), jwkOf("ed")];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    requests.set(path, (requests.get(path) ?? 0) + 1);
    const listener = listeners.get(path);
    if (listener) listener(request, response);
    else if (path === DISCOVERY) {
      response.end(
        JSON.stringify({
          issuer,
          jwks_uri: `${issuer}/jwks`,
          introspection_endpoint: `${issuer}/introspect`,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
        }),
      );
    } else response.end(JSON.stringify({ keys }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  test.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    requests,
    token({ header = {}, claims = {}, pair = "rsa" } = {}) {
      const full = { alg: "RS256", typ: "JWT", kid: pair, ...header };
      const text = `${base64url(full)}.${base64url({ iss: issuer, sub: "alice", exp: NOW + 600, ...claims })}`;
      return `${text}.${signatureOf(full.alg, text, pairs[pair].privateKey).toString("base64url")}`;
    },
    setKeys(next) {
      keys = next;
    },
    answer: (path, listener) => void listeners.set(path, listener),
  };
}
