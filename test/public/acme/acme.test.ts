/**
 * Certificates from the ACME server Pebble, which validates the names: two nodes that share a database, of which one
 * orders and both answer, and a node with a declarative file.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { connect } from "node:tls";
import { builtProgram } from "../../../tools/build/programs.ts";
import { freePort, type Process, startProcess, temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { type Pebble, type PebbleOptions, startPebble } from "../../../tools/programs/servers/pebble.ts";
import { type Postgres, startPostgres } from "../../../tools/programs/servers/postgres.ts";
import { startNamedUpstream } from "../../product/client.ts";
import { type TlsLoad, underTlsLoad } from "./tls-load.ts";

const main = await builtProgram("gateway");

interface Shown {
  readonly serial: string;
  readonly names: string;
}

/** A verified handshake. Rejects if it fails. */
function handshake(host: string, port: number, servername: string, ca: string): Promise<Shown> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, servername, ca, timeout: 5000 });
    socket.once("error", reject).once("timeout", () => socket.destroy(new Error("timeout")));
    socket.once("secureConnect", () => {
      const { serialNumber = "", subjectAltName = "" } = socket.getPeerX509Certificate() ?? {};
      socket.destroy();
      resolve({ serial: serialNumber, names: subjectAltName });
    });
  });
}

describe("two nodes that share a database, and Pebble", () => {
  const HOSTS = ["127.0.0.1", "127.0.0.2"] as const;
  const running = new Map<string, Process>();
  /** The addresses of the status listeners, by host. */
  const statuses = new Map<string, string>();
  let postgres: Postgres;
  let pebble: Pebble;
  let httpPort: number;
  let tlsPort: number;
  let admin: string;
  let environment: Readonly<Record<string, string>>;
  let upstream: Awaited<ReturnType<typeof startNamedUpstream>>;

  async function startNode(host: string): Promise<void> {
    const status = `127.0.0.1:${await freePort()}`;
    const env = {
      ...environment,
      SLUICE_SOURCE: "database",
      SLUICE_PROXY_LISTEN: `${host}:${httpPort}`,
      SLUICE_PROXY_TLS_LISTEN: `${host}:${tlsPort}`,
      SLUICE_STATUS_LISTEN: status,
      SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
    };
    const ready = new URL(`http://${status}/status/ready`);
    statuses.set(host, status);
    running.set(host, await startProcess(main, ["gateway"], { name: `node ${host}`, env, ready }));
  }

  async function ask(method: string, path: string, body?: object) {
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${admin}${path}`, { method, headers, body: body && JSON.stringify(body) });
    const json = (await response.json()) as Record<string, unknown>;
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${JSON.stringify(json)}`);
    return json;
  }

  const orderOf = async (id: string) =>
    (await ask("GET", `/certificate-details/${id}`)).order as {
      readonly state: string;
      readonly renew_at: string | null;
      readonly next_attempt: string | null;
      readonly error: { readonly type: string; readonly detail: string } | null;
    } | null;

  /** Lets each name lead to one of the nodes, and resolves to the certificate that both nodes present. */
  async function issued(names: readonly string[]): Promise<Shown> {
    const root = await pebble.root();
    const shown = await Promise.all(
      names.flatMap((name) =>
        HOSTS.map((host) =>
          waitFor(() => handshake(host, tlsPort, name, root).catch(() => null), {
            what: `the certificate of ${name} at ${host}`,
            timeout: 60_000,
          }),
        ),
      ),
    );
    const [first] = shown;
    assert.ok(first && shown.every(({ serial }) => serial === first.serial), "one certificate for all names and nodes");
    return first;
  }

  before(async () => {
    [httpPort, tlsPort] = [await freePort(), await freePort()];
    postgres = await startPostgres();
    pebble = await startPebble({ httpPort, tlsPort, refusedNames: ["refused.example"] });
    upstream = await startNamedUpstream("hello");
    const { hostname, port, username, password } = new URL(postgres.url);
    environment = {
      SLUICE_DATABASE: "postgres",
      SLUICE_PG_HOST: hostname,
      SLUICE_PG_PORT: port,
      SLUICE_PG_USER: username,
      SLUICE_PG_PASSWORD: password,
      SLUICE_PG_DATABASE: "postgres",
      SLUICE_LOG_LEVEL: "info",
      SLUICE_ACME_DIRECTORIES: pebble.directory,
      SLUICE_ACME_CA_FILE: pebble.authorityFile,
      SLUICE_ACME_EMAIL: "admin@shop.example",
    };
    const bootstrap = await startProcess(main, ["migrations", "bootstrap"], { name: "bootstrap", env: environment });
    assert.equal((await bootstrap.ended()).code, 0, bootstrap.output());
    for (const host of HOSTS) await startNode(host);
    const listen = `127.0.0.1:${await freePort()}`;
    admin = `http://${listen}`;
    const env = { ...environment, SLUICE_STORE: "database", SLUICE_ADMIN_LISTEN: listen };
    running.set("admin", await startProcess(main, ["admin"], { name: "admin", env, ready: new URL(`${admin}/`) }));
    for (const [index, host] of HOSTS.entries())
      for (const kind of ["http", "tls", "early"]) await pebble.setAddresses(`${kind}${index}.example`, [host]);
    await ask("POST", "/services", { name: "hello", url: `http://127.0.0.1:${upstream.port}` });
    await ask("POST", "/services/hello/routes", { name: "hello", paths: ["/"] });
  });
  after(async () => {
    await Promise.all([...running.values()].map((one) => one.stop()));
    await Promise.all([upstream?.close(), pebble?.stop(), postgres?.stop()]);
  });

  for (const challenge of ["http-01", "tls-alpn-01"] as const)
    test(`one node orders, and both answer ${challenge}`, async () => {
      const kind = challenge === "http-01" ? "http" : "tls";
      const names = HOSTS.map((_, index) => `${kind}${index}.example`);
      const { id } = await ask("POST", "/certificates", { acme: { challenge }, snis: names });
      const shown = await issued(names);
      assert.equal(shown.names, names.map((name) => `DNS:${name}`).join(", "));
      await waitFor(async () => (await orderOf(`${id}`))?.state === "valid", { what: "the state valid" });
      const ordering = [...running].filter(([, each]) =>
        each.output().includes("this process orders the certificates"),
      );
      assert.equal(ordering.length, 1, "one node orders");
      const [[host = ""] = []] = ordering;
      const metrics = await (await fetch(`http://${statuses.get(host)}/metrics`)).text();
      assert.match(metrics, /^sluice_acme_orders_total\{kind="first",result="issued"\} [1-9]/m);
      const expiry = `^sluice_acme_certificate_expiry_timestamp_seconds\\{node_id=".+",certificate="${id}"\\} [1-9]`;
      assert.match(metrics, new RegExp(expiry, "m"));
    });

  test("the CA's words about a refused name are shown, and a corrected name is ordered at once", async () => {
    const { id } = await ask("POST", "/certificates", { acme: {}, snis: ["refused.example"] });
    await waitFor(async () => (await orderOf(`${id}`))?.state === "waiting", { what: "the state waiting" });
    const { error, next_attempt } = (await orderOf(`${id}`)) ?? {};
    assert.equal(error?.type, "rejectedIdentifier");
    assert.match(error?.detail ?? "", /refused\.example/);
    assert.ok(Date.parse(next_attempt ?? "") > Date.now() + 60_000);
    const { warnings } = await ask("GET", "/problems");
    assert.match(
      JSON.stringify(warnings),
      /certificate with acme \(SNI refused\.example\)","message":"could not be ordered/,
    );
    await pebble.setAddresses("accepted.example", ["127.0.0.2"]);
    await ask("PATCH", `/certificates/${id}`, { snis: ["accepted.example"] });
    await issued(["accepted.example"]);
  });

  test("when a certificate gets a pair of its own while the CA validates, the nodes stop answering the challenge", async () => {
    const { promise: asked, resolve: isAsked } = Promise.withResolvers<string>();
    // The CA's requests reach this server, which does not answer.
    const silent = createServer(({ url = "" }) => isAsked(url));
    await new Promise<void>((resolve) => silent.listen(httpPort, "127.0.0.3", resolve));
    try {
      await pebble.setAddresses("own.example", ["127.0.0.3"]);
      const { id } = await ask("POST", "/certificates", { acme: {}, snis: ["own.example"] });
      const path = await asked;
      const token = path.split("/").at(-1) ?? "";
      // Without a challenge, the request is routed to the upstream.
      const answering = async () => {
        const texts = HOSTS.map(async (host) => (await fetch(`http://${host}:${httpPort}${path}`)).text());
        return (await Promise.all(texts)).filter((text) => text.startsWith(`${token}.`)).length;
      };
      assert.equal(await answering(), 2);
      const pair = await (await makeAuthority()).issue({ name: "own", sans: ["own.example"], usage: "server" });
      await ask("PATCH", `/certificates/${id}`, { acme: null, cert: pair.certificate, key: pair.key });
      await waitFor(async () => (await answering()) === 0, { what: "the end of the challenge on both nodes" });
    } finally {
      silent.closeAllConnections();
      silent.close();
    }
  });

  test("when the CA moves the window of renewal, another node renews under load after the ordering node has stopped: no request fails, no connection is dropped, the account stays", async () => {
    const names = HOSTS.map((_, index) => `early${index}.example`);
    const { id } = await ask("POST", "/certificates", { acme: {}, snis: names });
    const first = await issued(names);
    await waitFor(async () => (await orderOf(`${id}`))?.state === "valid", { what: "the state valid" });
    const { cert } = await ask("GET", `/certificates/${id}`);
    const hour = 3_600_000;
    const window = { start: new Date(Date.now() - 2 * hour), end: new Date(Date.now() - hour) };
    await pebble.setRenewalInfo(`${cert}`, window);
    const ordering = HOSTS.find((host) => running.get(host)?.output().includes("this process orders the certificates"));
    const other = HOSTS.find((host) => host !== ordering) ?? "";
    const root = await pebble.root();
    const target = { host: other, port: tlsPort, servername: names[0] ?? "", ca: root };
    const load: TlsLoad = await underTlsLoad(target, async (answered) => {
      await running.get(ordering ?? "")?.stop();
      await startNode(ordering ?? "");
      await waitFor(async () => (await handshake(other, tlsPort, names[0] ?? "", root)).serial !== first.serial, {
        what: "the renewed certificate",
        timeout: 60_000,
      });
      const before = answered();
      await waitFor(() => answered() > before + 100, { what: "requests after the renewal" });
    });
    assert.deepEqual(load.failures, []);
    assert.equal(load.droppedConnections, 0, "keep-alive connections stay open");
    assert.notEqual((await issued(names)).serial, first.serial);
    const accounts = pebble.process.output().match(/There are now \d+ accounts/g) ?? [];
    assert.deepEqual([...new Set(accounts)], ["There are now 1 accounts"]);
  });
});

interface FileScene {
  readonly file: string;
  readonly pebble: Pebble;
  readonly tlsPort: number;
  start(): Promise<Process>;
}

/** A node with a declarative file, which is not started yet. */
async function fileScene(
  context: TestContext,
  { text, env, ...pebbleOptions }: Partial<PebbleOptions> & { readonly text: string; readonly env?: object },
): Promise<FileScene> {
  const folder = temporaryFolder("acme-file");
  context.after(() => folder.remove());
  const [httpPort, tlsPort] = [await freePort(), await freePort()];
  const pebble = await startPebble({ httpPort, tlsPort, ...pebbleOptions });
  context.after(() => pebble.stop());
  const file = join(folder.path, "sluice.yml");
  writeFileSync(file, text);
  const status = `127.0.0.1:${await freePort()}`;
  const start = () =>
    startProcess(main, ["gateway"], {
      name: "node",
      env: {
        SLUICE_SOURCE: "file",
        SLUICE_FILE: file,
        SLUICE_PROXY_LISTEN: `127.0.0.1:${httpPort}`,
        SLUICE_PROXY_TLS_LISTEN: `127.0.0.1:${tlsPort}`,
        SLUICE_STATUS_LISTEN: status,
        SLUICE_ACME_DIR: join(folder.path, "acme"),
        SLUICE_ACME_DIRECTORIES: pebble.directory,
        SLUICE_ACME_CA_FILE: pebble.authorityFile,
        SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
        ...env,
      },
      ready: new URL(`http://${status}/status/ready`),
    });
  return { file, pebble, tlsPort, start };
}

test("a node with a declarative file orders, keeps the pair over a restart, and leaves the file as it is", async (context) => {
  const kid = "kid-1";
  const hmacKey = Buffer.from("an HMAC key of 32 bytes for test").toString("base64url");
  const text = [
    '_format_version: "3.0"',
    "certificates:",
    "- acme: { domains: [file.example], challenge: tls-alpn-01, key_type: rsa }",
    "  snis: [{ name: file.example }]",
    "",
  ].join("\n");
  const env = { SLUICE_ACME_EAB_KID: kid, SLUICE_ACME_EAB_HMAC_KEY: hmacKey };
  const { file, pebble, tlsPort, start } = await fileScene(context, { text, env, accountBindings: { [kid]: hmacKey } });
  const node = await start();
  const root = await pebble.root();
  const shown = () => handshake("127.0.0.1", tlsPort, "file.example", root).catch(() => null);
  const first = await waitFor(shown, { what: "the certificate", timeout: 60_000 });
  await node.stop();
  const again = await start();
  context.after(() => again.stop());
  assert.deepEqual(await shown(), first, "the certificate is there from the first handshake on");
  assert.equal(readFileSync(file, "utf8"), text);
});

test("certificates that live for 30 seconds are renewed in time: no request fails, no connection is dropped", async (context) => {
  const upstream = await startNamedUpstream("hello");
  context.after(() => upstream.close());
  const text = JSON.stringify({
    _format_version: "3.0",
    services: [{ name: "hello", url: `http://127.0.0.1:${upstream.port}`, routes: [{ name: "all", paths: ["/"] }] }],
    certificates: [{ acme: { domains: ["short.example"] }, snis: [{ name: "short.example" }] }],
  });
  const { pebble, tlsPort, start } = await fileScene(context, { text, validity: 30 });
  const node = await start();
  context.after(() => node.stop());
  const root = await pebble.root();
  const shown = async () => (await handshake("127.0.0.1", tlsPort, "short.example", root)).serial;
  const serials = new Set([await waitFor(shown, { what: "the certificate", timeout: 60_000 })]);
  const target = { host: "127.0.0.1", port: tlsPort, servername: "short.example", ca: root };
  const load = await underTlsLoad(target, () =>
    waitFor(async () => serials.add(await shown()).size > 3, {
      what: "three renewals",
      timeout: 120_000,
      interval: 500,
    }),
  );
  assert.deepEqual(load.failures, []);
  assert.equal(load.droppedConnections, 0);
  assert.ok(load.answered > 1000, `${load.answered} requests`);
});
