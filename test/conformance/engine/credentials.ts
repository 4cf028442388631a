/** Plugins that identify consumers, and acl, which admits consumers by their groups: real credentials and requests. */
import assert from "node:assert/strict";
import { createHmac, hash } from "node:crypto";
import type { RequestListener } from "node:http";
import { describe, it, type TestContext } from "node:test";
import { deriveId, loadText, type PluginConfigs, type PluginName } from "@sluice/model";
import { scryptPassword } from "../../../gateway/src/stores/passwords.ts";
import { fakeContext, pluginInstance } from "../../plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../plugins/filled-configs.ts";
import { sendRaw, sendRequest } from "./client.ts";
import { startHttp2 } from "./http2.ts";
import { grpcHeaders, message, requestHttp2 } from "./http2-client.ts";
import { type Engine, type RigOptions, startRig } from "./proxy-rig.ts";

const echo: RequestListener = (request, response) => {
  request.resume().on("end", () => response.end(JSON.stringify(request.headers)));
};

const PASSWORD = "open sesame";
const SECRET = "a secret of 32 letters and digits";
const ann = deriveId("consumers", "ann");

/** Ann has a credential with each stored form of the password, and is in the group users. */
const document = async () => `_format_version: "3.0"
consumers:
  - username: ann
    acls: [{ group: users }]
    jwt_secrets: [{ key: ann, secret: ${SECRET} }]
    hmacauth_credentials: [{ username: ann, secret: ${SECRET} }]
    basicauth_credentials:
      - { username: plain, password: ${PASSWORD} }
      - { username: scrypt, password: "${await scryptPassword(PASSWORD)}" }
      - { username: kong, password: "${hash("sha1", `${PASSWORD}${ann}`)}" }
`;

async function identities(): Promise<NonNullable<RigOptions["identities"]>> {
  const { value, violations } = loadText(await document());
  if (!value) throw new Error(JSON.stringify(violations));
  const { consumers, jwt_secrets, basicauth_credentials, hmacauth_credentials, acls } = value.snapshot;
  return { consumers, jwt_secrets, basicauth_credentials, hmacauth_credentials, acls };
}

const real = (configs: Partial<Record<PluginName, object>>): NonNullable<RigOptions["plugins"]> =>
  Object.fromEntries(
    Object.entries(configs).map(([name, config]) => [
      name,
      pluginInstance(
        name as PluginName,
        withConfigDefaults(name as PluginName, config) as PluginConfigs[PluginName],
        fakeContext({ now: Date.now }),
      ),
    ]),
  );

const start = async (test: TestContext, engine: Engine, configs: Partial<Record<PluginName, object>>) =>
  startRig(test, engine, { upstream: echo, identities: await identities(), plugins: real(configs) });

const basic = (username: string, password = PASSWORD) => `Basic ${btoa(`${username}:${password}`)}`;

function tokenOf(claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part({ iss: "ann", ...claims })}`;
  return `${signed}.${createHmac("sha256", SECRET).update(signed).digest("base64url")}`;
}

/** Headers in which a client may claim a group, in several spellings. */
const forged = {
  "X-Consumer-Groups": "admins",
  X_Consumer_Groups: "admins",
  "X-Authenticated-Groups": "admins",
  "x-authenticated_groups": "admins",
};

export function credentialSuite(engine: Engine): void {
  describe(`credentials: the ${engine.name} engine`, () => {
    for (const username of ["plain", "scrypt", "kong"]) {
      it(`accepts the right password and refuses a wrong one for a stored password in the form: ${username}`, async (test) => {
        const { port } = await start(test, engine, { "basic-auth": {} });
        const accepted = await sendRequest(port, { headers: { Authorization: basic(username) } });
        assert.deepEqual([accepted.status, JSON.parse(accepted.body)["x-consumer-username"]], [200, "ann"]);
        const refused = await sendRequest(port, { headers: { Authorization: basic(username, "x") } });
        assert.deepEqual([refused.status, refused.headers["www-authenticate"]], [401, 'Basic realm="service"']);
      });
    }

    it("decides by the consumer's groups and sends them to the upstream, although the client claims others", async (test) => {
      const { port } = await start(test, engine, { "basic-auth": {}, acl: { allow: ["users"] } });
      const { status, body } = await sendRequest(port, { headers: { Authorization: basic("plain"), ...forged } });
      const groups = Object.entries(JSON.parse(body)).filter(([name]) => name.includes("groups"));
      assert.deepEqual([status, groups], [200, [["x-consumer-groups", "users"]]]);
    });

    it("sends no groups to the upstream with hide_groups_header", async (test) => {
      const acl = { allow: ["users"], hide_groups_header: true };
      const { port } = await start(test, engine, { "basic-auth": {}, acl });
      const { status, body } = await sendRequest(port, { headers: { Authorization: basic("plain"), ...forged } });
      assert.equal(status, 200);
      assert.doesNotMatch(body, /groups/);
    });

    for (const [what, configs, isKnown, status] of [
      ["a consumer in no allowed group", { "basic-auth": {}, acl: { allow: ["admins"] } }, true, 403],
      ["a consumer in a denied group", { "basic-auth": {}, acl: { deny: ["users"] } }, true, 403],
      ["a request without a consumer", { acl: { allow: ["admins"] } }, false, 401],
      [
        "a request without a consumer while authenticated groups are always used",
        { acl: { allow: ["admins"], always_use_authenticated_groups: true } },
        false,
        401,
      ],
    ] as const) {
      it(`answers ${status} to ${what}, although the client claims the group admins`, async (test) => {
        const { port } = await start(test, engine, configs);
        const headers = { ...(isKnown && { Authorization: basic("plain") }), ...forged };
        assert.equal((await sendRequest(port, { headers })).status, status);
      });
    }

    it("refuses a token after its credential was removed, although the token was accepted before", async (test) => {
      const rig = await start(test, engine, { jwt: {} });
      const headers = { Authorization: `Bearer ${tokenOf({})}` };
      assert.equal((await sendRequest(rig.port, { headers })).status, 200);
      await rig.swap({ identities: { ...(await identities()), jwt_secrets: new Map() }, plugins: real({ jwt: {} }) });
      const { status, body } = await sendRequest(rig.port, { headers });
      assert.deepEqual([status, JSON.parse(body).message], [401, "No credentials found for given 'iss'"]);
    });

    it("answers an expired token with the failed claim in JSON, although the client accepts only HTML", async (test) => {
      const { port } = await start(test, engine, { jwt: { claims_to_verify: ["exp"] } });
      const headers = { Authorization: `Bearer ${tokenOf({ exp: 1 })}`, Accept: "text/html" };
      const { status, headers: given, body } = await sendRequest(port, { headers });
      assert.deepEqual(
        [status, given["content-type"], body],
        [401, "application/json; charset=utf-8", '{"exp":"token expired"}'],
      );
    });

    if (engine.name !== "http1") return;
    it("verifies a signature over a request target with bytes above ASCII", async (test) => {
      const { port } = await start(test, engine, { "hmac-auth": {} });
      const date = new Date().toUTCString();
      // The bytes of ü, as characters of Latin-1.
      const target = "/\u00c3\u00bc?a=\u00c3\u00bc";
      const text = Buffer.from(`date: ${date}\n@request-target: get ${target}`, "latin1");
      const signature = createHmac("sha256", SECRET).update(text).digest("base64");
      const authorization = `hmac username="ann", algorithm="hmac-sha256", headers="date @request-target", signature="${signature}"`;
      const ask = (path: string) =>
        sendRaw(
          test,
          port,
          `GET ${path} HTTP/1.1\r\nHost: a\r\nDate: ${date}\r\nAuthorization: ${authorization}\r\nConnection: close\r\n\r\n`,
        );
      assert.match(await ask(target), /^HTTP\/1\.1 200 /);
      assert.match(await ask("/%C3%BC?a=%C3%BC"), /^HTTP\/1\.1 401 /);
    });

    for (const [what, configs, authorization, text] of [
      [
        "a token that has expired",
        { jwt: { claims_to_verify: ["exp"] } },
        `Bearer ${tokenOf({ exp: 1 })}`,
        '{"exp":"token expired"}',
      ],
      ["a wrong password", { "basic-auth": {} }, basic("plain", "x"), "Unauthorized"],
    ] as const) {
      it(`uses gRPC's form to answer a call with ${what}`, async (test) => {
        const { session } = await startHttp2(test, engine, {
          upstream: echo,
          identities: await identities(),
          route: { protocols: ["grpc", "grpcs"] },
          plugins: real(configs),
        });
        const { status, headers, headOnly } = await requestHttp2(session, {
          headers: { ...grpcHeaders, authorization },
          body: message("x"),
        });
        assert.deepEqual(
          [status, headers["content-type"], headers["grpc-status"], headers["grpc-message"], headOnly],
          [200, "application/grpc", "16", text, true],
        );
      });
    }
  });
}
