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
  | "GatewayParameters";

export function resource(kind: Kind, name: string, spec: object): object {
  return { apiVersion: "sluice.dev/v1alpha1", kind, metadata: { name, namespace: "default" }, spec };
}

export const service = (name: string, port: number, host = "127.0.0.1"): object =>
  resource("Service", name, { url: `http://${host}:${port}` });

/** A route of the path `/<name>` to a service of the same name, unless the spec says otherwise. */
export const route = (name: string, spec: object = {}): object =>
  resource("Route", name, { serviceRef: { name }, paths: [`/${name}`], ...spec });

/** A consumer and the Secret that holds its key. */
export function consumer(name: string, key: string): readonly [object, object] {
  return [
    resource("Consumer", name, { username: name, keyAuth: [{ secretRef: { name: `${name}-key`, key: "key" } }] }),
    secret(`${name}-key`, { key }),
  ];
}

export function secret(name: string, stringData: Readonly<Record<string, string>>): object {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: "default", labels: { "sluice.dev/credential": "key-auth" } },
    type: "Opaque",
    stringData,
  };
}
