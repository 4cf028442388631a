/** A whole node with its real plugins, tested by requests. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dial, type Received, receiveUntil } from "../../../test/conformance/engine/client.ts";
import { portOf, startUpstream } from "../../../test/conformance/engine/proxy-rig.ts";
import { waitFor } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { startReportedNode } from "./testing-node.ts";

const demo = { username: "demo", keyauth_credentials: [{ key: "demo-key" }] };
const seen = ({ body }: Received): { url: string; headers: Record<string, string> } => JSON.parse(body);

for (const [header, expected] of [
  ["x-real-ip", "1.1.1.1"],
  ["x-forwarded-for", "2.2.2.2"],
] as const) {
  test(`a node reads the client's address from ${header} of a trusted proxy if a setting selects this header`, async (context) => {
    const { send } = await startReportedNode(context, {
      service: { routes: [{ paths: ["/"] }] },
      settings: { SLUICE_TRUSTED_IPS: "127.0.0.1", SLUICE_REAL_IP_HEADER: header },
    });
    const getStatus = await send({ headers: { "X-Real-IP": "1.1.1.1", "X-Forwarded-For": "2.2.2.2" } });
    assert.equal(seen(getStatus).headers["x-real-ip"], expected);
  });
}

test("a plugin of a consumer group replaces the global instance for the consumers of the group", async (context) => {
  const limit = (minute: number) => ({ name: "rate-limiting", config: { minute } });
  const gold = { ...demo, groups: [{ name: "gold" }] };
  const content = (member: object) => ({
    consumers: [member, { username: "other", keyauth_credentials: [{ key: "other-key" }] }],
    consumer_groups: [{ name: "gold", plugins: [limit(100)] }],
    plugins: [limit(5)],
  });
  const service = { name: "up", routes: [{ paths: ["/"], plugins: [{ name: "key-auth" }] }] };
  const settings = { SLUICE_UNPROTECT_WAIT: "0s" };
  const { send, write } = await startReportedNode(context, { service, settings, ...content(gold) });
  const limitOf = async (apikey: string) => (await send({ headers: { apikey } })).headers["ratelimit-limit"];
  assert.deepEqual([await limitOf("demo-key"), await limitOf("other-key")], ["100", "5"]);
  const services = [{ url: "http://127.0.0.1:1", ...service }];
  write(JSON.stringify({ _format_version: "3.0", services, ...content(demo) }));
  await waitFor(async () => (await limitOf("demo-key")) === "5", { what: "the limit of a consumer without a group" });
});

test("a plugin with protocols applies only to requests with one of these protocols", async (context) => {
  const { send } = await startReportedNode(context, {
    service: {
      routes: [{ paths: ["/"], plugins: [{ name: "key-auth", protocols: ["https"] }] }],
      plugins: [{ name: "rate-limiting", protocols: ["http"], config: { hour: 5 } }],
    },
    settings: { SLUICE_TRUSTED_IPS: "127.0.0.1" },
  });
  const plain = await send({});
  assert.deepEqual([plain.status, plain.headers["ratelimit-limit"]], [200, "5"]);
  const secure = await send({ headers: { "X-Forwarded-Proto": "https" } });
  assert.deepEqual([secure.status, secure.headers["ratelimit-limit"]], [401, undefined]);
});

test("key-auth guards upgrades: an upgrade without a key is refused, and a key is removed from the forwarded upgrade", async (context) => {
  const { send, port } = await startReportedNode(context, {
    service: { routes: [{ paths: ["/ws"] }], plugins: [{ name: "key-auth", config: { hide_credentials: true } }] },
    consumers: [demo],
  });
  const upgrade = { Connection: "Upgrade", Upgrade: "websocket", "X-Consumer-Username": "admin" };
  const refused = await send({ path: "/ws", headers: upgrade });
  assert.deepEqual([refused.status, JSON.parse(refused.body).message], [401, "No API key found in request"]);
  const socket = await dial(context, port);
  socket.write(
    "GET /ws?apikey=demo-key&room=1 HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
      "X-Consumer-Username: admin\r\n\r\n",
  );
  const opened = await receiveUntil(socket, "}}");
  assert.match(opened, /^HTTP\/1\.1 101 .*"url":"\/\?room=1".*"x-consumer-username":"demo"/s);
  assert.ok(!opened.includes("demo-key") && !opened.includes("admin"), opened);
});

test("no spelling of a path bypasses the key-auth of a route with a longer prefix", async (context) => {
  const guarded = { name: "guarded", paths: ["/open/secret"], plugins: [{ name: "key-auth" }] };
  const { send } = await startReportedNode(context, {
    service: { routes: [{ name: "open", paths: ["/open"] }, guarded] },
  });
  for (const path of [
    "/open/secret",
    "/open/%73ecret",
    "/open//secret",
    "//open/secret/x",
    "/open/./secret",
    "/open/%2e/secret",
    "/open/x/../secret",
    "/open/x/%2E%2e/secret",
    "/../open/secret",
    "/open/secret;a=b",
    "/open/secret%00",
    "/open/secret?/../..",
    "http://other/open/secret",
  ]) {
    assert.equal((await send({ path, headers: { Host: "other" } })).status, 401, path);
  }
});

test("a preflight needs no key if cors runs before key-auth, and a page can read the 401 response", async (context) => {
  const { send } = await startReportedNode(context, {
    service: { routes: [{ paths: ["/"] }], plugins: [{ name: "key-auth" }, { name: "cors" }] },
  });
  const headers = { Origin: "http://a.example", "Access-Control-Request-Method": "GET" };
  const preflight = await send({ method: "OPTIONS", headers });
  assert.deepEqual([preflight.status, preflight.headers["content-length"], preflight.body], [200, "0", ""]);
  const refused = await send({ headers: { Origin: "http://a.example" } });
  assert.deepEqual([refused.status, refused.headers["access-control-allow-origin"]], [401, "*"]);
});

test("of a hundred concurrent requests exactly as many as the limit allows are admitted, each with a different remaining number", async (context) => {
  const { send } = await startReportedNode(context, {
    service: { routes: [{ paths: ["/"] }], plugins: [{ name: "rate-limiting", config: { year: 30 } }] },
  });
  const answers = await Promise.all(Array.from({ length: 100 }, () => send({})));
  const admitted = answers.filter(({ status }) => status === 200);
  assert.equal(admitted.length, 30);
  assert.equal(new Set(admitted.map(({ headers }) => headers["x-ratelimit-remaining-year"])).size, 30);
  assert.ok(answers.every(({ status }) => status === 200 || status === 429));
});

test("metrics have Kong's names if a setting selects them, and may contain any username; the proxy does not serve metrics", async (context) => {
  const strange = { username: 'q"uo\\te\n', keyauth_credentials: [{ key: "k" }] };
  const config = { status_code_metrics: true, per_consumer: true };
  const { send, metrics } = await startReportedNode(context, {
    service: {
      routes: [{ name: "r", paths: ["/r"] }],
      plugins: [{ name: "key-auth" }, { name: "prometheus", config }],
    },
    consumers: [strange],
    settings: { SLUICE_COMPAT: "kong" },
  });
  assert.equal((await send({ path: "/r", headers: { apikey: "k" } })).status, 200);
  assert.equal((await send({ path: "/metrics" })).status, 404);
  const line = (await metrics()).split("\n").find((text) => text.startsWith("kong_http_requests_total{"));
  assert.equal(
    line,
    'kong_http_requests_total{service="up",route="r",code="200",source="service",workspace="default",consumer="q\\"uo\\\\te\\n"} 1',
  );
});

test("the health of targets is shown on the status listener and in the metrics, and can be set", async (context) => {
  const live = await startUpstream(context, (_request, response) => response.end("live"));
  const target = `127.0.0.1:${portOf(live)}`;
  const [pool, idle] = ["7e9a1b7c-52d3-4a57-9d0f-6a0b8f6f0a01", "7e9a1b7c-52d3-4a57-9d0f-6a0b8f6f0a02"];
  const ids = ["7e9a1b7c-52d3-4a57-9d0f-6a0b8f6f0a03", "7e9a1b7c-52d3-4a57-9d0f-6a0b8f6f0a04"];
  const { gateway, send, metrics } = await startReportedNode(context, {
    service: {
      url: "http://pool",
      routes: [{ paths: ["/"] }],
      plugins: [{ name: "prometheus", config: { upstream_health_metrics: true } }],
    },
    upstreams: [
      {
        id: pool,
        name: "pool",
        healthchecks: { passive: { unhealthy: { tcp_failures: 1 } } },
        targets: [{ id: ids[0], target }],
      },
      { id: idle, name: "idle", targets: [{ id: ids[1], target: "10.0.0.1", weight: 5 }] },
    ],
  });
  const health = async () => {
    const response = await fetch(`http://127.0.0.1:${gateway.status.port}/upstreams/health`);
    return (await response.json()) as Record<string, Record<string, { health: string }>>;
  };
  const port = portOf(live);
  const address = { ip: "127.0.0.1", port, weight: 100, health: "HEALTHY" };
  assert.deepEqual(await health(), {
    [pool]: { [ids[0] ?? ""]: { health: "HEALTHY", weight: 100, addresses: [address] } },
    [idle]: {
      [ids[1] ?? ""]: {
        health: "HEALTHCHECKS_OFF",
        weight: 5,
        addresses: [{ ip: "10.0.0.1", port: 8000, weight: 5, health: "HEALTHCHECKS_OFF" }],
      },
    },
  });
  assert.equal((await send({})).body, "live");
  assert.equal(gateway.setTargetHealth(pool, ids[0] ?? "", target, false), true);
  assert.equal(gateway.setTargetHealth(idle, ids[1] ?? "", null, false), false);
  assert.equal(gateway.setTargetHealth("nobody", ids[0] ?? "", null, false), false);
  assert.equal((await send({})).status, 503);
  assert.equal((await health())[pool]?.[ids[0] ?? ""]?.health, "UNHEALTHY");
  const shown = (await metrics()).split("\n").filter((line) => line.startsWith("sluice_upstream_target_health{"));
  const labels = (upstream: string, at: string, state: string) =>
    `sluice_upstream_target_health{upstream="${upstream}",target="${at}",address="${at}",state="${state}",subsystem="http"}`;
  assert.ok(shown.includes(`${labels("pool", target, "unhealthy")} 1`), shown.join("\n"));
  assert.ok(shown.includes(`${labels("idle", "10.0.0.1:8000", "healthchecks_off")} 1`), shown.join("\n"));
});

test("a node with several workers reports its readiness, the sums of all workers' counts, and the health of targets", async (context) => {
  const live = await startUpstream(context, (_request, response) => response.end("live"));
  const target = `127.0.0.1:${portOf(live)}`;
  const [pool, id] = ["7e9a1b7c-52d3-4a57-9d0f-6a0b8f6f0a01", "7e9a1b7c-52d3-4a57-9d0f-6a0b8f6f0a03"];
  const { gateway, send, metrics } = await startReportedNode(context, {
    service: {
      url: "http://pool",
      routes: [{ paths: ["/"] }],
      plugins: [{ name: "prometheus", config: { status_code_metrics: true, upstream_health_metrics: true } }],
    },
    upstreams: [
      {
        id: pool,
        name: "pool",
        healthchecks: { passive: { unhealthy: { tcp_failures: 1 } } },
        targets: [{ id, target }],
      },
    ],
    settings: { SLUICE_WORKERS: "2" },
  });
  const ask = async (path: string) => (await fetch(`http://127.0.0.1:${gateway.status.port}${path}`)).json();
  assert.deepEqual(await ask("/status/ready"), { message: "ready" });
  const answers = await Promise.all(Array.from({ length: 40 }, () => send({})));
  assert.ok(answers.every(({ body }) => body === "live"));
  const { server } = (await ask("/status")) as { server: Record<string, number> };
  assert.deepEqual([server.connections_accepted, server.total_requests], [40, 40]);
  const text = await metrics();
  assert.match(text, /^sluice_http_requests_total\{.*code="200".*\} 40$/m);
  assert.equal(text.match(/^sluice_node_info\{/gm)?.length, 1);
  assert.match(text, /^sluice_upstream_target_health\{.*state="healthy".*\} 1$/m);
  assert.equal(gateway.setTargetHealth(pool, id, target, false), true);
  await metrics();
  const refused = await Promise.all(Array.from({ length: 20 }, () => send({})));
  assert.deepEqual(new Set(refused.map(({ status }) => status)), new Set([503]));
});

for (const workers of ["1", "2"]) {
  test(`a node with SLUICE_WORKERS=${workers} reports the refused addresses of upstreams, health checks and Redis`, async (context) => {
    const limited = { policy: "redis", minute: 5, redis: { host: "169.254.1.1" } };
    const active = { type: "tcp", healthy: { interval: 0.02 }, unhealthy: { interval: 0.02 } };
    const targets = [{ target: "127.0.0.1:9" }, { target: "localhost:9" }];
    const id = "11111111-1111-4111-8111-111111111111";
    const { send, getStatus, log } = await startReportedNode(context, {
      service: {
        routes: [{ paths: ["/"] }, { paths: ["/limited"], plugins: [{ name: "rate-limiting", config: limited }] }],
      },
      upstreams: [{ id, name: "pool", targets, healthchecks: { active } }],
      settings: { SLUICE_ALLOWED_UPSTREAMS: "", SLUICE_WORKERS: workers },
    });
    assert.equal((await send({})).status, 503);
    // fault_tolerant is true by default: the request continues, to an upstream that is refused as well.
    assert.equal((await send({ path: "/limited" })).status, 503);
    const refused = async () => JSON.parse((await getStatus("/status")).body).sluice.refused_destinations;
    const hosts = async () => (await refused()).map(({ host }: { host: string }) => host).sort();
    await waitFor(async () => (await hosts()).includes("localhost"), {
      what: "the health check of the target localhost to be refused",
    });
    assert.deepEqual([...new Set(await hosts())], ["127.0.0.1", "169.254.1.1", "localhost"]);
    for (const { reason } of await refused()) assert.match(reason, /no entry of SLUICE_ALLOWED_UPSTREAMS allows/);
    const health = JSON.parse((await getStatus("/upstreams/health")).body)[id];
    const shown = Object.values(health as Record<string, { health: string; addresses: { reason: string }[] }>);
    for (const { addresses } of shown) assert.match(addresses[0]?.reason ?? "", /SLUICE_ALLOWED_UPSTREAMS/);
    assert.equal(shown.length, 2);
    const checks = log.filter(({ msg }) => /cannot be checked/.test(String(msg)));
    assert.deepEqual(checks.map(({ target }) => target).sort(), ["127.0.0.1:9", "localhost:9"]);
    for (const { reason } of checks) assert.match(String(reason), /SLUICE_ALLOWED_UPSTREAMS/);
  });
}

for (const [workers, name, limits] of [
  ["1", "rate-limiting", { minute: 5, fleet_fallback: "open" }],
  ["2", "rate-limiting", { minute: 5, fleet_fallback: "open" }],
  ["1", "response-ratelimiting", { limits: { video: { minute: 5 } } }],
] as const) {
  test(`a node with SLUICE_WORKERS=${workers} and without SLUICE_PEER_LISTEN answers 503 in the scope of a limit of ${name} with policy fleet, and logs what to set`, async (context) => {
    const { send, log } = await startReportedNode(context, {
      service: {
        routes: [{ paths: ["/"] }],
        plugins: [{ name, config: { ...limits, policy: "fleet" } }],
      },
      settings: { SLUICE_WORKERS: workers },
    });
    assert.equal((await send({})).status, 503);
    const logged = log.filter(({ msg }) => /set SLUICE_PEER_LISTEN/.test(String(msg)));
    assert.deepEqual(
      logged.map((line) => [line.msg, line.pluginName]),
      [["answers 503: policy fleet needs connections between the nodes: set SLUICE_PEER_LISTEN", name]],
    );
  });
}

for (const workers of ["1", "2"]) {
  test(`a node with SLUICE_WORKERS=${workers} exports metrics of process, threads, certificates and configuration without any plugin`, async (context) => {
    const authority = await makeAuthority();
    const expires = 2_000_000_000;
    const { certificate: cert, key } = await authority.issue({
      name: "a",
      sans: ["a.test"],
      usage: "server",
      notAfter: new Date(expires * 1000),
    });
    const before = Date.now() / 1000;
    const { send, metrics, getStatus, port } = await startReportedNode(context, {
      service: { routes: [{ paths: ["/up"] }] },
      certificates: [{ id: "22222222-2222-4222-8222-222222222222", cert, key, snis: [{ name: "a.test" }] }],
      settings: { SLUICE_WORKERS: workers },
    });
    for (const path of ["/none", "/other"]) assert.equal((await send({ path })).status, 404);
    const socket = await dial(context, port);
    socket.write("GET / HTTP/9.9\r\nHost: a\r\n\r\n");
    await receiveUntil(socket, "\r\n\r\n");
    assert.equal((await send({ path: "/up" })).status, 200);
    const value = (text: string, series: string) => {
      const line = text.split("\n").find((each) => each.startsWith(`${series} `) || each.startsWith(`${series}{`));
      return line === undefined ? null : Number(line.split(" ").at(-1));
    };
    await waitFor(async () => value(await metrics(), "sluice_certificate_expiry_timestamp_seconds") === expires, {
      what: "the expiry of the certificate",
    });
    const text = await metrics();
    for (const name of ["process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds"]) {
      assert.ok((value(text, name) ?? 0) > 0, name);
      assert.equal(text.match(new RegExp(`^${name}\\{`, "gm"))?.length, 1, `one series of ${name}`);
    }
    const threads = workers === "1" ? ["0"] : ["0", "1", "2"];
    for (const name of ["nodejs_eventloop_lag_p99_seconds", "nodejs_heap_size_used_bytes"]) {
      const found = [...text.matchAll(new RegExp(`^${name}\\{.*worker="(\\d)".*\\} `, "gm"))];
      assert.deepEqual(found.map(([, worker]) => worker).sort(), threads, name);
    }
    assert.doesNotMatch(text, /^nodejs_active_/m);
    assert.equal(value(text, "sluice_config_last_reload_successful"), 1);
    assert.ok((value(text, "sluice_config_last_reload_success_timestamp_seconds") ?? 0) >= before);
    assert.equal(value(text, 'sluice_http_requests_unrouted_total{reason="no_route"}'), 2);
    assert.equal(value(text, 'sluice_http_requests_unrouted_total{reason="unknown_version"}'), 1);
    assert.match(text, /certificate_expiry_timestamp_seconds\{.*server_name="a\.test"\} 2000000000$/m);
    const names = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name);
    assert.equal(new Set(names).size, names.length, "no metric is listed twice");
    assert.equal((await getStatus("/status/live")).status, 200);
  });
}

test("a node reports that its last configuration was rejected", async (context) => {
  const { metrics, write } = await startReportedNode(context, { service: {} });
  const taken = async () => /^sluice_config_last_reload_successful\{.*\} (\d)$/m.exec(await metrics())?.[1];
  const since = async () =>
    /^sluice_config_last_reload_success_timestamp_seconds\{.*\} (.*)$/m.exec(await metrics())?.[1];
  const first = await since();
  assert.equal(await taken(), "1");
  write("services: 5");
  await waitFor(async () => (await taken()) === "0", { what: "the node to report that it rejected the file" });
  assert.equal(await since(), first);
});
