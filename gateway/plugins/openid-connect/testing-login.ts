/** Logins at the stub of a provider, for the tests of openid-connect. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { DirectResponse } from "@sluice/plugin-sdk";
import type { FakeExchange, FakeServicesOptions } from "../../../test/plugins/fake-exchange.ts";
import {
  DISCOVERY,
  NOW,
  type StubProvider,
  startStubProvider,
  type TokenMembers,
} from "../../../test/plugins/stub-openid-provider.ts";
import { instanceFor, type OpenidInstance } from "./testing.ts";

export const CALLBACK = "/callback";

export const config = {
  auth_methods: ["authorization_code", "session"],
  client_id: "gateway",
  redirect_uri: `https://app.test${CALLBACK}`,
  session_secret: "a secret for the cookies of this test",
};

/** The Cookie header that a browser without other cookies sends after this response. */
export const cookiesOf = (exchange: FakeExchange): string =>
  exchange.responseHeaders
    .valuesOver("set-cookie", [])
    .map((cookie) => cookie.split(";", 1)[0] ?? "")
    .filter((pair) => !pair.endsWith("="))
    .join("; ");

export interface NewLogin {
  readonly provider: StubProvider;
  readonly instance: OpenidInstance;
  /** The cookies that the redirect to the provider sets. */
  readonly cookie: string;
  /** The parameters of this redirect. */
  readonly sent: URLSearchParams;
}

/** Members of the discovery document, further members of the config, and services of the instance. */
export interface BeginOptions extends Pick<FakeServicesOptions, "counters"> {
  readonly discovery?: object;
  readonly more?: object;
}

/** Starts a provider, and begins a login at an instance. */
export async function beginLogin(
  test: TestContext,
  { discovery = {}, more = {}, ...services }: BeginOptions = {},
): Promise<NewLogin> {
  const provider = await startStubProvider(test);
  const { issuer } = provider;
  const document = {
    issuer,
    jwks_uri: `${issuer}/jwks`,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    ...discovery,
  };
  provider.answer(DISCOVERY, (_request, response) => response.end(JSON.stringify(document)));
  return beginAgain(provider, instanceFor(provider, { ...config, ...more }, services));
}

/** Begins another login at this instance. */
export async function beginAgain(provider: StubProvider, instance: OpenidInstance): Promise<NewLogin> {
  const { exchange, answer } = await instance.send({ path: "/page" });
  assert.equal(answer?.status, 302);
  const sent = new URL(`${answer?.headers?.Location}`).searchParams;
  return { provider, instance, cookie: cookiesOf(exchange), sent };
}

/** From now on, the token endpoint answers with this ID token and these members. */
export function answerTokens(
  { provider, sent }: NewLogin,
  { claims, ...making }: TokenMembers = {},
  members: object = {},
): void {
  const nonce = sent.get("nonce");
  const right = { aud: "gateway", nonce, iat: NOW };
  const token = provider.token({ ...making, claims: { ...right, ...claims } });
  const answer = { access_token: "opaque", token_type: "Bearer", expires_in: 60, id_token: token, ...members };
  provider.answer("/token", (_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(answer));
  });
}

/** Sends the request to which the provider redirects after the login. */
export const returnToGateway = (
  { instance, cookie }: NewLogin,
  query: string,
): Promise<{ readonly exchange: FakeExchange; readonly answer: DirectResponse | undefined }> =>
  instance.send({ path: CALLBACK, query, headers: { cookie } });
