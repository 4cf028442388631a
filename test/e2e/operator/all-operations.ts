/** All operations of an operator and an admin listener in one namespace, one after the other. */
import { crdNames, entityCrdNames, kindFacts, pluralOf, type ResourceKind } from "@sluice/model";
import { freePort, waitFor } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";

export interface OperationContext {
  readonly namespace: string;
  /** Namespace of the Secrets that only the operator reads. */
  readonly privateNamespace: string;
  /** The `spec.ingressClassName` of the operator's Ingresses. */
  readonly ingressClass: string;
  /** The `spec.gatewayClassName` of the operator's Gateways. */
  readonly gatewayClass: string;
  /** kubectl as the administrator. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /** The last lines of the operator's log. */
  operatorTail(): string | Promise<string>;
  /** Stops the operator gracefully, calls `between`, and starts the operator again. */
  restartOperator(between: () => Promise<void>): Promise<void>;
  /** A request to the admin listener; resolves to the response's status and body. */
  admin(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> }>;
}

const authority = await makeAuthority();
const { certificate: authorityOfAdmin } = await makeAuthority();
const pair = await authority.issue({ name: "one.test", sans: ["one.test"], usage: "server" });
const label = { "sluice.dev/credential": "key-auth" };

function resources({ namespace }: OperationContext): readonly object[] {
  const one = (kind: string, name: string, spec: object) => ({
    apiVersion: "sluice.dev/v1alpha1",
    kind,
    metadata: { name, namespace },
    spec,
  });
  const secret = (name: string, type: string, stringData: object) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace, labels: label },
    type,
    stringData,
  });
  return [
    secret("tls", "kubernetes.io/tls", { "tls.crt": pair.certificate, "tls.key": pair.key }),
    secret("key", "Opaque", { key: `key-of-${namespace}` }),
    one("Certificate", "good", { secretRef: { name: "tls" }, snis: [{ name: `${namespace}.test` }] }),
    one("CACertificate", "good", { cert: authority.certificate }),
    one("Vault", "good", { backend: "env", prefix: `${namespace}-good` }),
    one("GraphQLDocuments", "good", { name: `${namespace}.good`, manifest: "{}" }),
    one("Upstream", "good", { name: `${namespace}.internal`, targets: [{ target: "127.0.0.1:9001" }] }),
    one("Service", "good", { name: `${namespace}-good`, url: "http://127.0.0.1:9001" }),
    one("Route", "good", { serviceRef: { name: "good" }, paths: [`/${namespace}`] }),
    one("Plugin", "good", { plugin: "cors", config: {}, targetRefs: [{ kind: "Route", name: "good" }] }),
    one("ConsumerGroup", "good", { name: `${namespace}-good` }),
    one("Consumer", "good", { username: `${namespace}-good`, keyAuth: [{ secretRef: { name: "key", key: "key" } }] }),
  ];
}

/**
 * Errors that neither a schema nor the webhook can detect. If two resources created in the same second claim one entity
 * name, the one whose metadata.name sorts first wins: "invalid" sorts after "good", so that the invalid ones lose.
 */
function invalid({ namespace }: OperationContext): readonly object[] {
  const one = (kind: string, spec: object) => ({
    apiVersion: "sluice.dev/v1alpha1",
    kind,
    metadata: { name: "invalid", namespace },
    spec,
  });
  return [
    one("Certificate", { secretRef: { name: "absent" }, snis: [{ name: `invalid.${namespace}.test` }] }),
    one("CACertificate", { cert: authority.certificate }),
    one("Vault", { backend: "env", prefix: `${namespace}-good` }),
    one("GraphQLDocuments", { name: `${namespace}.good`, manifest: "{}" }),
    one("Upstream", { name: `${namespace}.internal`, targets: [{ target: "127.0.0.1:9001" }] }),
    one("Service", { name: `${namespace}-good`, url: "http://127.0.0.1:9001" }),
    one("Route", { serviceRef: { name: "absent" }, paths: ["/invalid"] }),
    one("Plugin", { plugin: "cors", config: {}, targetRefs: [{ kind: "Route", name: "absent" }] }),
    one("ConsumerGroup", { name: `${namespace}-good` }),
    one("Consumer", { username: "invalid", keyAuth: [{ secretRef: { name: "absent", key: "key" } }] }),
  ];
}

/**
 * An Ingress, its core Service, and the ConfigMap that one of its annotations names. An Event reports the other
 * annotation, which has no effect.
 */
function ingress({ namespace, ingressClass }: OperationContext): readonly object[] {
  const service = { apiVersion: "v1", kind: "Service", metadata: { name: "good", namespace } };
  const backend = { service: { name: "good", port: { number: 80 } } };
  const annotations = {
    "nginx.ingress.kubernetes.io/unknown": "a",
    "nginx.ingress.kubernetes.io/custom-headers": "good-headers",
  };
  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "good-headers", namespace } };
  const rule = { host: `ingress.${namespace}.test`, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } };
  return [
    { ...service, spec: { ports: [{ port: 80 }] } },
    { ...configMap, data: { "X-Frame-Options": "DENY" } },
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "good", namespace, annotations },
      spec: { ingressClassName: ingressClass, rules: [rule] },
    },
  ];
}

/**
 * A Gateway, routes with a copy of a Plugin whose Secret does not exist, about which Events are recorded, and a policy
 * for their backend.
 */
function gatewayApi({ namespace, gatewayClass }: OperationContext, port: number): readonly object[] {
  const one = (apiVersion: string, kind: string, spec: object) => ({
    apiVersion,
    kind,
    metadata: { name: "incomplete", namespace },
    spec,
  });
  const extensionRef = { group: "sluice.dev", kind: "Plugin", name: "incomplete" };
  return [
    one("sluice.dev/v1alpha1", "Plugin", {
      plugin: "http-log",
      enabled: false,
      configFrom: [{ path: "http_endpoint", secretRef: { name: "absent", key: "url" } }],
    }),
    one("gateway.networking.k8s.io/v1", "BackendTLSPolicy", {
      targetRefs: [{ group: "", kind: "Service", name: "good" }],
      validation: { hostname: "good.test", wellKnownCACertificates: "System" },
    }),
    one("gateway.networking.k8s.io/v1", "Gateway", {
      gatewayClassName: gatewayClass,
      listeners: [{ name: "http", port, protocol: "HTTP" }],
    }),
    one("gateway.networking.k8s.io/v1", "ListenerSet", {
      parentRef: { name: "incomplete" },
      listeners: [{ name: "http", port, protocol: "HTTP" }],
    }),
    ...["HTTPRoute", "GRPCRoute"].map((kind) =>
      one("gateway.networking.k8s.io/v1", kind, {
        parentRefs: [{ name: "incomplete" }],
        hostnames: [`${kind.toLowerCase()}.test`],
        rules: [{ filters: [{ type: "ExtensionRef", extensionRef }], backendRefs: [{ name: "good", port: 80 }] }],
      }),
    ),
    one("gateway.networking.k8s.io/v1", "TLSRoute", {
      parentRefs: [{ name: "incomplete" }],
      hostnames: ["tls.test"],
      rules: [{ backendRefs: [{ name: "good", port: 80 }] }],
    }),
  ];
}

const list = (items: readonly object[]) => JSON.stringify({ apiVersion: "v1", kind: "List", items });

/**
 * Makes the operator write statuses and Events (one repeatedly), also those of an Ingress and of a route of the
 * Gateway API, move its Secrets to the private namespace, and add and remove parts of the saved document.
 */
export async function runAllOperatorOperations(place: OperationContext): Promise<void> {
  const { namespace, kubectl } = place;
  const inPlace = (...args: readonly string[]) => kubectl(["-n", namespace, ...args]);
  await kubectl(["apply", "-f", "-"], list(resources(place)));
  const good = entityCrdNames.map((name) => `${name}/good`);
  await inPlace("wait", "--for=condition=Programmed", "--timeout=60s", ...good);
  await kubectl(["apply", "-f", "-"], list(invalid(place)));
  const hasEvents = async () => {
    const names = await inPlace(
      "get",
      "events.events.k8s.io",
      "-o",
      "jsonpath={range .items[*]}{.regarding.kind} {.regarding.name}{'\\n'}{end}",
    );
    return new Set(names.split("\n").filter((name) => name.endsWith(" invalid"))).size === entityCrdNames.length;
  };
  await waitFor(hasEvents, { what: "an Event of each kind", timeout: 60_000, interval: 200 });
  await waitFor(
    async () => {
      // Removes the conditions, as if they had never been written.
      const forget = () =>
        inPlace(
          "patch",
          "routes.sluice.dev",
          "invalid",
          "--subresource=status",
          "--type=merge",
          "-p",
          '{"status":{"conditions":[]}}',
        );
      await place.restartOperator(async () => {
        await forget();
        await asOfBefore(place);
      });
      const again = await inPlace("wait", "--for=condition=Accepted", "--timeout=60s", "routes.sluice.dev/invalid");
      // Kubernetes' own components count their Events too.
      const own = '?(@.reportingController=="sluice-operator")';
      const counts = await inPlace("get", "events.events.k8s.io", "-o", `jsonpath={.items[${own}].series.count}`);
      return again && counts.trim() !== "";
    },
    { what: "an Event with the count of a series", timeout: 60_000 },
  );
  await serveIngress(place);
  await serveGatewayApi(place);
  const parts = () => inPlace("get", "configmaps", "-l", "sluice.dev/part-of", "-o", "name");
  const kept = await waitFor(async () => (await parts()) || undefined, {
    what: "parts of the document",
    timeout: 30_000,
  }).catch(async (cause: unknown) => {
    throw new Error(`no part of the document is saved; the end of the operator's log:\n${await place.operatorTail()}`, {
      cause,
    });
  });
  await inPlace(
    "patch",
    "routes.sluice.dev",
    "good",
    "--type=merge",
    "-p",
    `{"spec":{"paths":["/${namespace}/moved"]}}`,
  );
  await waitFor(async () => ![kept, ""].includes(await parts()), {
    what: "a new part of the saved document",
    timeout: 30_000,
    interval: 200,
  });
}

/** Makes the operator serve an Ingress, write the gateway's addresses into its status, and record an Event about it. */
async function serveIngress(place: OperationContext): Promise<void> {
  const { namespace, kubectl } = place;
  await kubectl(["apply", "-f", "-"], list(ingress(place)));
  const read = (kind: string, path: string, ...args: readonly string[]) =>
    kubectl(["-n", namespace, "get", kind, ...args, "-o", `jsonpath={${path}}`]);
  const address = () => read("ingress", ".status.loadBalancer.ingress[0].ip", "good");
  await waitFor(address, { what: "an address in the status of the Ingress", timeout: 60_000, interval: 200 });
  const notes = () => read("events.events.k8s.io", ".items[*].note", "--field-selector=regarding.kind=Ingress");
  await waitFor(notes, { what: "an Event about the Ingress", timeout: 60_000, interval: 200 });
}

/** Makes the operator write the statuses of a Gateway, its routes and a policy, and record Events about the routes. */
async function serveGatewayApi(place: OperationContext): Promise<void> {
  const { namespace, kubectl } = place;
  await kubectl(["apply", "-f", "-"], list(gatewayApi(place, await freePort())));
  const read = (kind: string, path: string, ...args: readonly string[]) =>
    kubectl(["-n", namespace, "get", kind, ...args, "-o", `jsonpath={${path}}`]);
  const within = { timeout: 60_000, interval: 200 };
  const addresses = () => read("gateway", ".status.addresses[0].value", "incomplete");
  await waitFor(addresses, { what: "an address in the status of the Gateway", ...within });
  const refused = () => read("listenerset", '.status.conditions[?(@.reason=="NotAllowed")].type', "incomplete");
  await waitFor(refused, { what: "the conditions of the ListenerSet", ...within });
  for (const kind of ["HTTPRoute", "GRPCRoute", "TLSRoute"]) {
    const parents = () => read(kind, ".status.parents[0].controllerName", "incomplete");
    await waitFor(parents, { what: `the Gateway in the status of the ${kind}`, ...within });
  }
  for (const kind of ["HTTPRoute", "GRPCRoute"]) {
    const notes = () => read("events.events.k8s.io", ".items[*].note", `--field-selector=regarding.kind=${kind}`);
    await waitFor(notes, { what: `an Event about the ${kind}`, ...within });
  }
  const ancestors = () => read("backendtlspolicy", ".status.ancestors[0].controllerName", "incomplete");
  await waitFor(ancestors, { what: "the Gateway in the status of the BackendTLSPolicy", ...within });
}

/** Names of the operator's Secrets in the private namespace. */
export async function privateSecrets({ kubectl, privateNamespace }: OperationContext): Promise<readonly string[]> {
  const names = await kubectl(["-n", privateNamespace, "get", "secrets", "-o", "jsonpath={.items[*].metadata.name}"]);
  return names.split(" ").filter((name) => name.startsWith("sluice-"));
}

/** Moves the operator's Secrets to the home namespace, where version 0.1 kept them and the admin API can read them. */
async function asOfBefore(place: OperationContext): Promise<void> {
  const { namespace, privateNamespace, kubectl } = place;
  if (privateNamespace === namespace) return;
  for (const name of await privateSecrets(place)) {
    const { metadata: _, ...secret } = JSON.parse(
      await kubectl(["-n", privateNamespace, "get", "secret", name, "-o", "json"]),
    );
    await kubectl(["-n", privateNamespace, "delete", "secret", name]);
    await kubectl(["create", "-f", "-"], JSON.stringify({ ...secret, metadata: { name, namespace } }));
  }
}

const made: readonly (readonly [path: string, body: object])[] = [
  ["/services", { name: "by-admin", host: "127.0.0.1" }],
  ["/services/by-admin/routes", { name: "by-admin", paths: ["/by-admin"] }],
  ["/plugins", { name: "cors", instance_name: "by-admin", route: { name: "by-admin" } }],
  ["/consumer_groups", { name: "by-admin" }],
  ["/vaults", { prefix: "by-admin", name: "env" }],
  ["/graphql_documents", { name: "by-admin", manifest: "{}" }],
  ["/consumers", { username: "by-admin" }],
  ["/consumers/by-admin/key-auth", { key: "key-by-admin" }],
  ["/ca_certificates", { cert: authorityOfAdmin }],
  ["/upstreams", { name: "by-admin.internal" }],
  ["/certificates", { cert: pair.certificate, key: pair.key, snis: ["by-admin.test"] }],
];

/**
 * Creates, changes and removes an entity for every kind of custom resource. A finalizer delays each removal, so that
 * the admin API has to wait for it.
 */
export async function runAllAdminOperations({ namespace, kubectl, admin }: OperationContext): Promise<void> {
  const gone: string[] = [];
  for (const [path, body] of made) {
    const answer = await admin("POST", path, body);
    if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    const changed = `${path}/${answer.body.id}`;
    const patched = await admin("PATCH", changed, { tags: ["changed"] });
    if (patched.status !== 200) throw new Error(`PATCH ${changed}: ${patched.status} ${JSON.stringify(patched.body)}`);
    gone.unshift(changed);
  }
  const held = async (value: readonly string[], name: string) => {
    const metadata = JSON.stringify({ metadata: { finalizers: value } });
    await kubectl(["-n", namespace, "patch", name, "--type=merge", "-p", metadata]);
  };
  const all = [...crdNames, "secrets"].join();
  const written = async () => {
    const list = await kubectl(["-n", namespace, "get", all, "-o", "json", "--show-managed-fields"]);
    const { items } = JSON.parse(list) as { items: readonly Item[] };
    return items.filter(({ metadata }) => metadata.managedFields.some(({ manager }) => manager === "sluice-admin"));
  };
  await Promise.all((await written()).map((item) => held(["test.example/held"], nameOf(item))));
  for (const path of gone) {
    let over = false;
    const answer = admin("DELETE", path).finally(() => {
      over = true;
    });
    const letGo = async () => {
      const going = (await written()).filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
      await Promise.all(going.map((item) => held([], nameOf(item))));
      return over;
    };
    await waitFor(letGo, { what: `DELETE ${path} to end`, timeout: 30_000, interval: 50 });
    const { status, body } = await answer;
    if (status !== 204) throw new Error(`DELETE ${path}: ${status} ${JSON.stringify(body)}`);
  }
}

/**
 * Changes an entity, finds both versions in the revisions that the operator records, and restores the first version.
 * Resolves to the author of the first version.
 */
export async function runAllRevisionOperations({ admin }: OperationContext): Promise<string> {
  const expectOk = async (method: string, path: string, body?: object) => {
    const answer = await admin(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const hostIn = async () => (await expectOk("GET", "/services/revised")).host;
  const revisionOf = (list: "created" | "changed") =>
    waitFor(
      async () => {
        const found = (await expectOk("GET", "/revisions")).data as readonly { number: number; author: string }[];
        for (const { number, author } of found.filter(({ author }) => author.startsWith("sluice-admin"))) {
          const entities = (await expectOk("GET", `/revisions/${number}`))[list] as readonly { name: string }[];
          if (entities.some(({ name }) => name === "revised")) return { number, author };
        }
        return undefined;
      },
      { what: `a revision with a ${list} Service`, timeout: 60_000, interval: 200 },
    );
  await expectOk("POST", "/services", { name: "revised", host: "one.test" });
  const { author } = await revisionOf("created");
  await expectOk("PATCH", "/services/revised", { host: "two.test" });
  const { number } = await revisionOf("changed");
  // Undoes this change only: deletions of earlier operations may have been recorded after the Service was created.
  await expectOk("POST", `/revisions/${number - 1}/rollback`);
  if ((await hostIn()) !== "one.test") throw new Error(`after the rollback, the host is ${await hostIn()}`);
  await expectOk("DELETE", "/services/revised");
  return author;
}

interface Item {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly deletionTimestamp?: string;
    readonly managedFields: readonly { readonly manager: string }[];
  };
}

/** The resource and its name, in the form that kubectl expects. */
const nameOf = ({ kind, metadata: { name } }: Item): string =>
  kind === "Secret" ? `secret/${name}` : `${pluralOf(kindFacts[kind as ResourceKind])}.sluice.dev/${name}`;
