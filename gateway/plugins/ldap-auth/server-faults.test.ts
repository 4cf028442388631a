/** ldap-auth with LDAP servers that fail, and the requests that they receive. */
import assert from "node:assert/strict";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { fakeConsumer, fakeContext, fakeExchange } from "../../../test/plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { ldapAuth } from "./index.ts";

/** The response to a bind with this id, in hexadecimal digits. */
const bound = (id: number, code = "00") => `300c0201${id.toString(16).padStart(2, "0")}61070a01${code}04000400`;

/** The response to StartTLS. */
const startTls = "300c02010178070a010004000400";

/** A server whose response to the nth request is `answer(n)`, in hexadecimal digits; empty: it does not respond. */
async function startStub(test: TestContext, answer: (count: number, socket: Socket) => string) {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    sockets.add(socket.on("error", () => {}));
    socket.on("data", (bytes) => {
      requests.push(bytes.toString("hex"));
      const reply = answer(requests.length, socket);
      if (reply !== "") socket.write(Buffer.from(reply, "hex"));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  test.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, requests, connections: () => connections };
}

function start(test: TestContext, port: number, config: object = {}) {
  let now = 1_700_000_000_000;
  const context = fakeContext({ now: () => now });
  test.after(() => context.end());
  const members = { ldap_host: "127.0.0.1", ldap_port: port, base_dn: "dc=test", attribute: "cn", timeout: 5000 };
  const { access } = ldapAuth.phases(withConfigDefaults("ldap-auth", { ...members, ...config }), context);
  return {
    send(user = "bob", password = "pw") {
      const authorization = `ldap ${Buffer.from(`${user}:${password}`).toString("base64")}`;
      return access?.(fakeExchange({ headers: { authorization }, consumers: [fakeConsumer({ username: "guest" })] }));
    },
    advance(seconds: number) {
      now += seconds * 1000;
    },
  };
}

test("a login is sent as a simple bind of version 3, with special characters of the user name escaped", async (test) => {
  const { port, requests } = await startStub(test, () => bound(1));
  await start(test, port).send("b,ü", "pw");
  const [version, name, password] = ["020103", "cn=b\\2c\\c3\\bc,dc=test", "pw"];
  const hex = (text: string) => Buffer.from(text).toString("hex");
  assert.deepEqual(requests, [`3023020101601e${version}0415${hex(name)}8002${hex(password)}`]);
});

for (const [what, reply, reason, config = {}] of [
  ["sends text instead of an LDAP message", "485454502f312e31", /it is not an LDAP message/],
  ["sends a response without a result code", "30050201016100", /the message is incomplete/],
  ["sends the response to another kind of request", startTls, /instead of 61/],
  ["sends the response to another request", bound(2), /it is not the response to the request/],
  ["announces a message of 2 GB", "30847fffffff", /too long/],
  ["announces a length that is encoded in 16 bytes", "3090", /length of an element is invalid/],
  ["sends an indefinite length", "3080", /length of an element is invalid/],
  ["sends an element that is longer than its message", "300c02010161070a010004050400", /the message is incomplete/],
  ["sends an empty result code", "300b02010161060a0004000400", /result code is invalid/],
  ["sends a message after the response", `${bound(1)}${bound(2)}`, /more than one message/],
  ["sends clear text after the response to StartTLS", `${startTls}16`, /more than one message/, { start_tls: true }],
  ["refuses StartTLS", "300c02010178070a013404000400", /refused StartTLS with the code 52/, { start_tls: true }],
  ["is silent", "", /no answer within 100 ms/, { timeout: 100 }],
  ["stops in the middle of its response", bound(1).slice(0, 12), /no answer within 100 ms/, { timeout: 100 }],
  ["is silent in the TLS handshake", "", /no answer within 100 ms/, { timeout: 100, ldaps: true }],
  ["is silent after StartTLS", startTls, /no answer within 100 ms/, { timeout: 100, start_tls: true }],
] as const) {
  test(`the response is 500, even with an anonymous consumer, if the LDAP server ${what}`, async (test) => {
    const { port } = await startStub(test, (count) => (count === 1 ? reply : ""));
    const answer = await start(test, port, { ...config, anonymous: "guest" }).send();
    assert.equal(answer?.status, 500);
    assert.match(answer?.reason ?? "", reason);
  });
}

test("a login fails after the timeout if the LDAP server sends its response too slowly", async (test) => {
  const { port } = await startStub(test, (_count, socket) => {
    const timer = setInterval(() => socket.write("0"), 20);
    socket.on("close", () => clearInterval(timer));
    return "3050";
  });
  const answer = await start(test, port, { timeout: 200 }).send();
  assert.match(answer?.reason ?? "", /no answer within 200 ms/);
});

test("a login is not sent again if the LDAP server ends a new connection instead of answering", async (test) => {
  const { port, connections } = await startStub(test, (_count, socket) => {
    socket.end();
    return "";
  });
  assert.equal((await start(test, port).send())?.status, 500);
  assert.equal(connections(), 1);
});

for (const ending of ["end", "resetAndDestroy"] as const) {
  test(`a login is sent again if the server closes the reused connection instead of answering (${ending})`, async (test) => {
    const { port, connections } = await startStub(test, (count, socket) => {
      if (count !== 2) return bound(1);
      socket[ending]();
      return "";
    });
    const { send } = start(test, port, { cache_ttl: 0 });
    assert.equal(await send(), undefined);
    assert.equal(await send(), undefined);
    assert.equal(connections(), 2);
  });
}

test("an idle connection is used again, and closed after keepalive", async (test) => {
  const closed = Promise.withResolvers<void>();
  const { port, connections } = await startStub(test, (count, socket) => {
    socket.once("close", () => closed.resolve());
    return bound(count);
  });
  const { send } = start(test, port, { cache_ttl: 0, keepalive: 50 });
  await send();
  await send();
  assert.equal(connections(), 1);
  await closed.promise;
});

test("an idle connection on which the server sends bytes is not used again", async (test) => {
  const closed = Promise.withResolvers<void>();
  const { port, connections } = await startStub(test, (_count, socket) => {
    socket.once("close", () => closed.resolve());
    setImmediate(() => socket.write("notice"));
    return bound(1);
  });
  const { send } = start(test, port, { cache_ttl: 0 });
  await send();
  await closed.promise;
  await send();
  assert.equal(connections(), 2);
});

for (const [code, what, isRemembered] of [
  ["00", "a correct password", true],
  ["31", "a wrong password", true],
  ["33", "a busy server", false],
] as const) {
  test(`the result for ${what} is ${isRemembered ? "cached for cache_ttl" : "not cached"}`, async (test) => {
    const { port, requests } = await startStub(test, (count) => bound(count, code));
    const { send, advance } = start(test, port, { cache_ttl: 10 });
    const statuses = [];
    for (const seconds of [0, 9, 1]) {
      advance(seconds);
      statuses.push((await send())?.status, requests.length);
    }
    const status = code === "00" ? undefined : 401;
    assert.deepEqual(statuses, [status, 1, status, isRemembered ? 1 : 2, status, isRemembered ? 2 : 3]);
    await send("bob", "pw2");
    await send("bo", "bpw");
    assert.equal(requests.length, isRemembered ? 4 : 5);
  });
}

test("concurrent requests with the same login share a bind, and other logins use separate connections", async (test) => {
  const { port, requests, connections } = await startStub(test, () => bound(1));
  const { send } = start(test, port);
  await Promise.all([send(), send(), send("eve"), send()]);
  assert.deepEqual([requests.length, connections()], [2, 2]);
});

test("a login is refused with 500 at once while 256 others wait for the LDAP server", async (test) => {
  const release = Promise.withResolvers<void>();
  const { port } = await startStub(test, (_count, socket) => {
    release.promise.then(() => socket.write(Buffer.from(bound(1), "hex")));
    return "";
  });
  const { send } = start(test, port);
  const waiting = Array.from({ length: 256 }, (_, index) => send("bob", `guess-${index}`));
  const answer = await send("bob", "one more");
  assert.deepEqual([answer?.status, answer?.reason], [500, "ldap-auth: too many logins are under way"]);
  release.resolve();
  assert.deepEqual(new Set(await Promise.all(waiting)), new Set([undefined]));
});
