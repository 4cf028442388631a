import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fakeContext, fakeExchange } from "../../../test/plugins/fake-exchange.ts";
import { configViolations } from "../../../test/plugins/filled-configs.ts";
import { ipRestriction } from "./index.ts";
import type { IpRestrictionConfig } from "./schema.ts";

const unset: IpRestrictionConfig = { allow: null, deny: null, status: null, message: null };

const instance = (config: Partial<IpRestrictionConfig>) => ipRestriction.phases({ ...unset, ...config }, fakeContext());

const send = (config: Partial<IpRestrictionConfig>, clientAddress: string) =>
  instance(config).access?.(fakeExchange({ clientAddress }));

type Row = readonly [what: string, config: Partial<IpRestrictionConfig>, address: string];

const accepted: readonly Row[] = [
  ["an address that is not denied", { deny: ["127.0.0.2"] }, "127.0.0.1"],
  ["an allowed address", { allow: ["127.0.0.1"] }, "127.0.0.1"],
  ["one of several allowed addresses", { allow: ["127.0.0.4", "127.0.0.1"] }, "127.0.0.1"],
  ["every IPv4 address with 0.0.0.0/0", { allow: ["0.0.0.0/0"] }, "203.0.113.7"],
  ["an address of an allowed block", { allow: ["10.0.0.0/8"] }, "10.255.255.255"],
  ["an address of a block whose entry has host bits", { allow: ["10.1.2.3/8"] }, "10.9.9.9"],
  ["an allowed address outside a denied block", { allow: ["10.0.0.0/8"], deny: ["10.1.0.0/16"] }, "10.2.0.1"],
  ["every address if one list is empty and the other is unset", { allow: [], deny: null }, "10.2.0.1"],
  ["an allowed IPv6 address", { allow: ["::1"] }, "::1"],
  ["an IPv6 address that is not denied", { deny: ["::2"] }, "::1"],
  ["an allowed IPv6 address that the entry spells differently", { allow: ["2001:DB8:0:0::1"] }, "2001:db8::1"],
  ["every IPv6 address with ::/0", { allow: ["::/0"] }, "2001:db8::1"],
  ["an IPv4 address although IPv6 addresses are denied", { deny: ["fe80::/8"] }, "127.0.0.1"],
];

const refused: readonly Row[] = [
  ["a denied address", { deny: ["127.0.0.1", "127.0.0.2"] }, "127.0.0.1"],
  ["an address of a denied block", { deny: ["127.0.0.0/24"] }, "127.0.0.1"],
  ["an address that is not allowed", { allow: ["127.0.0.2"] }, "127.0.0.1"],
  ["an address just outside an allowed block", { allow: ["10.0.0.0/9"] }, "10.128.0.0"],
  ["an address that is allowed and denied", { allow: ["127.0.0.1"], deny: ["127.0.0.1"] }, "127.0.0.1"],
  ["a denied address of an allowed block", { allow: ["127.0.0.0/24"], deny: ["127.0.0.1"] }, "127.0.0.1"],
  ["an address of a block that is allowed and denied", { allow: ["10.0.0.0/8"], deny: ["10.0.0.0/8"] }, "10.0.0.1"],
  ["an IPv4 address if only IPv6 addresses are allowed", { allow: ["2001:db8::/32"] }, "127.0.0.1"],
  ["an IPv6 address if all IPv4 addresses are allowed", { allow: ["0.0.0.0/0"] }, "2001:db8::1"],
  ["a denied IPv6 address", { deny: ["::1", "::2"] }, "::1"],
  ["an address of a denied IPv6 block", { deny: ["fe80::/8"] }, "fe80::1"],
  ["an IPv6 address that is not allowed", { allow: ["::2"] }, "::1"],
  ["a denied address of an allowed IPv6 block", { allow: ["::1/128"], deny: ["::1"] }, "::1"],
];

describe("ip-restriction", () => {
  for (const [what, config, address] of accepted) {
    it(`accepts ${what}: ${JSON.stringify(config)}`, () => {
      assert.equal(send(config, address), undefined);
    });
  }

  for (const [what, config, address] of refused) {
    it(`refuses ${what}: ${JSON.stringify(config)}`, () => {
      assert.deepEqual(send(config, address), { status: 403, message: `IP address not allowed: ${address}` });
    });
  }

  it("refuses with the configured status and message", () => {
    const config = { deny: ["127.0.0.0/24"], status: 401, message: "Forbidden" };
    assert.deepEqual(send(config, "127.0.0.1"), { status: 401, message: "Forbidden" });
  });

  it("refuses a client without an IP address with 403, regardless of status and message", () => {
    for (const address of ["", "unix:", "unknown"]) {
      assert.deepEqual(send({ deny: ["192.0.2.9"], status: 401, message: "Forbidden" }, address), {
        status: 403,
        message: "Cannot identify the client IP address, unix domain sockets are not supported.",
      });
    }
  });

  it("decides about each client separately, even if requests of different clients alternate", () => {
    const { access } = instance({ deny: ["127.0.0.2"] });
    for (const last of [1, 2, 3, 2, 1]) {
      const answer = access?.(fakeExchange({ clientAddress: `127.0.0.${last}` }));
      assert.equal(answer === undefined, last !== 2);
    }
  });
});

const messagesOf = (config: object) => configViolations("ip-restriction", config);

const invalid = (entry: string) => `invalid ip or cidr range: '${entry}'`;

describe("the config of ip-restriction", () => {
  for (const config of [
    { allow: ["127.0.0.1/32", "127.0.0.2/32"] },
    { allow: ["127.0.0.1/8"], status: 403, message: "Forbidden" },
    { deny: ["::/0", "::/1", "::/128"] },
    { allow: ["127.0.0.1/32"], deny: ["127.0.0.2/32"] },
    { allow: [], deny: ["192.0.2.1"] },
  ]) {
    it(`may be ${JSON.stringify(config)}`, () => {
      assert.deepEqual(messagesOf(config), []);
    });
  }

  const empty = "@entity: at least one of these fields must be non-empty: 'config.allow', 'config.deny'";
  for (const [config, messages] of [
    [{ allow: [], deny: [] }, [empty]],
    [{}, [empty]],
    [{ allow: 12 }, ["allow: expected an array"]],
    [{ allow: ["127.0.0.1/32", "hello"] }, [`allow.1: ${invalid("hello")}`]],
    [{ deny: ["0.0.0.0/33", "::1/129"] }, [`deny.0: ${invalid("0.0.0.0/33")}`, `deny.1: ${invalid("::1/129")}`]],
    [{ deny: ["::1"], status: 99 }, ["status: value should be between 200 and 599"]],
  ] as const) {
    it(`must not be ${JSON.stringify(config)}`, () => {
      assert.deepEqual(messagesOf(config), messages);
    });
  }
});
