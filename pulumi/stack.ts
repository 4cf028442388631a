/** What a stack with a Sluice creates, and what it tells. */
import { interpolate, type Output, runtime } from "@pulumi/pulumi";
import { Sluice } from "./components/index.ts";
import { given, type SluiceConfig } from "./config.ts";
import { create } from "./objects/create.ts";
import type { Release } from "./objects/names.ts";
import { secretOf } from "./objects/secrets.ts";

/**
 * Labels every Kubernetes object that is registered from now on, and has Pulumi take back what others changed of it: what
 * the program says is so after an `up`, whoever scaled or edited in between. Not for CRDs, which are not one stack's.
 */
export function ownEverything(name: string, value: string): void {
  runtime.registerStackTransformation(({ type, props, opts }) => {
    if (!type.startsWith("kubernetes:") || typeof props.metadata !== "object") return undefined;
    const { labels, annotations, ...metadata } = props.metadata;
    const shared = type.endsWith(":CustomResourceDefinition");
    const own = { ...annotations, ...(endsPods(type) ? {} : goneAtOnce), "pulumi.com/patchForce": "true" };
    const forced = shared ? annotations : own;
    return {
      props: {
        ...props,
        metadata: { ...metadata, labels: { ...labels, [name]: value }, ...(forced ? { annotations: forced } : {}) },
      },
      opts,
    };
  });
}

const endsPods = (type: string): boolean => /:(Deployment|StatefulSet|Namespace)$/.test(type);

/**
 * The API server removes what nothing else depends on before it answers. Of a removal some moments later, which is Pulumi's
 * default, the provider may miss the news, and then it waits until the time to delete is over.
 */
const goneAtOnce = { "pulumi.com/deletionPropagationPolicy": "background" } as const;

/** Bounds the time to create or change an object, for all Kubernetes objects that are registered from now on. */
export function waitAtMost(timeout: string): void {
  runtime.registerStackTransformation(({ type, props, opts }) => {
    if (!type.startsWith("kubernetes:")) return undefined;
    return { props, opts: { ...opts, customTimeouts: { ...opts.customTimeouts, create: timeout, update: timeout } } };
  });
}

/** What people need of a stack. All but namespace and name may be missing, as the values say. */
export interface Outputs {
  readonly namespace: string;
  readonly name: string;
  /** Within the cluster: what clients' requests go to. */
  readonly proxyAddress: string;
  readonly adminAddress?: string;
  /** What opens the admin API. */
  readonly adminToken?: Output<string>;
  /** The user API's GraphQL endpoint, through the gateway. */
  readonly usersAddress?: string;
  /** The API key of its first consumer. */
  readonly consumerKey?: Output<string>;
  /** The command that brings the gateway to this machine, as http://localhost:8000. */
  readonly forward: Output<string>;
}

/** Creates all that the config says, and answers the outputs of the stack. */
export function createSluice({ release, ownNamespace, ...secrets }: SluiceConfig): Outputs {
  const { name, namespace, values } = release;
  const dependsOn = ownNamespace ? [create(namespaceOf(release))] : [];
  if (secrets.databaseUrl) {
    const entries = { url: secrets.databaseUrl };
    dependsOn.push(create(secretOf(release, { component: given.database, entries }), { dependsOn: [...dependsOn] }));
  }
  if (secrets.redisPassword) {
    const parts = {
      component: given.redis,
      credential: "redis",
      entries: { password: secrets.redisPassword },
    } as const;
    dependsOn.push(create(secretOf(release, parts), { dependsOn: [...dependsOn] }));
  }
  const sluice = new Sluice(release, {
    dependsOn,
    ...(secrets.consumerKey === undefined ? {} : { consumerKey: secrets.consumerKey }),
  });
  const [path] = values.userApi.route.paths;
  return {
    namespace,
    name,
    proxyAddress: sluice.gateway.address,
    adminAddress: sluice.admin?.address,
    adminToken: sluice.admin?.token,
    usersAddress: values.userApi.route.enabled ? `${sluice.gateway.address}${path}/graphql` : undefined,
    consumerKey: secrets.consumerKey ?? sluice.userApi?.key,
    forward: interpolate`kubectl --namespace ${namespace} port-forward service/${name}-gateway 8000:${values.gateway.service.port}`,
  };
}

/** Nothing but restricted pods may run beside a Sluice. */
const namespaceOf = ({ namespace }: Release) => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: {
    name: namespace,
    labels: {
      "pod-security.kubernetes.io/enforce": "restricted",
      "pod-security.kubernetes.io/warn": "restricted",
      "app.kubernetes.io/managed-by": "Pulumi",
      "app.kubernetes.io/part-of": "sluice",
    },
  },
});
