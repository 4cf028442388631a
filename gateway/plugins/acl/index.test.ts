import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type FakeExchangeOptions,
  fakeConsumer,
  fakeContext,
  fakeCredential,
  fakeExchange,
} from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { acl } from "./index.ts";

const consumer = fakeConsumer();
const credential = fakeCredential(consumer);
const groups = { [consumer.id]: ["users", "admins"] };
const known = { consumer, credential, groups };

async function send(config: object, options: FakeExchangeOptions) {
  const exchange = fakeExchange(options);
  return { exchange, answer: await acl.phases(withConfigDefaults("acl", config), fakeContext()).access?.(exchange) };
}

const FORBIDDEN = [403, "You cannot consume this service"];
const UNAUTHORIZED = [401, "Unauthorized"];

type Row = readonly [
  what: string,
  config: object,
  options: FakeExchangeOptions,
  expected: readonly unknown[] | Readonly<Record<string, string>>,
];

const rows: readonly Row[] = [
  ["a consumer in an allowed group", { allow: ["admins"] }, known, { "x-consumer-groups": "users, admins" }],
  [
    "a consumer in one of several allowed groups",
    { allow: ["x", "users"] },
    known,
    { "x-consumer-groups": "users, admins" },
  ],
  ["a consumer in none of the allowed groups", { allow: ["staff"] }, known, FORBIDDEN],
  ["a consumer without groups, with `allow`", { allow: ["users"] }, { consumer, credential }, FORBIDDEN],
  ["an anonymous consumer without groups, with `allow`", { allow: ["users"] }, { consumer }, UNAUTHORIZED],
  [
    "an anonymous consumer in an allowed group",
    { allow: ["users"] },
    { consumer, groups },
    { "x-consumer-groups": "users, admins" },
  ],
  ["a request without a consumer, with `allow`", { allow: ["users"] }, {}, UNAUTHORIZED],
  ["a request whose credential belongs to no consumer", { allow: ["users"] }, { credential }, FORBIDDEN],
  ["a consumer in a denied group", { deny: ["admins"] }, known, FORBIDDEN],
  ["a consumer in no denied group", { deny: ["staff"] }, known, { "x-consumer-groups": "users, admins" }],
  [
    "a consumer without groups, with `deny`",
    { deny: ["staff"] },
    { consumer, credential },
    { "x-consumer-groups": "" },
  ],
  ["a request without a consumer, with `deny`", { deny: ["staff"] }, {}, UNAUTHORIZED],
  ["an anonymous consumer without groups, with `deny`", { deny: ["staff"] }, { consumer }, { "x-consumer-groups": "" }],
  ["an anonymous consumer in a denied group", { deny: ["admins"] }, { consumer, groups }, FORBIDDEN],
  [
    "a request for which a plugin found a denied group",
    { deny: ["ldap"] },
    { authenticatedGroups: ["ldap"] },
    FORBIDDEN,
  ],
  [
    "a request for which a plugin found groups that are not denied",
    { deny: ["ldap"] },
    { authenticatedGroups: ["b"] },
    { "x-authenticated-groups": "b" },
  ],
  [
    "a request for which a plugin found groups that are not denied, and sends no groups with hide_groups_header",
    { deny: ["ldap"], hide_groups_header: true },
    { authenticatedGroups: ["b"] },
    {},
  ],
  [
    "a request for which a plugin found no groups, with `allow`",
    { allow: ["ldap"] },
    { authenticatedGroups: [] },
    FORBIDDEN,
  ],
  ["a consumer in a group whose name differs in case from the allowed one", { allow: ["Admins"] }, known, FORBIDDEN],
  [
    "a consumer in a group with characters above ASCII in its name",
    { allow: ["größe"] },
    { consumer, credential, groups: { [consumer.id]: ["größe"] } },
    { "x-consumer-groups": Buffer.from("größe").toString("latin1") },
  ],
  [
    "a request without a consumer for which a plugin found an allowed group",
    { allow: ["ldap"] },
    { authenticatedGroups: ["ldap", "b"] },
    { "x-authenticated-groups": "ldap, b" },
  ],
  [
    "a request for which a plugin found only groups that are not allowed",
    { allow: ["x"] },
    { authenticatedGroups: ["ldap"] },
    FORBIDDEN,
  ],
  [
    "an anonymous consumer for which a plugin found an allowed group",
    { allow: ["ldap"] },
    { consumer, groups, authenticatedGroups: ["ldap"] },
    { "x-authenticated-groups": "ldap" },
  ],
  [
    "a consumer by its own groups rather than those that a plugin found",
    { allow: ["users"] },
    { ...known, authenticatedGroups: ["ldap"] },
    { "x-consumer-groups": "users, admins" },
  ],
  [
    "a consumer by the groups that a plugin found, with always_use_authenticated_groups",
    { allow: ["ldap"], always_use_authenticated_groups: true },
    { ...known, authenticatedGroups: ["ldap"] },
    { "x-authenticated-groups": "ldap" },
  ],
  [
    "a consumer by its own groups if no plugin found any, with always_use_authenticated_groups",
    { allow: ["users"], always_use_authenticated_groups: true },
    known,
    { "x-consumer-groups": "users, admins" },
  ],
  [
    "a consumer in an allowed group, and sends no groups with hide_groups_header",
    { allow: ["users"], hide_groups_header: true },
    known,
    {},
  ],
];

describe("acl", () => {
  for (const [what, config, options, expected] of rows) {
    it(`${Array.isArray(expected) ? `answers ${expected[0]} to` : "accepts"} ${what}`, async () => {
      const { exchange, answer } = await send(config, options);
      if (Array.isArray(expected)) assert.deepEqual([answer?.status, answer?.message], expected);
      else assert.deepEqual([answer, exchange.upstreamHeaders.all()], [undefined, expected]);
    });
  }

  const reasons = [
    [{ allow: ["staff"] }, known, "the consumer is in the groups users, admins; the plugin allows staff"],
    [{ allow: ["a", "b"] }, { consumer, credential }, "the consumer is in no group; the plugin allows a, b"],
    [{ deny: ["admins"] }, known, "the consumer is in the groups users, admins; the plugin denies admins"],
  ] as const;
  for (const [config, options, reason] of reasons)
    it(`logs, but does not tell the client, that ${reason}`, async () => {
      const { answer } = await send(config, options);
      assert.deepEqual(answer, { status: 403, message: "You cannot consume this service", reason });
    });

  it("decides again when the consumer's groups have changed", async () => {
    const { access } = acl.phases(withConfigDefaults("acl", { allow: ["users"] }), fakeContext());
    const asked = (list: readonly string[]) =>
      access?.(fakeExchange({ consumer, credential, groups: { [consumer.id]: list } }));
    assert.equal(await asked(["users"]), undefined);
    assert.partialDeepStrictEqual(await asked(["staff"]), { status: 403 });
  });

  for (const [config, expected] of [
    [{}, ["exactly one", "at least one"]],
    [{ allow: ["a"], deny: ["b"] }, ["exactly one"]],
    [{ allow: [], deny: ["b"] }, []],
  ] as const) {
    it(`reports ${expected.length} violations of the config ${JSON.stringify(config)}`, () => {
      const list = "of these fields must be non-empty: 'config.allow', 'config.deny'";
      assert.deepEqual(
        configViolations("acl", config),
        expected.map((count) => `@entity: ${count} ${list}`),
      );
    });
  }
});
