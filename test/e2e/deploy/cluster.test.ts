import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { type Cluster, startCluster } from "../../../tools/cluster/pods/cluster.ts";
import { waitFor } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { leftBehind } from "./left-behind.ts";
import { askPods, manifests, requestUntilStopped } from "./name-server.ts";

let cluster: Cluster;
before(async () => {
  cluster = await startCluster({ audit: true });
});
after(() => cluster?.down());

const program = (text: string) => ["--input-type=module", "-e", text];
const rolledOut = () => cluster.kubectl(["rollout", "status", "deployment/who", "--timeout=60s"]);
const podNames = async () => {
  const names = await cluster.kubectl(["get", "pods", "-l", "app=who", "-o", "jsonpath={.items[*].metadata.name}"]);
  return names.split(" ").toSorted();
};

test("the cluster has one Ready node of the documented Kubernetes version", async () => {
  const versions = "jsonpath={range .items[*]}{.metadata.name} {.status.nodeInfo.kubeletVersion}{'\\n'}{end}";
  assert.equal(await cluster.kubectl(["get", "nodes", "-o", versions]), "node v1.36.3\n");
  await cluster.kubectl(["wait", "--for=condition=Ready", "node/node", "--timeout=5s"]);
});

test("two pods answer under the name of their Service, and their logs can be read", async () => {
  await cluster.kubectl(["apply", "--server-side", "-f", "-"], manifests);
  await rolledOut();
  const { code, stdout, stderr } = await cluster.run(process.execPath, program(askPods(2)));
  assert.equal(code, 0, stderr);
  const names = await podNames();
  assert.equal(names.length, 2);
  assert.deepEqual(stdout.trim().split("\n"), names);
  for (const name of names) assert.match(await cluster.kubectl(["logs", name]), /TXT IN who\./);
});

test("the control group of a pod has the pod's memory limit", async () => {
  const [name = ""] = await podNames();
  const uid = await cluster.kubectl(["get", "pod", name, "-o", "jsonpath={.metadata.uid}"]);
  const find = ["/sys/fs/cgroup/memory", "-path", `*/pod${uid}/memory.limit_in_bytes`];
  const { stdout } = await cluster.run("find", [...find, "-exec", "cat", "{}", ";"]);
  assert.equal(stdout.trim(), String(128 * 1024 * 1024));
});

test("a volume claim is bound to one of the cluster's volumes", async () => {
  await cluster.kubectl(["wait", "--for=jsonpath={.status.phase}=Bound", "pvc/who", "--timeout=60s"]);
});

test("a missing image is reported as the reason why its pod waits, and the import of a missing archive is refused", async () => {
  await cluster.kubectl(["run", "absent", "--image=sluice.test/absent:1"]);
  const reason = "jsonpath={.status.containerStatuses[0].state.waiting.reason}";
  await waitFor(
    async () => /^ErrImagePull|^ImagePullBackOff/.test(await cluster.kubectl(["get", "pod", "absent", "-o", reason])),
    {
      what: "the reason why the pod does not run",
      timeout: 20_000,
      interval: 200,
    },
  );
  await cluster.kubectl(["delete", "pod", "absent", "--wait=false"]);
  await assert.rejects(cluster.importImage("absent.tar"), /absent\.tar/);
});

test("pods are replaced under load without a failed request", async () => {
  const before = await podNames();
  const load = await cluster.start(process.execPath, program(requestUntilStopped), { name: "load", ready: /asking/ });
  await cluster.kubectl(["rollout", "restart", "deployment/who"]);
  await rolledOut();
  await waitFor(async () => (await podNames()).length === 2, {
    what: "the old pods to be removed",
    timeout: 30_000,
    interval: 200,
  });
  assert.deepEqual(await load.stop(), { code: 0, signal: null });
  const counts = JSON.parse(load.tail(1));
  assert.deepEqual(Object.keys(counts), ["200"], load.tail(1));
  assert.ok(counts["200"] > 100, load.tail(1));
  const now = await podNames();
  assert.ok(
    before.every((name) => !now.includes(name)),
    "a pod was not replaced",
  );
});

test("this machine reaches a Service through a forwarded port, and the API server with a kubeconfig", async () => {
  const way = await cluster.forward("who.default.svc.cluster.local", 80);
  const answers = Array.from({ length: 20 }, async () => (await fetch(`http://127.0.0.1:${way.port}/health`)).text());
  assert.deepEqual([...new Set(await Promise.all(answers))], ["OK"]);
  way.close();
  await assert.rejects(fetch(`http://127.0.0.1:${way.port}/health`));
  const absent = await cluster.forward("absent.default.svc.cluster.local", 80);
  await assert.rejects(fetch(`http://127.0.0.1:${absent.port}/`));
  const outside = [`--kubeconfig=${await cluster.outsideKubeconfig()}`, `--cache-dir=${cluster.folder}/outside-cache`];
  const kubectl = await promisify(execFile)(await obtainTool("kube"), [
    "kubectl",
    ...outside,
    "get",
    "service",
    "who",
    "-o",
    "name",
  ]);
  assert.equal(kubectl.stdout, "service/who\n");
});

test("a user may do only what RBAC grants, and the audit log contains the user's requests", async () => {
  const config = await cluster.kubeconfigFor("reader", ["readers"]);
  const asReader = (...args: string[]) => cluster.kubectl([`--kubeconfig=${config}`, ...args]);
  await assert.rejects(asReader("get", "pods"), /User "reader" cannot list resource "pods"/);
  await cluster.kubectl(["create", "rolebinding", "readers", "--clusterrole=view", "--group=readers"]);
  await waitFor(() => asReader("get", "pods"), { what: "the role binding to take effect", interval: 100 });
  const statuses = cluster
    .audited()
    .filter(({ user, resource }) => user === "reader" && resource === "pods")
    .map(({ verb, namespace, status }) => `${verb} ${namespace} ${status}`);
  assert.deepEqual([statuses[0], statuses.at(-1)], ["list default 403", "list default 200"]);
});

test("pods answer while the API server is stopped, and a Deployment can be scaled once the API server runs again", async () => {
  await cluster.stopComponent("api-server");
  // A connection that was being accepted when the process ended is reset.
  const isRefused = () =>
    cluster.kubectl(["get", "pods", "--request-timeout=1s"]).then(
      () => assert.fail("the API server answered"),
      (error: Error) => /refused/.test(error.message),
    );
  await waitFor(isRefused, { what: "connections to the API server to be refused" });
  const { code, stderr } = await cluster.run(process.execPath, program(askPods(2)));
  assert.equal(code, 0, stderr);
  await cluster.startComponent("api-server");
  assert.equal((await podNames()).length, 2);
  await cluster.kubectl(["scale", "deployment/who", "--replicas=3"]);
  await rolledOut();
});

test("a cluster reports which of its processes has died, leaves no process or file, and does not affect another cluster", async () => {
  const other = await startCluster();
  try {
    assert.equal((await other.kubectl(["get", "deployments", "-o", "name"])).trim(), "");
    assert.equal((await podNames()).length, 3);
    const { stdout } = await other.run("ps", ["-e", "-o", "pid=,args="]);
    const [, scheduler = ""] = /^ *(\d+) \S+ kube-scheduler /m.exec(stdout) ?? [];
    await other.run("kill", ["-KILL", scheduler]);
    assert.match(await other.failed, /^scheduler has ended\. Its last lines:\n.*Starting Kubernetes Scheduler/s);
  } finally {
    await other.down();
  }
  assert.deepEqual(leftBehind(other.folder), []);
  assert.equal((await cluster.run(process.execPath, program(askPods(3)))).code, 0);
});

test("a cluster that cannot start reports the reason, and keeps its logs", async () => {
  const broken = startCluster({ images: [import.meta.filename] });
  const error = await broken.then(
    () => assert.fail("a source file was imported as an image"),
    (reason: Error) => reason,
  );
  assert.match(error.message, /^ctr .*images import .*cluster\.test\.ts: /);
  assert.match(error.message, /--- containerd\.log\n/);
  const [, kept = ""] = error.message.match(/all logs are kept in (\S+)$/) ?? [];
  assert.match(readFileSync(join(kept, "containerd.log"), "utf8"), /containerd/);
  rmSync(kept, { recursive: true });
});
