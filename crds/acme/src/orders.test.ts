import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { waitFor } from "../../../tools/process/index.ts";
import { machineClock } from "./machine-clock.ts";
import { renewalInfoId } from "./renewal.ts";
import { startTestCa, type TestCa } from "./testing-ca.ts";
import { acmeOf, MemoryStorage, OrderClock, startOrders } from "./testing-orders.ts";

const DAY = 24 * 3_600_000;
const until = (probe: () => boolean) => waitFor(probe, { what: "the state that the test expects" });
const count = (list: readonly string[], path: string): number => list.filter((each) => each === path).length;

test("a certificate is ordered for the names of its SNIs, and its challenges are published only while they are needed", async (test) => {
  const ca = await startTestCa(test);
  const { storage, statuses, follow } = startOrders(test, ca);
  follow({ snis: ["b.example", "A.example"] });
  await until(() => statuses.at(-1)?.state === "valid");
  const { cert = "", key = "" } = storage.pairs.get("one") ?? {};
  const leaf = new X509Certificate(cert);
  assert.equal(leaf.subjectAltName, "DNS:a.example, DNS:b.example");
  assert.match(key, /BEGIN PRIVATE KEY/);
  const [published, ...rest] = storage.published;
  assert.deepEqual(
    published?.map(({ type, domain }) => [type, domain]),
    [
      ["http-01", "a.example"],
      ["http-01", "b.example"],
    ],
  );
  assert.deepEqual(rest, [[]]);
  assert.equal(storage.states.get("one")?.order, null, "the state no longer has the key");
});

test("tls-alpn-01 publishes a certificate that contains the hash of the key authorization", async (test) => {
  const ca = await startTestCa(test);
  const { storage, statuses, follow } = startOrders(test, ca);
  follow({ acme: acmeOf({ challenge: "tls-alpn-01", key_type: "rsa" }) });
  await until(() => statuses.at(-1)?.state === "valid");
  const [challenge] = storage.published[0] ?? [];
  assert.ok(challenge?.type === "tls-alpn-01");
  const shown = new X509Certificate(challenge.cert);
  assert.equal(shown.subjectAltName, "DNS:shop.example");
  // id-pe-acmeIdentifier, RFC 8737 section 3, with its OCTET STRING of 32 bytes.
  assert.ok(shown.raw.includes(Buffer.from("06082b06010505070" + "11f", "hex")), "acmeIdentifier");
  assert.equal(new X509Certificate(storage.pairs.get("one")?.cert ?? "").publicKey.asymmetricKeyType, "rsa");
});

test("the account is registered once, also for later orders and processes", async (test) => {
  const ca = await startTestCa(test);
  const storage = new MemoryStorage();
  const first = startOrders(test, ca, { storage, email: "a@example.com" });
  first.follow();
  await until(() => first.statuses.at(-1)?.state === "valid");
  await first.close();
  const key = storage.accounts.get(ca.directory)?.key;
  const second = startOrders(test, ca, { storage });
  second.follow({ id: "two", snis: ["two.example"] });
  await until(() => storage.pairs.has("two"));
  assert.equal(count(ca.requests, "new-account"), 1);
  assert.equal(storage.accounts.get(ca.directory)?.key, key);
});

test("a CA that has lost the account registers it again", async (test) => {
  const ca = await startTestCa(test);
  const { storage, statuses, follow } = startOrders(test, ca);
  ca.faults.push({
    path: "new-order",
    status: 400,
    problem: { type: "urn:ietf:params:acme:error:accountDoesNotExist", detail: "unknown account" },
  });
  follow();
  await until(() => storage.pairs.has("one"));
  assert.equal(count(ca.requests, "new-account"), 2);
  assert.equal(statuses.at(-1)?.failures, 0);
});

test("without renewal information, a certificate is renewed after two thirds of its life, by an order of its own", async (test) => {
  const ca = await startTestCa(test);
  const { clock, statuses, follow } = startOrders(test, ca);
  follow();
  await until(() => statuses.at(-1)?.state === "valid");
  assert.equal(statuses.at(-1)?.renew_at, new Date(clock.now() + 60 * DAY).toISOString().replace(/\.\d+Z/, ".000Z"));
  clock.advance(59 * DAY);
  clock.advance(DAY + 60_000);
  await until(() => ca.issued.length === 2);
  await until(() => statuses.at(-1)?.state === "valid");
  assert.equal(ca.orders.length, 2);
});

test("the CA's window of renewal decides when a certificate is renewed, and the new order names the old certificate", async (test) => {
  const ca = await startTestCa(test);
  const clock = new OrderClock();
  const at = (days: number) => new Date(clock.now() + days * DAY).toISOString();
  ca.renewalWindow = { start: at(10), end: at(20) };
  const { statuses, follow, storage } = startOrders(test, ca, { clock, random: () => 0.5 });
  follow();
  await until(() => statuses.at(-1)?.state === "valid");
  assert.equal(statuses.at(-1)?.renew_at?.slice(0, 10), at(15).slice(0, 10));
  const first = storage.pairs.get("one")?.cert ?? "";
  // The CA will revoke the certificate: it moves the window into the past.
  ca.renewalWindow = { start: at(-2), end: at(-1) };
  clock.advance(3_700_000);
  await until(() => ca.issued.length === 2);
  assert.equal(ca.orders[1]?.replaces, renewalInfoId(first));
});

test("a failed order shows the CA's text, and is tried again after growing pauses that survive a restart", async (test) => {
  const ca = await startTestCa(test);
  ca.validationProblem = { type: "urn:ietf:params:acme:error:connection", detail: "127.0.0.1: connection refused" };
  const [storage, clock] = [new MemoryStorage(), new OrderClock()];
  const first = startOrders(test, ca, { storage, clock });
  first.follow();
  await until(() => first.statuses.at(-1)?.state === "waiting");
  assert.deepEqual(first.statuses.at(-1)?.error, {
    type: "connection",
    detail: "the CA could not validate shop.example: 127.0.0.1: connection refused",
  });
  await first.close();
  const second = startOrders(test, ca, { storage, clock });
  second.follow();
  await until(() => second.statuses.at(-1)?.state === "waiting");
  assert.equal(ca.orders.length, 1, "the pause of the first process still applies");
  clock.advance(2 * 60_000 + 1);
  await until(() => second.statuses.at(-1)?.failures === 2);
  clock.advance(2 * 60_000 + 1);
  await until(() => second.statuses.at(-1)?.state === "waiting");
  assert.equal(ca.orders.length, 2, "the second pause is longer");
  ca.validationProblem = null;
  clock.advance(2 * 60_000 + 1);
  await until(() => second.statuses.at(-1)?.state === "valid");
  assert.equal(second.statuses.at(-1)?.failures, 0);
});

test("a rate limit of the CA is respected, and a changed configuration is tried at once", async (test) => {
  const ca = await startTestCa(test);
  const { statuses, clock, follow, storage } = startOrders(test, ca);
  const problem = { type: "urn:ietf:params:acme:error:rateLimited", detail: "too many certificates" };
  ca.faults.push({ path: "new-order", status: 429, problem, headers: { "retry-after": "86400" } });
  follow();
  await until(() => statuses.at(-1)?.state === "waiting");
  const { next_attempt, error } = statuses.at(-1) ?? {};
  assert.deepEqual(error, { type: "rateLimited", detail: "too many certificates" });
  assert.ok(Date.parse(next_attempt ?? "") >= clock.now() + DAY - 1000);
  follow({ snis: ["other.example"] });
  await until(() => storage.pairs.has("one"));
});

test("an order that was interrupted is continued by the next process: no second order is placed", async (test) => {
  const ca = await startTestCa(test);
  const [storage, clock] = [new MemoryStorage(), new OrderClock()];
  const first = startOrders(test, ca, { storage, clock });
  const { promise, resolve } = Promise.withResolvers<void>();
  storage.onWrite = (method) => {
    if (method !== "publishChallenges") return;
    resolve();
    throw new Error("killed");
  };
  first.follow();
  await promise;
  await first.close();
  storage.onWrite = () => {};
  const state = storage.states.get("one");
  assert.ok(state?.order, "the order is stored before its next step");
  storage.states.set("one", { ...state, failures: 0, nextAttempt: null });
  const second = startOrders(test, ca, { storage, clock });
  second.follow();
  await until(() => storage.pairs.has("one"));
  assert.equal(ca.orders.length, 1);
  assert.equal(storage.pairs.get("one")?.key, state.order.key);
});

test("a storage that fails ends the attempt without counting as a failure of the CA", async (test) => {
  const ca = await startTestCa(test);
  const { storage, statuses, log, follow } = startOrders(test, ca);
  let failed = 0;
  storage.onWrite = (method) => {
    if (method === "putCertificate" && failed++ === 0) throw new Error("conflict");
  };
  follow();
  await until(() => storage.pairs.has("one"));
  assert.deepEqual(log.slice(0, 1), ["the state of a certificate cannot be stored; trying again"]);
  assert.equal(ca.orders.length, 1, "the order was continued");
  await until(() => statuses.at(-1)?.state === "valid");
  assert.equal(statuses.at(-1)?.failures, 0);
});

const refused: readonly (readonly [
  what: string,
  members: Parameters<ReturnType<typeof startOrders>["follow"]>[0],
  text: RegExp,
])[] = [
  ["an SNI with a wildcard", { snis: ["*.shop.example"] }, /wildcard name \*\.shop\.example by the challenge dns-01/],
  ["no names", { snis: [] }, /no name to order: add an SNI/],
  [
    "a directory that the settings do not name",
    { acme: acmeOf({ directory: "https://other.example/" }) },
    /not one of SLUICE_ACME_DIRECTORIES/,
  ],
];
for (const [what, members, text] of refused) {
  test(`a certificate with ${what} is refused without asking the CA`, async (test) => {
    const ca = await startTestCa(test);
    const { statuses, follow } = startOrders(test, ca);
    follow(members);
    await until(() => statuses.at(-1)?.state === "refused");
    assert.match(statuses.at(-1)?.error?.detail ?? "", text);
    assert.deepEqual(ca.requests, []);
  });
}

test("a certificate that covers its names is not ordered, whatever its origin", async (test) => {
  const ca = await startTestCa(test);
  const first = startOrders(test, ca);
  first.follow();
  await until(() => first.storage.pairs.has("one"));
  const second = startOrders(test, ca);
  second.follow({ cert: first.storage.pairs.get("one")?.cert ?? "" });
  await until(() => second.statuses.at(-1)?.state === "valid");
  assert.equal(ca.orders.length, 1);
});

test("a change that arrives while the certificate is looked at is not missed", async (test) => {
  const ca = await startTestCa(test);
  const { storage, statuses, follow } = startOrders(test, ca, { clock: machineClock });
  follow();
  await until(() => statuses.at(-1)?.state === "valid");
  storage.onRead = () => {
    storage.onRead = () => {};
    follow({ snis: ["second.example"] });
  };
  follow({ name: "renamed" });
  await until(() => ca.issued.length === 2);
});

test("a directory whose certificate is not trusted is not used", async (test) => {
  const ca = await startTestCa(test);
  const { statuses, follow } = startOrders(test, ca, { ca: null });
  follow();
  await until(() => statuses.at(-1)?.state === "waiting");
  assert.match(statuses.at(-1)?.error?.detail ?? "", /no response from 127\.0\.0\.1:\d+: .*(certificate|self-signed)/);
  assert.deepEqual(ca.requests, []);
});

const unusable: readonly (readonly [what: string, change: (ca: TestCa) => void, text: RegExp])[] = [
  [
    "no certificate",
    (ca) => {
      ca.sentChain = () => "<html>maintenance</html>";
    },
    /cannot be used: .*invalid certificate: expected certificates in PEM/,
  ],
  [
    "the certificate of another key",
    (ca) => {
      ca.sentChain = () => ca.issued[0] ?? "";
    },
    /cannot be used: certificate does not match key/,
  ],
  [
    "a certificate without one of the names",
    (ca) => {
      ca.namesOf = ([name = ""]) => [name];
    },
    /cannot be used: it does not cover b\.example \(it covers a\.example\)/,
  ],
  [
    "an expired certificate",
    (ca) => {
      ca.validity = -1000;
      const { now } = ca;
      ca.now = () => now() - DAY;
    },
    /cannot be used: it expired at 2025-.*, and the clock of this machine is at 2026-/,
  ],
];
for (const [what, change, text] of unusable) {
  test(`if the CA sends ${what}, nothing is stored, and no other order is placed until the next attempt`, async (test) => {
    const ca = await startTestCa(test);
    const { storage, statuses, follow } = startOrders(test, ca);
    follow();
    await until(() => statuses.at(-1)?.state === "valid");
    const before = storage.pairs.get("one");
    change(ca);
    follow({ snis: ["a.example", "b.example"] });
    await until(() => statuses.at(-1)?.state === "waiting");
    assert.match(statuses.at(-1)?.error?.detail ?? "", text);
    assert.equal(storage.pairs.get("one"), before);
    assert.equal(ca.orders.length, 2);
  });
}

test("certificates that the CA wants to be renewed at once are ordered after growing pauses", async (test) => {
  const ca = await startTestCa(test);
  const clock = new OrderClock();
  ca.renewalWindow = { start: new Date(clock.now() - DAY).toISOString(), end: new Date(clock.now()).toISOString() };
  const { statuses, follow } = startOrders(test, ca, { clock });
  follow();
  const isWaiting = (issued: number) =>
    until(() => ca.issued.length === issued && statuses.at(-1)?.state === "waiting");
  await isWaiting(2);
  assert.match(statuses.at(-1)?.error?.detail ?? "", /one soon after the other/);
  clock.advance(61_000);
  await isWaiting(3);
  const next = Date.parse(statuses.at(-1)?.next_attempt ?? "");
  assert.equal(Math.round((next - clock.now()) / 60_000), 8);
});

test("a stored certificate that is not served is ordered again after growing pauses", async (test) => {
  const ca = await startTestCa(test);
  const { storage, clock, statuses, follow } = startOrders(test, ca);
  storage.onPair = () => {};
  follow();
  for (const pause of [0, 60_000, 480_000]) {
    await until(() => storage.states.get("one")?.issued?.pause === pause);
    clock.advance(61_000);
  }
  await until(() => statuses.at(-1)?.state === "waiting");
  assert.equal(ca.issued.length, 3);
});

test("without a storage that can be written, no order is placed", async (test) => {
  const ca = await startTestCa(test);
  const { storage, log, follow } = startOrders(test, ca);
  storage.onWrite = (method) => {
    if (method === "putState") throw new Error("no space left");
  };
  follow();
  await until(() => log.length === 3);
  assert.deepEqual(ca.orders, []);
  storage.onWrite = () => {};
  follow({ name: "renamed" });
  await until(() => storage.pairs.has("one"));
});

test("a next attempt that a wrong clock has put far into the future is not waited for", async (test) => {
  const ca = await startTestCa(test);
  const [storage, clock] = [new MemoryStorage(), new OrderClock()];
  ca.faults.push({ path: "new-order", status: 500 });
  const first = startOrders(test, ca, { storage, clock });
  first.follow();
  await until(() => first.statuses.at(-1)?.state === "waiting");
  await first.close();
  const state = storage.states.get("one");
  assert.ok(state);
  storage.states.set("one", { ...state, nextAttempt: clock.now() + 400 * DAY });
  startOrders(test, ca, { storage, clock }).follow();
  await until(() => storage.pairs.has("one"));
});

test("a CA that does not answer does not delay the end of the process", async (test) => {
  const ca = await startTestCa(test);
  ca.silentPath = "new-order";
  const { follow, close } = startOrders(test, ca);
  follow();
  await until(() => ca.requests.includes("new-order"));
  const begin = performance.now();
  await close();
  assert.ok(performance.now() - begin < 10_000, "requests are aborted before they time out");
});
