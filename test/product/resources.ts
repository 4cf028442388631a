/** Custom resources and Secrets as objects, in the default namespace. */

type Kind =
  | "Certificate"
  | "CACertificate"
  | "Upstream"
  | "Service"
  | "Route"
  | "Plugin"
  | "Consumer"
  | "Vault"
  | "GraphQLDocuments"
  | "GatewayParameters";

export function resourceObject(kind: Kind, name: string, spec: object): object {
  return { apiVersion: "sluice.dev/v1alpha1", kind, metadata: { name, namespace: "default" }, spec };
}

export const serviceObject = (name: string, port: number, host = "127.0.0.1"): object =>
  resourceObject("Service", name, { url: `http://${host}:${port}` });

/** A route of the path `/<name>` to a service of the same name, unless the spec says otherwise. */
export const routeObject = (name: string, spec: object = {}): object =>
  resourceObject("Route", name, { serviceRef: { name }, paths: [`/${name}`], ...spec });

/** A consumer and the Secret that holds its key. */
export function consumerObjects(name: string, key: string): readonly [object, object] {
  return [
    resourceObject("Consumer", name, { username: name, keyAuth: [{ secretRef: { name: `${name}-key`, key: "key" } }] }),
    secretObjectOf(`${name}-key`, { key }),
  ];
}

export function secretObjectOf(name: string, stringData: Readonly<Record<string, string>>): object {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: "default", labels: { "sluice.dev/credential": "key-auth" } },
    type: "Opaque",
    stringData,
  };
}
