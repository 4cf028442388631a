/**
 * Which operator serves a resource, on a real API server: classes, watched namespaces, and references between
 * namespaces.
 */
import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { createClusterClient, type Ref, type ResourceClient } from "@sluice/crds";
import { readSettings } from "@sluice/model";
import { pino } from "pino";
import { startAdmin } from "../../gateway/src/admin/index.ts";
import { adminSettings } from "../../gateway/src/settings/commands/admin.ts";
import { openStore } from "../../gateway/src/stores/open.ts";
import { startOperator } from "../../operator/src/operator.ts";
import { testStore } from "../../operator/src/saved-state/testing-store.ts";
import { operatorSettings } from "../../operator/src/settings.ts";
import { startTestNode, type TestNode } from "../../operator/src/testing-node.ts";
import { builtProgram } from "../../tools/build/programs.ts";
import { type ClusterApi, conditionOfRoute, connectApi } from "../../tools/cluster/api.ts";
import { type ControlPlane, startControlPlane } from "../../tools/cluster/control-plane.ts";
import { clusterUsers, namespacedManifests, roleManifests } from "../../tools/cluster/rbac.ts";
import { referenceGrant, referenceGrantCrd } from "../../tools/cluster/reference-grants.ts";
import { startProcess, temporaryFolder, waitFor } from "../../tools/process/index.ts";

const crds = new URL("../../crds/", import.meta.url);
const main = await builtProgram("operator");
const TOKEN = "token-of-the-test";
const log = pino({ level: "silent" });

type Spec = Readonly<Record<string, unknown>>;
const made = (kind: string, at: string, spec: Spec): object => {
  const [namespace, name] = at.split("/");
  return { apiVersion: "sluice.dev/v1alpha1", kind, metadata: { namespace, name }, spec };
};
const service = (at: string, spec: Spec = {}): object => made("Service", at, { url: "http://up.test", ...spec });
const route = (at: string, spec: Spec): object => made("Route", at, spec);

interface Running {
  readonly node: TestNode;
  /** The resources for which the operator wrote a status or an Event, each once, such as `Route one/web`. */
  readonly touched: ReadonlySet<string>;
  close(): Promise<void>;
}

describe("operators and admin listeners of different scopes", { concurrency: false }, () => {
  let plane: ControlPlane;
  let api: ClusterApi;
  let operatorConfig: string;
  const folder = temporaryFolder("ownership");
  const running: Running[] = [];

  before(async () => {
    plane = await startControlPlane({ controllers: true });
    api = connectApi(plane.kubeconfig);
    operatorConfig = await plane.kubeconfigFor(clusterUsers.operator);
    const files = (await readdir(crds)).filter((name) => name.endsWith(".yaml"));
    await plane.kubectl(["apply", "--server-side", ...files.flatMap((name) => ["-f", new URL(name, crds).pathname])]);
    await plane.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
    await plane.kubectl(["create", "-f", "-"], roleManifests("default"));
  });
  afterEach(async () => {
    for (const one of running.splice(0)) await one.close();
  });
  after(async () => {
    api?.close();
    await plane?.stop();
    folder.remove();
  });

  const apply = (...items: readonly object[]) =>
    plane.kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  const remove = (kind: string, at: string) => {
    const [namespace = "", name = ""] = at.split("/");
    return plane.kubectl(["delete", kind, "-n", namespace, name]);
  };
  const namespace = (name: string, labels: Spec = {}) =>
    apply({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });

  /** Starts an operator with the chart's rights and its own node. */
  async function operator(env: Readonly<Record<string, string>> = {}): Promise<Running> {
    const node = await startTestNode(TOKEN);
    const { value: settings, violations } = readSettings(operatorSettings, {
      SLUICE_OPERATOR_LISTEN: "127.0.0.1:0",
      SLUICE_NODES: node.address,
      SLUICE_PUSH_TOKEN: TOKEN,
      ...env,
    });
    assert.ok(settings, JSON.stringify(violations));
    const client = createClusterClient({ kubeconfig: operatorConfig, log });
    const touched = new Set<string>();
    const note = ({ kind, namespace: within, name }: Ref) => void touched.add(`${kind} ${within}/${name}`);
    const noting: ResourceClient = {
      ...client,
      setConditions(ref, ...rest) {
        note(ref);
        return client.setConditions(ref, ...rest);
      },
      recordEvent(ref, ...rest) {
        note(ref);
        return client.recordEvent(ref, ...rest);
      },
    };
    const started = await startOperator({
      settings,
      client: noting,
      log,
      pushCredentials: { credentials: { token: TOKEN } },
      store: testStore(),
    });
    const one = {
      node,
      touched,
      async close() {
        await started.close();
        await client.close();
        await node.stop();
      },
    };
    running.push(one);
    return one;
  }

  const routesOf = ({ node }: Running): readonly string[] =>
    [...(node.snapshot?.routes.values() ?? [])]
      .map(({ name, _sluice }) => `${name}${_sluice?.unavailable === undefined ? "" : " closed"}`)
      .sort();
  const serves = (one: Running, routes: readonly string[], timeout = 10_000) =>
    waitFor(() => JSON.stringify(routesOf(one)) === JSON.stringify(routes), {
      what: `the node to have ${routes.join(", ") || "no route"}`,
      timeout,
    });
  const says = (at: string, type: string, words: RegExp, timeout = 10_000) =>
    waitFor(async () => words.test(await conditionOfRoute(api, at, type)), {
      what: `${at} to report ${words}`,
      timeout,
    });

  test("two installations with different classes never write a status or an Event of each other's resources, and a resource may move from one installation to the other", async () => {
    await namespace("classes");
    const mine = await operator();
    const theirs = await operator({ SLUICE_CLASS: "theirs" });
    const other = { class: "theirs" };
    await apply(
      service("classes/up"),
      service("classes/their-up", other),
      route("classes/web", { paths: ["/web"], serviceRef: { name: "up" } }),
      route("classes/their-web", { paths: ["/web"], serviceRef: { name: "their-up" }, ...other }),
      route("classes/broken", { paths: ["/broken"], serviceRef: { name: "their-up" } }),
      route("classes/their-broken", { paths: ["/broken"], serviceRef: { name: "up" }, ...other }),
    );
    await serves(mine, ["classes.broken closed", "classes.web"]);
    await serves(theirs, ["classes.their-broken closed", "classes.their-web"]);
    await says("classes/web", "Programmed", /^True/);
    await says("classes/their-web", "Programmed", /^True/);
    await says("classes/broken", "ResolvedRefs", /^False ServiceNotFound/);
    await says("classes/their-broken", "ResolvedRefs", /^False ServiceNotFound/);
    assert.deepEqual([...mine.touched].sort(), ["Route classes/broken", "Route classes/web", "Service classes/up"]);
    assert.deepEqual([...theirs.touched].sort(), [
      "Route classes/their-broken",
      "Route classes/their-web",
      "Service classes/their-up",
    ]);

    await apply(route("classes/broken", { paths: ["/broken"], serviceRef: { name: "their-up" }, ...other }));
    await serves(mine, ["classes.web"]);
    await serves(theirs, ["classes.broken", "classes.their-web"]);
    await says("classes/their-broken", "ResolvedRefs", /^False ServiceNotFound/);
    await says("classes/broken", "Programmed", /^True/);
    await plane.kubectl(["delete", "namespace", "classes", "--wait=false"]);
  });

  test("two installations of one class that watch different namespaces never write a status or an Event of each other's resources", async () => {
    const scopes = ["scope-a", "scope-b"];
    for (const name of scopes) await namespace(name);
    const [one, two] = await Promise.all(
      scopes.map((name) => operator({ SLUICE_NAMESPACES: name, SLUICE_HOME_NAMESPACE: name })),
    );
    assert.ok(one && two);
    for (const name of scopes)
      await apply(
        service(`${name}/up`),
        route(`${name}/web`, { paths: ["/web"], serviceRef: { name: "up" } }),
        route(`${name}/broken-${name}`, { paths: ["/broken"], serviceRef: { name: "missing" } }),
      );
    for (const [index, running] of [one, two].entries()) {
      const name = scopes[index];
      await serves(running, [`broken-${name} closed`, "web"]);
      await says(`${name}/web`, "Programmed", /^True/);
      await says(`${name}/broken-${name}`, "ResolvedRefs", /^False/);
      assert.deepEqual([...running.touched].sort(), [
        `Route ${name}/broken-${name}`,
        `Route ${name}/web`,
        `Service ${name}/up`,
      ]);
    }
    await plane.kubectl(["delete", "namespace", ...scopes, "--wait=false"]);
  });

  test("all resources of a namespace are served as soon as it gets the selected label, and none after it loses the label", async () => {
    const label = "sluice.test/gateway";
    await namespace("labelled", { [label]: "public" });
    await namespace("plain");
    for (const name of ["labelled", "plain"])
      await apply(service(`${name}/up`), route(`${name}/web`, { paths: [`/${name}`], serviceRef: { name: "up" } }));
    await apply(service("default/up"), route("default/home", { paths: ["/home"], serviceRef: { name: "up" } }));
    const one = await operator({ SLUICE_NAMESPACE_SELECTOR: `${label}=public` });
    await serves(one, ["home", "labelled.web"]);
    await says("labelled/web", "Programmed", /^True/);
    assert.ok(
      [...one.touched].every((name) => !name.includes(" plain/")),
      [...one.touched].join(),
    );

    await plane.kubectl(["label", "namespace", "plain", `${label}=public`]);
    await serves(one, ["home", "labelled.web", "plain.web"]);
    await says("plain/web", "Programmed", /^True/);

    await plane.kubectl(["label", "namespace", "labelled", "--overwrite", `${label}=private`]);
    await serves(one, ["home", "plain.web"]);
    // A change in a namespace that is not selected takes effect when the namespace is selected again.
    await apply(route("labelled/more", { paths: ["/more"], serviceRef: { name: "up" } }));
    await apply(route("plain/more", { paths: ["/more-of-plain"], serviceRef: { name: "up" } }));
    await serves(one, ["home", "plain.more", "plain.web"]);
    assert.ok(!one.touched.has("Route labelled/more"));
    await plane.kubectl(["label", "namespace", "labelled", "--overwrite", `${label}=public`]);
    await serves(one, ["home", "labelled.more", "labelled.web", "plain.more", "plain.web"]);
    await plane.kubectl(["delete", "namespace", "labelled", "plain", "--wait=false"]);
    await remove("gwroute", "default/home");
  });

  test("a reference to another namespace is accepted only while a ReferenceGrant allows it, and never without the CRD of ReferenceGrants", async () => {
    for (const name of ["team", "shop"]) await namespace(name);
    await apply(
      service("shop/up"),
      route("team/web", { paths: ["/web"], serviceRef: { namespace: "shop", name: "up" } }),
      route("team/guess", { paths: ["/guess"], serviceRef: { namespace: "shop", name: "absent" } }),
    );
    const one = await operator({ SLUICE_NAMESPACES: "team,shop" });
    await serves(one, ["team.guess closed", "team.web closed"]);
    for (const [name, meant] of [
      ["web", "up"],
      ["guess", "absent"],
    ] as const)
      await says(
        `team/${name}`,
        "ResolvedRefs",
        new RegExp(`^False RefNotPermitted .*Service of sluice.dev ${meant}: create a ReferenceGrant there`),
      );

    await apply(referenceGrantCrd);
    await plane.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
    const at = { namespace: "shop", name: "team" };
    const grant = referenceGrant(at, { kind: "Route", namespace: "team" }, { kind: "Service" });
    await waitFor(() => apply(grant), { what: "the new kind to be served" });
    // The operator retries to list a kind whose CRD was missing, with a backoff of up to 30 s.
    await serves(one, ["team.guess closed", "team.web"], 45_000);
    await says("team/web", "Programmed", /^True/);
    await says("team/guess", "ResolvedRefs", /^False ServiceNotFound/);

    await remove("referencegrant", "shop/team");
    await serves(one, ["team.guess closed", "team.web closed"]);
    await says("team/web", "ResolvedRefs", /^False RefNotPermitted/);
    await apply(grant);
    await serves(one, ["team.guess closed", "team.web"]);

    await plane.kubectl(["delete", "crd", "referencegrants.gateway.networking.k8s.io"]);
    await serves(one, ["team.guess closed", "team.web closed"]);
    await apply(service("team/own"), route("team/own", { paths: ["/own"], serviceRef: { name: "own" } }));
    await serves(one, ["team.guess closed", "team.own", "team.web closed"]);
    await plane.kubectl(["delete", "namespace", "team", "shop", "--wait=false"]);
  });

  const namespaces = ["gateway", "tenant"];

  /**
   * Creates a service account in the namespace `gateway` with the chart's Roles and without a ClusterRole. Resolves to
   * the path of its kubeconfig.
   */
  async function withRolesAlone(part: "operator" | "admin"): Promise<string> {
    const account = `sluice-${part}`;
    await plane.kubectl(["create", "serviceaccount", "-n", "gateway", account]);
    const manifests = namespacedManifests({ part, account, homeNamespace: "gateway", namespaces });
    await plane.kubectl(["create", "-f", "-"], manifests);
    const token = (await plane.kubectl(["create", "token", "-n", "gateway", account])).trim();
    const config = JSON.parse(await readFile(plane.kubeconfig, "utf8"));
    config.users[0].user = { token };
    const path = join(folder.path, `${part}.kubeconfig`);
    await writeFile(path, JSON.stringify(config), { mode: 0o600 });
    return path;
  }

  test("an operator that watches named namespaces needs no ClusterRole", async () => {
    for (const name of [...namespaces, "foreign"]) await namespace(name);
    const kubeconfig = await withRolesAlone("operator");
    const may = (...what: readonly string[]) =>
      plane.kubectl([`--kubeconfig=${kubeconfig}`, "auth", "can-i", ...what]).catch(({ message }: Error) => message);
    assert.match(await may("list", "routes.sluice.dev", "-n", "tenant"), /^yes/);
    assert.doesNotMatch(await may("list", "routes.sluice.dev", "--all-namespaces"), /^yes/);

    const node = await startTestNode(TOKEN);
    const started = await startProcess(main, [], {
      name: "operator",
      env: {
        KUBECONFIG: kubeconfig,
        SLUICE_OPERATOR_LISTEN: "127.0.0.1:0",
        SLUICE_NODES: node.address,
        SLUICE_PUSH_TOKEN: TOKEN,
        SLUICE_NAMESPACES: namespaces.join(","),
        SLUICE_HOME_NAMESPACE: "gateway",
      },
    });
    try {
      await apply(
        service("gateway/up"),
        service("tenant/up"),
        service("foreign/up"),
        route("gateway/home", { paths: ["/home"], serviceRef: { name: "up" } }),
        route("tenant/web", { paths: ["/web"], serviceRef: { name: "up" } }),
        route("tenant/broken", { paths: ["/broken"], serviceRef: { name: "missing" } }),
        route("foreign/web", { paths: ["/foreign"], serviceRef: { name: "up" } }),
      );
      await says("tenant/web", "Programmed", /^True/, 20_000);
      await says("gateway/home", "Programmed", /^True/);
      await says("tenant/broken", "ResolvedRefs", /^False ServiceNotFound/);
      await waitFor(async () => (await plane.kubectl(["get", "events", "-n", "tenant"])).includes("ServiceNotFound"), {
        what: "an Event of the broken route",
      });
      assert.deepEqual([...(node.snapshot?.routes.values() ?? [])].map(({ name }) => name).sort(), [
        "home",
        "tenant.broken",
        "tenant.web",
      ]);
      assert.equal(await conditionOfRoute(api, "foreign/web", "Accepted"), "");
      assert.doesNotMatch(started.tail(200), /forbidden/i);
    } finally {
      await started.stop();
      await node.stop();
    }
  });

  test("an admin listener that reads named namespaces needs no ClusterRole", async () => {
    const kubeconfig = process.env.KUBECONFIG;
    process.env.KUBECONFIG = await withRolesAlone("admin");
    const { value: settings, violations } = readSettings(adminSettings, {
      SLUICE_ADMIN_LISTEN: "127.0.0.1:0",
      SLUICE_STORE: "cluster",
      SLUICE_NAMESPACES: "tenant",
      SLUICE_HOME_NAMESPACE: "gateway",
      SLUICE_ADMIN_WAIT: "1ms",
      SLUICE_OPERATOR_URL: "http://127.0.0.1:1",
    });
    assert.ok(settings, JSON.stringify(violations));
    const quiet = { info() {}, warn() {}, error() {} };
    const opened = await openStore(settings, quiet);
    // KUBECONFIG can be restored already, because the Kubernetes client has read it.
    if (kubeconfig === undefined) delete process.env.KUBECONFIG;
    else process.env.KUBECONFIG = kubeconfig;
    const admin = await startAdmin({ settings, opened, log: quiet, version: "1" });
    try {
      const url = `http://127.0.0.1:${admin.address.port}/services`;
      const answer = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ name: "made", host: "made.test" }),
      });
      assert.equal(answer.status, 201, await answer.text());
      const { data } = (await (await fetch(url)).json()) as { data: readonly { readonly name: string }[] };
      assert.deepEqual(data.map(({ name }) => name).sort(), ["made", "tenant.up", "up"]);
      assert.match(await plane.kubectl(["get", "gwsvc", "-n", "gateway", "-o", "name"]), /made/);
    } finally {
      await admin.close();
      await opened.close();
    }
  });
});
