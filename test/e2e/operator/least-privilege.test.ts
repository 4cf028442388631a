/** The chart's roles grant exactly the rights that are used, according to the audit log. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { DEFAULT_CLASS, gatewayController, ingressController } from "@sluice/model";
import { parse } from "yaml";
import { builtProgram } from "../../../tools/build/programs.ts";
import { repositoryRoot } from "../../../tools/check/source-files.ts";
import { type ControlPlane, startControlPlane } from "../../../tools/cluster/control-plane.ts";
import { type PushCertificateFiles, writePushCertificates } from "../../../tools/cluster/push-certificates.ts";
import { clusterUsers, namespacedManifests, pushManifests, roleManifests } from "../../../tools/cluster/rbac.ts";
import { freePort, type Process, startProcess, temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import type { Env } from "../../../tools/start/processes.ts";
import {
  type OperationContext,
  privateSecrets,
  runAllAdminOperations,
  runAllOperatorOperations,
  runAllRevisionOperations,
} from "./all-operations.ts";
import { grantsOf, refusedRequests, unusedGrants } from "./compare-rights.ts";
import { nodeOf, operatorOf, type RestartableOperator } from "./fault-environment.ts";

/** Namespace of the Secrets that only the operator reads. */
const APART = "default-operator";
const folder = temporaryFolder("privilege");
after(folder.remove);
let plane: ControlPlane;
let certificates: PushCertificateFiles;
let webhookPort: number;
const started: { stop(): Promise<unknown> }[] = [];
after(async () => {
  for (const one of started.reverse()) await one.stop();
  await plane?.stop();
});

before(async () => {
  plane = await startControlPlane({ audit: true });
  certificates = await writePushCertificates(join(folder.path, "push"));
  webhookPort = await freePort();
  const webhook = parse(readFileSync(join(repositoryRoot, "charts/sluice/files/webhook.yaml"), "utf8"));
  const configuration = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "sluice-webhook" },
    webhooks: [{ ...webhook, clientConfig: { url: `https://127.0.0.1:${webhookPort}/validate` } }],
  };
  const apply = (...items: readonly object[]) =>
    plane.kubectl(["apply", "--server-side", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  const ingressClass = {
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: { name: "public" },
    spec: { controller: ingressController(DEFAULT_CLASS) },
  };
  const gatewayClass = {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "GatewayClass",
    metadata: { name: "public" },
    spec: { controllerName: gatewayController(DEFAULT_CLASS) },
  };
  await apply(configuration, ingressClass);
  await plane.kubectl(["apply", "--server-side", "-f", await obtainTool("gateway-api-crds")]);
  await plane.kubectl(["apply", "--server-side", "-f", join(repositoryRoot, "crds")]);
  await plane.kubectl(["create", "namespace", APART]);
  await plane.kubectl(["apply", "--server-side", "-f", "-"], roleManifests("default", APART));
  await plane.kubectl(["apply", "--server-side", "-f", "-"], pushManifests("default", APART));
  await plane.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
  await waitFor(() => plane.kubectl(["get", "sluice", "--all-namespaces"]), { what: "the new kinds to be served" });
  await waitFor(() => apply(gatewayClass), { what: "the GatewayClass to be created" });
});

/** Creates a service account. Resolves to a token of it. */
async function tokenOf(namespace: string, account: string): Promise<string> {
  await plane.kubectl(["create", "serviceaccount", "-n", namespace, account]);
  return (await plane.kubectl(["create", "token", "-n", namespace, account])).trim();
}

/** Creates an account that has only Roles in one namespace. Resolves to the path of its kubeconfig. */
async function withRolesAlone(part: keyof typeof clusterUsers, namespace: string): Promise<string> {
  const account = clusterUsers[part];
  const token = await tokenOf(namespace, account);
  const roles = namespacedManifests({ part, account, homeNamespace: namespace, namespaces: [namespace] });
  await plane.kubectl(["create", "-f", "-"], roles);
  const config = JSON.parse(readFileSync(plane.kubeconfig, "utf8"));
  config.users[0].user = { token };
  const path = join(folder.path, `${part}-of-${namespace}.kubeconfig`);
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

interface Account {
  readonly kubeconfig: string;
  readonly settings: Env;
}

/**
 * Waits for the Secret in which the operator stores the node's certificate, and writes its entries to files, as if the
 * Secret were mounted. Resolves to a node's settings with these files.
 */
async function mounted(namespace: string): Promise<Env> {
  const read = () => plane.kubectl(["-n", namespace, "get", "secret", "sluice-push", "-o", "json"]);
  const { data } = JSON.parse(await waitFor(read, { what: "the operator to create certificates", timeout: 30_000 }));
  const put = (entry: string) => {
    const file = join(folder.path, `${namespace}-${entry}`);
    writeFileSync(file, Buffer.from(data[entry], "base64"), { mode: 0o600 });
    return file;
  };
  return {
    SLUICE_PUSH_TLS_CERT: put("gateway.crt"),
    SLUICE_PUSH_TLS_KEY: put("gateway.key"),
    SLUICE_PUSH_TLS_CA: put("ca.crt"),
  };
}

interface PlaceOptions {
  readonly operator: Account;
  readonly admin: Account;
  readonly token: string | null;
  readonly ingressClass: string;
  readonly gatewayClass: string;
}

async function placeOf(
  namespace: string,
  { operator, admin, token, ...classes }: PlaceOptions,
): Promise<OperationContext> {
  const own: Env = {
    KUBECONFIG: operator.kubeconfig,
    SLUICE_HOME_NAMESPACE: namespace,
    SLUICE_REVISIONS: "3",
    SLUICE_PUBLISH_ADDRESSES: "192.0.2.1",
    ...operator.settings,
  };
  const running = await operatorOf(`operator of ${namespace}`, own);
  started.push({ stop: () => running.process.stop() });
  const makesCertificates = "SLUICE_PUSH_SECRET" in operator.settings;
  const node = await nodeOf(`node of ${namespace}`, makesCertificates ? await mounted(namespace) : certificates.node);
  started.push(node.process);
  const restart = async (between?: () => Promise<void>) => {
    await running.process.stop();
    await between?.();
    await running.start({ SLUICE_NODES: node.push });
  };
  await restart();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  started.push(await startAdmin(namespace, port, { operator: running, admin }));
  return {
    namespace,
    privateNamespace: own.SLUICE_PRIVATE_NAMESPACE ?? namespace,
    ...classes,
    kubectl: plane.kubectl,
    operatorTail: () => running.process.tail(40),
    restartOperator: restart,
    async admin(method, path, body) {
      const response = await fetch(url + path, {
        method,
        headers: {
          ...(body && { "content-type": "application/json" }),
          ...(token && { authorization: `Bearer ${token}` }),
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, body: text === "" ? {} : JSON.parse(text) };
    },
  };
}

async function startAdmin(
  namespace: string,
  port: number,
  { operator, admin }: { readonly operator: RestartableOperator; readonly admin: Account },
): Promise<Process> {
  return startProcess(await builtProgram("gateway"), ["admin"], {
    name: `admin of ${namespace}`,
    ready: `http://127.0.0.1:${port}/`,
    env: {
      KUBECONFIG: admin.kubeconfig,
      SLUICE_STORE: "cluster",
      SLUICE_DIRECTORY: undefined,
      SLUICE_ADMIN_LISTEN: `127.0.0.1:${port}`,
      SLUICE_HOME_NAMESPACE: namespace,
      SLUICE_OPERATOR_URL: operator.url,
      SLUICE_ADMIN_WAIT: "100ms",
      ...admin.settings,
    },
  });
}

/**
 * Rights that only an operator with SLUICE_NODE_SERVICE uses, to create and remove the Services of Gateways. The nodes
 * of this suite have no Service; test/cluster/gateway-services.test.ts uses these rights.
 */
const rightsForServices = (namespace: string): readonly string[] => [
  "get gateways.gateway.networking.k8s.io",
  ...["get", "create", "patch", "delete"].map((verb) => `${verb} services in ${namespace}`),
];

const of = (user: string) => plane.audited().filter((one) => one.user === user);

test("accounts with a ClusterRole and Roles use all rights that these grant, and request no other rights", async () => {
  const person = await tokenOf("default", "person");
  await plane.kubectl([
    "create",
    "clusterrolebinding",
    "person",
    "--clusterrole=cluster-admin",
    "--serviceaccount=default:person",
  ]);
  const place = await placeOf("default", {
    operator: {
      kubeconfig: await plane.kubeconfigFor(clusterUsers.operator),
      settings: {
        SLUICE_NAMESPACE_SELECTOR: "team",
        SLUICE_WEBHOOK_LISTEN: `127.0.0.1:${webhookPort}`,
        SLUICE_PUSH_SECRET: "sluice-push",
        SLUICE_PRIVATE_NAMESPACE: APART,
      },
    },
    admin: { kubeconfig: await plane.kubeconfigFor(clusterUsers.admin), settings: { SLUICE_ADMIN_KUBERNETES: "true" } },
    token: person,
    ingressClass: "public",
    gatewayClass: "public",
  });
  await runAllOperatorOperations(place);
  assert.match(await runAllRevisionOperations(place), /^sluice-admin \(.+\)$/, "the webhook saw the user");
  await runAllAdminOperations(place);
  const operator = of(clusterUsers.operator);
  const admin = of(clusterUsers.admin);
  assert.deepEqual(
    {
      operator: {
        refused: refusedRequests(operator),
        unused: unusedGrants(
          grantsOf(
            "operator",
            ["cluster", "clusterOnly", "webhook", "push", "home", "private", "privatePush", "moved"],
            { home: "default", own: APART },
          ),
          operator,
        ),
      },
      admin: {
        refused: refusedRequests(admin),
        unused: unusedGrants(
          grantsOf("admin", ["cluster", "clusterOnly", "home"], { home: "default", own: APART }),
          admin,
        ),
      },
    },
    { operator: { refused: [], unused: rightsForServices("default") }, admin: { refused: [], unused: [] } },
  );
});

test("the admin API's account may not read the signing keys of certificates or the key of the saved document", async () => {
  const secrets = ["sluice-operator-document", "sluice-push-authority", "sluice-webhook"];
  const own = await privateSecrets({ kubectl: plane.kubectl, privateNamespace: APART } as OperationContext);
  assert.deepEqual([...own].sort(), secrets);
  const home = await plane.kubectl(["-n", "default", "get", "secrets", "-o", "jsonpath={.items[*].metadata.name}"]);
  assert.deepEqual(
    home.split(" ").filter((name) => secrets.includes(name)),
    [],
    "the previous objects are removed",
  );
  const asked = of(clusterUsers.admin).length;
  const kubeconfig = `--kubeconfig=${await plane.kubeconfigFor(clusterUsers.admin)}`;
  for (const name of [[], ...secrets.map((secret) => [secret])])
    await assert.rejects(plane.kubectl([kubeconfig, "-n", APART, "get", "secrets", ...name]), /forbidden/);
  const answers = of(clusterUsers.admin)
    .slice(asked)
    .filter(({ resource }) => resource === "secrets");
  assert.deepEqual(
    answers.map(({ verb, name, status }) => [verb, name, status]),
    [["list", "", 403], ...secrets.map((secret) => ["get", secret, 403])],
  );
});

test("accounts with only Roles in a namespace use all rights that the Roles grant, and request no other rights", async () => {
  await plane.kubectl(["create", "namespace", "team"]);
  // This configuration of a webhook belongs to the operator of the previous tests. An operator without a ClusterRole
  // has no webhook.
  await plane.kubectl(["delete", "validatingwebhookconfiguration", "sluice-webhook"]);
  const settings = { SLUICE_NAMESPACES: "team" };
  const place = await placeOf("team", {
    operator: {
      kubeconfig: await withRolesAlone("operator", "team"),
      settings: { ...settings, ...certificates.operator },
    },
    admin: { kubeconfig: await withRolesAlone("admin", "team"), settings },
    token: null,
    // Without the right to read IngressClasses and GatewayClasses, the operator serves the Ingresses and Gateways that
    // name its own class.
    ingressClass: DEFAULT_CLASS,
    gatewayClass: DEFAULT_CLASS,
  });
  await runAllOperatorOperations(place);
  await runAllRevisionOperations(place);
  await runAllAdminOperations(place);
  const operator = of(`system:serviceaccount:team:${clusterUsers.operator}`);
  const admin = of(`system:serviceaccount:team:${clusterUsers.admin}`);
  // An operator without a webhook never creates the Secret sluice-webhook.
  const team = { home: "team", own: "team" };
  const grants = grantsOf("operator", ["cluster", "home", "private"], team).filter(
    ({ names }) => !names?.includes("sluice-webhook"),
  );
  assert.deepEqual(
    {
      operator: { refused: refusedRequests(operator), unused: unusedGrants(grants, operator) },
      admin: {
        refused: refusedRequests(admin),
        unused: unusedGrants(grantsOf("admin", ["cluster", "home"], team), admin),
      },
    },
    { operator: { refused: [], unused: rightsForServices("team") }, admin: { refused: [], unused: [] } },
  );
});
