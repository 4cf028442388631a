import assert from "node:assert/strict";
import { createHmac, hash } from "node:crypto";
import { describe, it } from "node:test";
import {
  type FakeExchangeOptions,
  fakeConsumer,
  fakeContext,
  fakeExchange,
} from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { hmacAuth } from "./index.ts";

const consumer = fakeConsumer({ username: "bob" });
const guest = fakeConsumer({ id: "c-0", username: "guest" });
const SECRET = "a secret ü";
const bob = { id: "h-1", consumer: { id: consumer.id }, username: "bob", secret: SECRET };
const NOW = Date.UTC(2026, 10, 23, 12);
const date = new Date(NOW).toUTCString();
const at = (seconds: number) => new Date(NOW + seconds * 1000).toUTCString();

interface Signing {
  readonly username?: string;
  readonly algorithm?: string;
  readonly names?: string;
  /** The signed text. */
  readonly text?: string;
  readonly secret?: string;
}

function authorization({
  username = "bob",
  algorithm = "hmac-sha256",
  names = "date",
  text,
  secret = SECRET,
}: Signing = {}) {
  const bytes = Buffer.from(text ?? `date: ${date}`, "latin1");
  const signature = createHmac(algorithm.slice(5), secret).update(bytes).digest("base64");
  return `hmac username="${username}", algorithm="${algorithm}", headers="${names}", signature="${signature}"`;
}

async function send(request: FakeExchangeOptions, config: object = {}) {
  const exchange = fakeExchange({
    consumers: [consumer, guest],
    credentials: { hmacauth_credentials: { bob } },
    ...request,
  });
  const context = fakeContext({ now: () => NOW });
  return {
    exchange,
    answer: await hmacAuth.phases(withConfigDefaults("hmac-auth", config), context).access?.(exchange),
  };
}

const body = "a body";
const digest = `SHA-256=${hash("sha256", body, "base64")}`;
const MISSING_DATE =
  "HMAC signature cannot be verified, a valid date or x-date header is required for HMAC Authentication";
const NOT_VALID = "HMAC signature cannot be verified";
const NOT_SAME = "HMAC signature does not match";

const accepted: readonly (readonly [what: string, request: FakeExchangeOptions, config?: object])[] = [
  ...["hmac-sha1", "hmac-sha256", "hmac-sha384", "hmac-sha512"].map(
    (algorithm) => [`with ${algorithm}`, { headers: { date, authorization: authorization({ algorithm }) } }] as const,
  ),
  ["in Proxy-Authorization", { headers: { date, "proxy-authorization": authorization() } }],
  ["with the scheme in title case", { headers: { date, authorization: authorization().replace("hmac ", "Hmac ") } }],
  [
    "of X-Date",
    { headers: { "x-date": date, authorization: authorization({ names: "x-date", text: `x-date: ${date}` }) } },
  ],
  [
    "of the method and target",
    {
      method: "POST",
      path: "/a b",
      sentPath: "/a%20b",
      query: "?x=1",
      headers: {
        date,
        authorization: authorization({
          names: "date @request-target",
          text: `date: ${date}\n@request-target: post /a%20b?x=1`,
        }),
      },
    },
  ],
  [
    "of the request line",
    {
      headers: {
        date,
        authorization: authorization({ names: "date request-line", text: `date: ${date}\nGET /users HTTP/1.1` }),
      },
    },
  ],
  [
    "of a target with bytes above ASCII, as the client sent it",
    {
      path: "/ü",
      sentPath: "/%C3%BC",
      query: "?%C3%BC",
      sentTarget: "/\u00c3\u00bc?\u00c3\u00bc",
      headers: {
        date,
        authorization: authorization({
          names: "date request-line",
          text: `date: ${date}\nGET /\u00c3\u00bc?\u00c3\u00bc HTTP/1.1`,
        }),
      },
    },
  ],
  ...["", "?", "?a", "?a=1&a=2", "?b=%20+&a="].map(
    (query) =>
      [
        `of a target with the query '${query}'`,
        {
          query,
          headers: {
            date,
            authorization: authorization({
              names: "date @request-target",
              text: `date: ${date}\n@request-target: get /users${query}`,
            }),
          },
        },
      ] as const,
  ),
  ...(
    [
      ["1.0", "1.0"],
      ["2", "2.0"],
    ] as const
  ).map(
    ([httpVersion, written]) =>
      [
        `of the request line of HTTP/${written}`,
        {
          httpVersion,
          headers: {
            date,
            authorization: authorization({
              names: "date request-line",
              text: `date: ${date}\nGET /users HTTP/${written}`,
            }),
          },
        },
      ] as const,
  ),
  [
    "in Authorization if Proxy-Authorization has another scheme",
    { headers: { date, "proxy-authorization": "Basic x", authorization: authorization() } },
  ],
  [
    "of a valid Date beside an X-Date that is not a date",
    { headers: { date, "x-date": "now", authorization: authorization() } },
  ],
  [
    "of an old Date beside a recent X-Date that is not signed, as in Kong",
    { headers: { date: at(-301), "x-date": date, authorization: authorization({ text: `date: ${at(-301)}` }) } },
  ],
  [
    "of a Date and the absence of X-Date, if both must be signed",
    { headers: { date, authorization: authorization({ names: "date x-date", text: `date: ${date}\nx-date:` }) } },
    { enforce_headers: ["date", "x-date"] },
  ],
  [
    "and the digest of an empty body, without a body",
    {
      headers: {
        date,
        digest: `SHA-256=${hash("sha256", "", "base64")}`,
        authorization: authorization(),
      },
    },
    { validate_request_body: true },
  ],
  [
    "of a header that the request does not have",
    { headers: { date, authorization: authorization({ names: "date x-none", text: `date: ${date}\nx-none:` }) } },
  ],
  [
    "of a header with two values, by the bytes of the first one",
    {
      headers: {
        date,
        "X-A": ["ÿ", "2"],
        authorization: authorization({ names: "date X-A", text: `date: ${date}\nX-A: ÿ` }),
      },
    },
  ],
  [
    "of an earlier date within the clock skew",
    { headers: { date: at(-300), authorization: authorization({ text: `date: ${at(-300)}` }) } },
  ],
  ["of all enforced headers", { headers: { date, authorization: authorization() } }, { enforce_headers: ["date"] }],
  [
    "and a body with its digest",
    { method: "POST", body, headers: { date, digest, authorization: authorization() } },
    { validate_request_body: true },
  ],
  [
    "and with neither a body nor a digest",
    { headers: { date, authorization: authorization() } },
    { validate_request_body: true },
  ],
];

const refused: readonly (readonly [what: string, request: FakeExchangeOptions, message: string, config?: object])[] = [
  ["without a signature", { headers: { date } }, "Unauthorized"],
  ["without a date", { headers: { authorization: authorization() } }, MISSING_DATE],
  ["with a Date that is not a date", { headers: { date: "now", authorization: authorization() } }, MISSING_DATE],
  [
    "with a Date that is earlier than the clock skew allows",
    { headers: { date: at(-301), authorization: authorization() } },
    MISSING_DATE,
  ],
  [
    "with an old Date beside a recent X-Date that is not signed, if both must be signed",
    {
      headers: {
        date: at(-301),
        "x-date": date,
        authorization: authorization({ names: "date x-date", text: `date: ${at(-301)}\nx-date:` }),
      },
    },
    NOT_SAME,
    { enforce_headers: ["date", "x-date"] },
  ],
  [
    "with a Date that is later than the clock skew allows",
    { headers: { date: at(301), authorization: authorization() } },
    MISSING_DATE,
  ],
  ["with another scheme", { headers: { date, authorization: "Basic x" } }, NOT_VALID],
  [
    "with incomplete parameters of the signature",
    { headers: { date, authorization: 'hmac username="bob"' } },
    NOT_VALID,
  ],
  ...(
    [
      ["without a user name", /username="bob", /, ""],
      ["with an empty user name", /username="bob"/, 'username=""'],
      ["without an algorithm", /algorithm="[^"]+", /, ""],
      ["with an empty algorithm", /algorithm="[^"]+"/, 'algorithm=""'],
      ["without a list of signed headers", /headers="[^"]+", /, ""],
      ["with an empty list of signed headers", /headers="[^"]+"/, 'headers=""'],
      ["without the signature itself", /, signature="[^"]+"/, ""],
      ["with a signature that is not Base64", /signature="[^"]+"/, 'signature="a!b"'],
      ["with an unknown algorithm", /hmac-sha256/, "hmac-md5"],
      ["with the algorithm sha256 without hmac-", /hmac-sha256/, "sha256"],
      ["with the name of an inherited property as the algorithm", /hmac-sha256/, "constructor"],
    ] as const
  ).map(
    ([what, part, instead]) =>
      [what, { headers: { date, authorization: authorization().replace(part, instead) } }, NOT_VALID] as const,
  ),
  [
    "with an invalid signature in Proxy-Authorization beside a valid one in Authorization",
    {
      headers: { date, "proxy-authorization": authorization({ secret: "x" }), authorization: authorization() },
    },
    NOT_SAME,
  ],
  [
    "with a signature of another target",
    {
      query: "?admin=1",
      headers: {
        date,
        authorization: authorization({
          names: "date @request-target",
          text: `date: ${date}\n@request-target: get /users`,
        }),
      },
    },
    NOT_SAME,
  ],
  [
    "with a signature of another digest",
    {
      method: "POST",
      body: "x",
      headers: {
        date,
        digest: `SHA-256=${hash("sha256", "x", "base64")}`,
        authorization: authorization({ names: "date digest", text: `date: ${date}\ndigest: ${digest}` }),
      },
    },
    NOT_SAME,
    { validate_request_body: true },
  ],
  [
    "with a signature by an unknown user",
    { headers: { date, authorization: authorization({ username: "eve" }) } },
    NOT_VALID,
  ],
  [
    "with an algorithm that is not accepted",
    { headers: { date, authorization: authorization({ algorithm: "hmac-sha1" }) } },
    NOT_VALID,
    { algorithms: ["hmac-sha256"] },
  ],
  [
    "with a signature that lacks an enforced header",
    { headers: { date, authorization: authorization() } },
    NOT_VALID,
    { enforce_headers: ["date", "@request-target"] },
  ],
  [
    "with a signature made with another secret",
    { headers: { date, authorization: authorization({ secret: "x" }) } },
    NOT_SAME,
  ],
  ["with a signature of another date", { headers: { date: at(1), authorization: authorization() } }, NOT_SAME],
  [
    "with an empty signature",
    { headers: { date, authorization: authorization().replace(/signature="[^"]+"/, 'signature="="') } },
    NOT_SAME,
  ],
  [
    "with a changed body",
    { method: "POST", body: "x", headers: { date, digest, authorization: authorization() } },
    NOT_SAME,
    { validate_request_body: true },
  ],
  [
    "with a body without a digest",
    { method: "POST", body, headers: { date, authorization: authorization() } },
    NOT_SAME,
    { validate_request_body: true },
  ],
  [
    "with a body over 1 MiB",
    { method: "POST", body: "x".repeat(1024 * 1024 + 1), headers: { date, digest, authorization: authorization() } },
    NOT_SAME,
    { validate_request_body: true },
  ],
];

describe("a request with hmac-auth", () => {
  for (const [what, request, config] of accepted) {
    it(`is accepted with a signature ${what}`, async () => {
      const { exchange, answer } = await send(request, config);
      assert.equal(answer, undefined);
      assert.equal(exchange.consumer, consumer);
      assert.equal(exchange.upstreamHeaders.get("X-Credential-Identifier"), "bob");
    });
  }

  for (const [what, request, message, config] of refused) {
    it(`${what} is refused: ${message}`, async () => {
      const { exchange, answer } = await send(request, config);
      assert.deepEqual(answer, { status: 401, message, headers: { "WWW-Authenticate": "hmac" } });
      assert.equal(exchange.consumer, null);
    });
  }

  it("is refused with the configured realm", async () => {
    assert.deepEqual((await send({}, { realm: "r" })).answer?.headers, { "WWW-Authenticate": 'hmac realm="r"' });
  });

  it("is attributed to the anonymous consumer if it has no valid signature", async () => {
    const { exchange, answer } = await send({ headers: { date } }, { anonymous: "guest" });
    assert.deepEqual([answer, exchange.consumer, exchange.anonymous], [undefined, guest, true]);
  });

  it("is forwarded without the signature with hide_credentials", async () => {
    for (const name of ["authorization", "proxy-authorization"]) {
      const { exchange } = await send({ headers: { date, [name]: authorization() } }, { hide_credentials: true });
      assert.deepEqual(exchange.upstreamHeaders.valuesOver(name, ["forwarded"]), []);
    }
  });
});

for (const clock_skew of [0, -1]) {
  it(`the config of hmac-auth refuses a clock skew of ${clock_skew}`, () => {
    assert.deepEqual(configViolations("hmac-auth", { clock_skew }), ["clock_skew: value must be greater than 0"]);
  });
}
