/** The htpasswd file of basic-auth in the real proxy. */
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { describe, type TestContext, test } from "node:test";
import { fakeConsumer, fakeContext, fakeExchange } from "../../../test/plugins/fake-exchange.ts";
import { configViolations, secretPathsOf, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { startProxyWith } from "../../../test/plugins/proxy.ts";
import { basicAuth } from "./index.ts";

const PASSWORD = "open:sesame ü";
/** Hashes of the password, made by `openssl passwd`, crypt(3) of libxcrypt, and Python's hashlib. */
const hashes = {
  apr1: "$apr1$r31k9q.A$g02qVGqynjMAWXcg7HPHM/",
  md5: "$1$xyz12345$xz9TKI85fv6AoX2iQNvG01",
  sha256: "$5$saltstring$ag9LfNSFm7kWncqBmEy51OaK5YgQsD7U/laTE0Pgo09",
  sha256rounds: "$5$rounds=10000$saltstringsaltst$Ci60EqcZg6ZwZ44uk9NfQBa4NhC46aebJwhJT/IIiB3",
  sha512: "$6$saltstring$NHqTaTMeWEMmmi9Uvtdv/ymRFh3ihXyqQ2iLmhvyKwOeuIYwIQEEYgwW7VZeIFGEoJFrryO8Jt0ykIsYBaZgS/",
  sha512rounds:
    "$6$rounds=1400$anotherlongsalts$xRI8oSohH8im6ldgjYfwm03NMo6HAH9enYRZKVFA.jJEsWex5JkNpDgOqUrrtmVMzTjOdaH1QeQPGuRLrbLlC.",
  bcrypt2y: "$2y$05$abcdefghijklmnopqrstuuznYkur9ZOqxzZsGC4QmGmppwiFPoY2O",
  bcrypt2a: "$2a$04$abcdefghijklmnopqrstuuCYhJMbRE.2T7zAkyFOoPoWJul1rwtb2",
  bcrypt2b: "$2b$04$zbcdefghijklmnopqrstuuVYF19runFdJwyVKBx./WF/0cRdLVo92",
  sha: "{SHA}TVPvKJvRcX/xg7qERAF53EdNJbs=",
  ssha: "{SSHA}PJ5juarooaLkBjQg9qBWaxmtuIlzYWx0eQ==",
};
const unsupported = {
  des: "abNANd1rDfiNc",
  plain: PASSWORD,
  plainbrace: `{PLAIN}${PASSWORD}`,
  costly: "$2y$15$abcdefghijklmnopqrstuuc.1nMMzI1igPSL7/J7QaXY3r2A0yyBC",
  rounds: "$5$rounds=500001$saltstringsaltst$Ci60EqcZg6ZwZ44uk9NfQBa4NhC46aebJwhJT/IIiB3",
  empty: "",
};
const linesOf = (users: Readonly<Record<string, string>>) =>
  Object.entries(users).map(([name, stored]) => `${name}:${stored}`);

const htpasswd = [
  "# comment: of the file",
  ...linesOf(hashes),
  `sha:${hashes.apr1.replace("$g", "$h")}`,
  `noted:${hashes.sha}:a comment`,
  "#hidden:{SHA}TVPvKJvRcX/xg7qERAF53EdNJbs=",
  "a line without a colon",
  ...linesOf(unsupported),
  "",
].join("\n");

const basic = (login: string) => `Basic ${Buffer.from(login).toString("base64")}`;

const start = (test: TestContext, config: object = {}) =>
  startProxyWith(test, { name: "basic-auth", config: { htpasswd, ...config } });

for (const [name, stored] of Object.entries(hashes)) {
  test(`a user with the hash ${stored.slice(0, 6)} (${name}) is admitted with the right password and no other`, async (test) => {
    const gateway = await start(test, { htpasswd: `${name}:${stored}` });
    const statusOf = async (password: string) =>
      (await gateway.fetch("/", { headers: { authorization: basic(`${name}:${password}`) } })).status;
    // Four at most, because a fifth would have to wait.
    const passwords = [PASSWORD, "open", stored, `${PASSWORD} `, PASSWORD];
    assert.deepEqual(await Promise.all(passwords.map(statusOf)), [200, 401, 401, 401, 200]);
    assert.equal(await statusOf(""), 401);
  });
}

for (const [what, login, status] of [
  ["whose line has a comment", `noted:${PASSWORD}`, 200],
  ["whose line begins with #", `#hidden:${PASSWORD}`, 401],
  ["whose hash is for DES", "des:secret", 401],
  ["whose password is in clear text", `plain:${PASSWORD}`, 401],
  ["whose password is in clear text after {PLAIN}", `plainbrace:${PASSWORD}`, 401],
  ["whose bcrypt hash has a cost above 14", `costly:${PASSWORD}`, 401],
  ["without a hash, and without a password", "empty:", 401],
  ["that the file does not have", `nobody:${PASSWORD}`, 401],
  ["with a password of more than 512 bytes", `sha:${"a".repeat(513)}`, 401],
] as const) {
  test(`a user ${what} gets ${status}`, async (test) => {
    const gateway = await start(test, { realm: "Authentication Required - foo" });
    const response = await gateway.fetch("/", { headers: { authorization: basic(login) } });
    assert.equal(response.status, status);
    const challenge = status === 401 ? 'Basic realm="Authentication Required - foo"' : null;
    assert.equal(response.headers.get("www-authenticate"), challenge);
  });
}

test("the first line of a user counts", async (test) => {
  const lines = [`bob:${hashes.sha}`, "bob:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="];
  for (const [file, status] of [
    [lines.join("\r\n"), 200],
    [lines.toReversed().join("\n"), 401],
  ] as const) {
    const gateway = await start(test, { htpasswd: file });
    assert.equal((await gateway.fetch("/", { headers: { authorization: basic(`bob:${PASSWORD}`) } })).status, status);
  }
});

test("the upstream gets the name of a user, no consumer, and no password with hide_credentials", async (test) => {
  const gateway = await start(test, { hide_credentials: true });
  const forged = { "X-Consumer-Username": "alice", "X-Credential-Identifier": "alice" };
  const response = await gateway.fetch("/", { headers: { ...forged, authorization: basic(`sha:${PASSWORD}`) } });
  const { headers } = (await response.json()) as { headers: Record<string, string> };
  assert.equal(headers["x-credential-identifier"], "sha");
  assert.equal(headers["x-consumer-username"], undefined);
  assert.equal(headers["x-anonymous-consumer"], undefined);
  assert.equal(headers.authorization, undefined);
});

test("users whose hashes are not supported are named in the log, without their hashes", async (test) => {
  const { log } = await start(test);
  const lines = log.filter(({ message }) => message.includes("htpasswd"));
  assert.equal(lines.length, 1);
  assert.match(
    lines[0]?.message ?? "",
    /cannot log in, .*: des, plain, plainbrace, costly, rounds, empty\. Supported are \$apr1\$/,
  );
  assert.doesNotMatch(JSON.stringify(log), /sesame|abNANd1rDfiNc/);
});

describe("beside credentials of consumers", () => {
  const consumer = fakeConsumer({ username: "bob" });
  const passwordOf = (username: string) => ({
    [username]: { id: `id-${username}`, consumer: { id: consumer.id }, username, password },
  });
  const password = `$sha256$${hash("sha256", `${consumer.id}secret`)}`;
  async function send(login: string, config: object) {
    const exchange = fakeExchange({
      headers: { authorization: basic(login) },
      consumers: [consumer],
      credentials: { basicauth_credentials: { ...passwordOf("bob"), ...passwordOf("sha") } },
    });
    const answer = await basicAuth.phases(withConfigDefaults("basic-auth", config), fakeContext()).access?.(exchange);
    return [answer?.status, exchange.consumer?.username, exchange.credential?.consumer];
  }

  test("both are admitted, and a name in the file is compared only with the file", async () => {
    assert.deepEqual(await send("bob:secret", { htpasswd }), [undefined, "bob", { id: consumer.id }]);
    assert.deepEqual(await send("sha:secret", { htpasswd }), [401, undefined, undefined]);
    assert.deepEqual(await send(`sha:${PASSWORD}`, { htpasswd }), [undefined, undefined, null]);
    assert.deepEqual(await send("bob:secret", { htpasswd, htpasswd_only: true }), [401, undefined, undefined]);
  });
});

const loginOf = (name: string, password: string) =>
  fakeExchange({ headers: { authorization: basic(`${name}:${password}`) } });

test("a password is hashed once for each user, in another thread, even if the user does not exist", async () => {
  const { access } = basicAuth.phases(
    withConfigDefaults("basic-auth", { htpasswd: `bob:${hashes.bcrypt2y}`, htpasswd_only: true }),
    fakeContext(),
  );
  for (const [name, status] of [
    ["bob", undefined],
    ["nobody", 401],
  ] as const) {
    const first = access?.(loginOf(name, PASSWORD));
    assert.ok(first instanceof Promise, `the first request of ${name} waits for the hash`);
    assert.equal((await first)?.status, status);
    const second = access?.(loginOf(name, PASSWORD));
    assert.ok(!(second instanceof Promise), `the second request of ${name} is decided at once`);
    assert.equal(second?.status, status);
  }
});

test("the event loop runs on while passwords are hashed", async () => {
  // 500,000 rounds take longer than a second; the hash matches no password.
  const slow = `$6$rounds=500000$salt$${"a".repeat(86)}`;
  const { access } = basicAuth.phases(withConfigDefaults("basic-auth", { htpasswd: `bob:${slow}` }), fakeContext());
  let turns = 0;
  const timer = setInterval(() => turns++, 5);
  assert.equal((await access?.(loginOf("bob", "x")))?.status, 401);
  clearInterval(timer);
  assert.ok(turns >= 10, `${turns} turns`);
});

test("503 is the answer while too many passwords of one name, or from one address, wait to be hashed", async () => {
  const config = withConfigDefaults("basic-auth", { htpasswd: `bob:${hashes.bcrypt2b}` });
  const { access } = basicAuth.phases(config, fakeContext());
  const statusesOf = async (logins: readonly (readonly [string, string])[]) => {
    const answers = await Promise.all(logins.map(([name, password]) => access?.(loginOf(name, password))));
    const statuses = answers.map((answer) => answer?.status);
    return [401, 503].map((status) => statuses.filter((each) => each === status).length);
  };
  for (const name of ["bob", "nobody"]) {
    const guesses = Array.from({ length: 10 }, (_, at) => [name, `guess-${at}`] as const);
    assert.deepEqual(await statusesOf(guesses), [4, 6], name);
  }
  const names = Array.from({ length: 70 }, (_, at) => [`name-${at}`, "guess"] as const);
  assert.deepEqual(await statusesOf(names), [64, 6]);
  assert.equal(await access?.(loginOf("bob", PASSWORD)), undefined);
});

describe("the config of htpasswd", () => {
  const supported = "$apr1$, $1$, $2a$, $2b$, $2y$ (up to cost 14), $5$, $6$ (up to 500,000 rounds), {SHA} and {SSHA}";
  const unusable = (names: string) =>
    `htpasswd: no user can log in, because the hashes of ${names} are not supported. Supported are ${supported}`;
  const many = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`u${at}`, "x"]));
  for (const [what, config, ...violations] of [
    [
      "without a user",
      { htpasswd: "# nothing\n" },
      "htpasswd: contains no user: each line must have a user name, a colon and a hash",
    ],
    [
      "without a usable hash",
      { htpasswd: linesOf(unsupported).join("\n") },
      unusable("des, plain, plainbrace, costly, rounds, empty"),
    ],
    [
      "with many unusable hashes",
      { htpasswd: linesOf(many).join("\n") },
      unusable("u0, u1, u2, u3, u4, u5, u6, u7, u8, u9 and 2 others"),
    ],
    ["with htpasswd_only alone", { htpasswd_only: true }, "htpasswd_only: needs htpasswd"],
    ["with one usable hash", { htpasswd }],
    ["with a reference to a vault", { htpasswd: "{vault://env/HTPASSWD}" }],
  ] as const) {
    test(`${violations.length === 0 ? "is accepted" : "is refused"} ${what}`, () => {
      assert.deepEqual(configViolations("basic-auth", config), violations);
    });
  }

  test("is secret", () => assert.deepEqual(secretPathsOf("basic-auth"), [["htpasswd"]]));
});
