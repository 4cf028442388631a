/** The resources and outputs of a stack that installs Sluice. */
import { interpolate, type Output, runtime } from "@pulumi/pulumi";
import { Sluice } from "./components/index.ts";
import { type SluiceConfig, secretSuffixes } from "./config.ts";
import { createPulumiObject } from "./objects/create.ts";
import type { Release } from "./objects/names.ts";
import { secretObject } from "./objects/secrets.ts";

/**
 * Labels every Kubernetes object registered from now on, and lets Pulumi override changes by other clients: an `up`
 * restores the program's state after objects were scaled or edited. Also adds `goneAtOnce` to objects whose deletion
 * ends no pods. CRDs, which several stacks share, only get the label.
 */
export function labelAllObjects(name: string, value: string): void {
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
 * Makes the API server delete the object before it responds. With Pulumi's default the deletion follows moments later;
 * the provider may miss that event, and would then wait until the delete timeout.
 */
const goneAtOnce = { "pulumi.com/deletionPropagationPolicy": "background" } as const;

/** Limits the time to create or change an object, for all Kubernetes objects registered from now on. */
export function waitAtMost(timeout: string): void {
  runtime.registerStackTransformation(({ type, props, opts }) => {
    if (!type.startsWith("kubernetes:")) return undefined;
    return { props, opts: { ...opts, customTimeouts: { ...opts.customTimeouts, create: timeout, update: timeout } } };
  });
}

/** The outputs of a stack that installs Sluice. The values determine which of the optional outputs are present. */
export interface Outputs {
  readonly namespace: string;
  readonly name: string;
  /** The address for clients within the cluster. */
  readonly proxyAddress: string;
  readonly adminAddress?: string;
  readonly adminToken?: Output<string>;
  /** The user API's GraphQL endpoint, through the gateway. */
  readonly usersAddress?: string;
  /** The API key of the user API's first consumer. */
  readonly consumerKey?: Output<string>;
  /** The command that forwards http://localhost:8000 to the gateway. */
  readonly forward: Output<string>;
}

export function createSluice({ release, ownNamespace, ...secrets }: SluiceConfig): Outputs {
  const { name, namespace, values } = release;
  const dependsOn = ownNamespace ? [createPulumiObject(namespaceOf(release))] : [];
  if (secrets.databaseUrl) {
    const entries = { url: secrets.databaseUrl };
    dependsOn.push(
      createPulumiObject(secretObject(release, { component: secretSuffixes.database, entries }), {
        dependsOn: [...dependsOn],
      }),
    );
  }
  if (secrets.redisPassword) {
    const parts = {
      component: secretSuffixes.redis,
      credential: "redis",
      entries: { password: secrets.redisPassword },
    } as const;
    dependsOn.push(createPulumiObject(secretObject(release, parts), { dependsOn: [...dependsOn] }));
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

/** The namespace of the release, in which only pods that satisfy Pod Security `restricted` may run. */
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
