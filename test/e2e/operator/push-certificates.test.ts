/**
 * Certificates that the operator issues, on a real API server: two operators, and two nodes that mount the Secret
 * with the nodes' certificate.
 */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { connect } from "node:tls";
import { createClusterClient } from "@sluice/crds";
import { Agent, request } from "undici";
import { startControlPlane } from "../../../tools/cluster/control-plane.ts";
import { clusterUsers, pushManifests, roleManifests } from "../../../tools/cluster/rbac.ts";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { mountFiles } from "../../../tools/programs/kubernetes/mounted-secret.ts";
import { getUrl, startNamedUpstream } from "../../product/client.ts";
import { routeObject, serviceObject } from "../../product/resources.ts";
import { underLoad } from "../../product/under-load.ts";
import { nodeOf, operatorOf, type RestartableNode, type RestartableOperator } from "./fault-environment.ts";

const namespace = "default";
const root = new URL("../../../", import.meta.url).pathname;
const ends: (() => unknown)[] = [];
after(async () => {
  for (const end of ends.reverse()) await end();
});

const folder = temporaryFolder("push-certificates");
ends.push(folder.remove);
const plane = await startControlPlane({ audit: true });
ends.push(plane.stop);
const upstream = await startNamedUpstream("echo");
ends.push(upstream.close);
const client = createClusterClient({ kubeconfig: plane.kubeconfig, log: { info() {}, warn() {}, error() {} } });
ends.push(client.close);
const apply = (...items: readonly object[]) =>
  plane.kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));

type Texts = Readonly<Record<string, string>>;
async function textsOf(name: string): Promise<Texts | null> {
  const found = await client.get({ kind: "Secret", namespace, name });
  const decoded = Object.entries(found?.data ?? {}).map(([entry, text]) => [entry, `${Buffer.from(text, "base64")}`]);
  return found && Object.fromEntries(decoded);
}

const mount = join(folder.path, "mount");
/** The mounted entries as JSON; empty until `sync` has found the Secret. */
let mounted = "";
/**
 * Simulates the kubelet: reads the Secret and swaps the mounted files. A deleted Secret changes nothing. Resolves to
 * whether files are mounted.
 */
async function sync(): Promise<boolean> {
  const texts = await textsOf("sluice-push");
  if (texts && JSON.stringify(texts) !== mounted) {
    mountFiles(mount, texts);
    mounted = JSON.stringify(texts);
  }
  return mounted !== "";
}

const operators: RestartableOperator[] = [];
const nodes: RestartableNode[] = [];
let kubelet: NodeJS.Timeout | undefined;
let syncing: Promise<unknown> = Promise.resolve();

before(async () => {
  await plane.kubectl(["apply", "--server-side", "-f", join(root, "crds")]);
  for (const manifests of [roleManifests(namespace), pushManifests(namespace)])
    await plane.kubectl(["apply", "--server-side", "-f", "-"], manifests);
  await plane.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
  await waitFor(() => plane.kubectl(["get", "sluice", "--all-namespaces"]), { what: "the new kinds to be served" });
  const settings = {
    KUBECONFIG: await plane.kubeconfigFor(clusterUsers.operator),
    SLUICE_PUSH_SECRET: "sluice-push",
    SLUICE_PUSH_OVERLAP: "4s",
  };
  // Nodes cannot start without the mounted files, so an operator creates the Secret first.
  const maker = await operatorOf("maker", settings);
  await waitFor(sync, { what: "the nodes' Secret", timeout: 20_000 });
  await maker.process.stop();
  kubelet = setInterval(() => {
    syncing = syncing.then(sync).catch(() => undefined);
  }, 250);
  ends.push(async () => {
    clearInterval(kubelet);
    await syncing;
  });
  const files = {
    SLUICE_PUSH_TLS_CA: join(mount, "ca.crt"),
    SLUICE_PUSH_TLS_CERT: join(mount, "gateway.crt"),
    SLUICE_PUSH_TLS_KEY: join(mount, "gateway.key"),
  };
  for (const name of ["node-1", "node-2"]) {
    const node = await nodeOf(name, files);
    nodes.push(node);
    ends.push(() => node.process.stop());
  }
  const SLUICE_NODES = nodes.map(({ push }) => push).join(",");
  for (const name of ["operator-1", "operator-2"]) {
    const operator = await operatorOf(name, { ...settings, SLUICE_NODES });
    operators.push(operator);
    ends.push(() => operator.process.stop());
  }
  await apply(serviceObject("echo", upstream.port), routeObject("echo"));
  await isServed("/echo");
});

const serves = async (path: string) => {
  const answers = await Promise.all(nodes.map(({ proxy }) => getUrl(`${proxy}${path}`)));
  return answers.every(({ status }) => status === 200);
};
const isServed = (path: string) =>
  waitFor(() => serves(path), { what: `both nodes to serve ${path}`, timeout: 20_000 });
const failedPushes = async () =>
  (
    await Promise.all(operators.map(({ metric }) => metric("sluice_operator_push_seconds_count", 'outcome="failed"')))
  ).reduce((sum, count) => sum + count, 0);
const certificatesIn = (text = "") =>
  (text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map(
    (pem) => new X509Certificate(pem),
  );
const isSignedBy = (texts: Texts | null, entry: string, authority: X509Certificate | undefined) =>
  authority !== undefined && certificatesIn(texts?.[entry])[0]?.verify(authority.publicKey) === true;

let changes = 0;
/** Adds Routes until `work` ends. Checks that both nodes serve them, and that no request and no push fails. */
async function underChanges(work: () => Promise<unknown>): Promise<void> {
  const before = changes;
  let done = false;
  const working = work().finally(() => {
    done = true;
  });
  const urls = nodes.map(({ proxy }) => `${proxy}/echo`);
  const loads = await underLoad(urls, async () => {
    do {
      await apply(routeObject(`change-${++changes}`, { serviceRef: { name: "echo" } }));
      await isServed(`/change-${changes}`);
    } while (!done);
  });
  await working;
  for (const [url, { failures }] of Object.entries(loads)) assert.deepEqual(failures, [], url);
  assert.ok(changes > before);
  assert.equal(await failedPushes(), 0);
}

const pids = () => [...nodes, ...operators].map(({ process }) => [process.pid, process.exit()]);

test("nodes get their certificate and the trusted authorities, and no key of the authority", async () => {
  const [own, theirs] = [await textsOf("sluice-push-authority"), await textsOf("sluice-push")];
  assert.deepEqual(Object.keys(theirs ?? {}).sort(), ["ca.crt", "gateway.crt", "gateway.key"]);
  assert.deepEqual(Object.keys(own ?? {}).sort(), ["ca.crt", "ca.key", "operator.crt", "operator.key"]);
  const [authority] = certificatesIn(own?.["ca.crt"]);
  assert.ok(isSignedBy(own, "operator.crt", authority) && isSignedBy(theirs, "gateway.crt", authority));
});

test("operators and nodes report when their certificates expire", async () => {
  const inDays = (count: number) => Date.now() / 1000 + count * 86_400;
  for (const { metric } of operators) {
    const expires = await metric("sluice_operator_certificate_expiry_timestamp_seconds", 'certificate="push"');
    assert.ok(expires > inDays(85) && expires < inDays(95), String(expires));
  }
  for (const { status } of nodes) {
    const body = await (await fetch(`${status}/metrics`)).text();
    assert.match(body, /^sluice_push_certificate_expiry_timestamp_seconds\{node_id="[^"]+"\} \d{10}$/m);
  }
});

test("renewed certificates are used by nodes and operators without a restart or a failed push", async () => {
  const started = pids();
  const before = [await textsOf("sluice-push"), await textsOf("sluice-push-authority")];
  await underChanges(async () => {
    await plane.kubectl(["delete", "secret", "sluice-push"]);
    const patch = { data: { "operator.crt": "" } };
    await plane.kubectl(["patch", "secret", "sluice-push-authority", "--type=merge", "-p", JSON.stringify(patch)]);
    await waitFor(
      async () => {
        const [theirs, own] = [await textsOf("sluice-push"), await textsOf("sluice-push-authority")];
        return theirs && certificatesIn(own?.["operator.crt"]).length === 1 && mounted === JSON.stringify(theirs);
      },
      { what: "both certificates to be renewed", timeout: 10_000 },
    );
    const shown = certificatesIn((await textsOf("sluice-push"))?.["gateway.crt"])[0]?.serialNumber;
    await waitFor(async () => (await serialOf(nodes[1])) === shown, {
      what: "the node to present the new certificate",
    });
  });
  const now = [await textsOf("sluice-push"), await textsOf("sluice-push-authority")];
  assert.notEqual(now[0]?.["gateway.crt"], before[0]?.["gateway.crt"]);
  assert.notEqual(now[1]?.["operator.crt"], before[1]?.["operator.crt"]);
  assert.equal(now[0]?.["ca.crt"], before[0]?.["ca.crt"]);
  assert.deepEqual(pids(), started);
});

/**
 * Presents a client certificate to a node, and requests the node's document. Resolves to the response's status, or to
 * the code or message of the connection's error.
 */
async function asked(node: RestartableNode | undefined, pair: { readonly cert: string; readonly key: string }) {
  const ca = (await textsOf("sluice-push"))?.["ca.crt"] ?? "";
  const dispatcher = new Agent({ connect: { ...pair, ca, servername: "sluice-gateway" } });
  try {
    return (await request(`${node?.push}/document`, { dispatcher })).statusCode;
  } catch (error) {
    return (error as Error & { code?: string }).code ?? (error as Error).message;
  } finally {
    await dispatcher.destroy();
  }
}

async function serialOf(node: RestartableNode | undefined): Promise<string | undefined> {
  const own = await textsOf("sluice-push-authority");
  const { hostname: host, port } = new URL(node?.push ?? "");
  const socket = connect({
    host,
    port: Number(port),
    servername: "sluice-gateway",
    ca: own?.["ca.crt"],
    cert: own?.["operator.crt"],
    key: own?.["operator.key"],
  });
  try {
    await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
    return socket.getPeerCertificate().serialNumber;
  } finally {
    socket.destroy();
  }
}

const pairIn = (texts: Texts | null, side: string) => ({
  cert: texts?.[`${side}.crt`] ?? "",
  key: texts?.[`${side}.key`] ?? "",
});

test("a deleted authority is replaced without a restart or a failed push", async () => {
  const started = pids();
  const before = await textsOf("sluice-push-authority");
  const old = certificatesIn(before?.["ca.crt"])[0];
  await underChanges(async () => {
    await plane.kubectl(["delete", "secret", "sluice-push-authority"]);
    const announced = await waitFor(
      async () =>
        (await textsOf("sluice-push"))?.["ca.crt"] !== before?.["ca.crt"] ? await textsOf("sluice-push") : undefined,
      { what: "the new authority to be trusted", timeout: 10_000 },
    );
    assert.equal(certificatesIn(announced["ca.crt"]).length, 2);
    assert.ok(
      isSignedBy(announced, "gateway.crt", old),
      "the old authority signs until every participant trusts the new one",
    );
    await waitFor(async () => certificatesIn((await textsOf("sluice-push"))?.["ca.crt"]).length === 1, {
      what: "the old authority to be removed",
      timeout: 30_000,
    });
  });
  const [own, theirs] = [await textsOf("sluice-push-authority"), await textsOf("sluice-push")];
  const [now] = certificatesIn(own?.["ca.crt"]);
  assert.notEqual(now?.fingerprint256, old?.fingerprint256);
  assert.ok(isSignedBy(own, "operator.crt", now) && isSignedBy(theirs, "gateway.crt", now));
  assert.deepEqual(pids(), started);
  await waitFor(async () => (await asked(nodes[0], pairIn(before, "operator"))) !== 200, {
    what: "the former certificate to be refused",
  });
  const events = await plane.kubectl([
    "get",
    "events",
    "-o",
    "jsonpath={range .items[*]}{.regarding.name}{.involvedObject.name} {.reason} {.message}{'\\n'}{end}",
  ]);
  for (const line of [
    /^sluice-push Recreated recreated: the Secret was missing$/m,
    /^sluice-push-authority Recreated recreated: its certificate and key were not a valid pair$/m,
    /^sluice-push-authority Recreated recreated: the Secret was missing$/m,
  ])
    assert.match(events, line);
});

test("unknown clients are refused, and so is a node that claims to be the operator", async () => {
  const own = await textsOf("sluice-push-authority");
  const otherAuthority = await makeAuthority("sluice push authority");
  const { certificate, key } = await otherAuthority.issue({ name: "x", sans: ["sluice-operator"], usage: "client" });
  for (const node of nodes) {
    assert.equal(await asked(node, pairIn(own, "operator")), 200);
    assert.notEqual(await asked(node, { cert: certificate, key }), 200);
    assert.notEqual(await asked(node, pairIn(await textsOf("sluice-push"), "gateway")), 200);
  }
});

test("when the leader stops, the other operator continues with the same certificates", async () => {
  const before = await textsOf("sluice-push-authority");
  const status = await Promise.all(operators.map(async (operator) => ({ operator, ...(await operator.status()) })));
  const leader = status.find(({ term }) => term !== null);
  assert.ok(leader);
  await leader.operator.process.stop();
  operators.splice(operators.indexOf(leader.operator), 1);
  await underChanges(() => operators[0]?.process.waitForOutput(/started leading/) ?? assert.fail());
  assert.deepEqual(await textsOf("sluice-push-authority"), before);
});

test("the operator requests its own Secrets only by name, and RBAC refuses none of its requests for Secrets", () => {
  const mine = plane.audited().filter(({ user, resource }) => user === clusterUsers.operator && resource === "secrets");
  const named = mine.filter(({ name }) => name?.startsWith("sluice-push"));
  assert.deepEqual([...new Set(named.map(({ verb }) => verb))].sort(), ["get", "patch"]);
  assert.deepEqual(
    mine.filter(({ status }) => status === 403),
    [],
  );
});
