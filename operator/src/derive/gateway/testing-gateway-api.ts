/** Resources of the Gateway API for tests. */
import type { Resource } from "@sluice/crds";
import { TLS_SECRET_TYPE } from "@sluice/model";
import { firstKeyPair } from "../../../../tools/programs/pairs.ts";

const API = "gateway.networking.k8s.io/v1";

function resource(kind: string, name: string, more: Partial<Resource> = {}): Resource {
  const { apiVersion = API, metadata, ...rest } = more;
  const of = {
    name,
    namespace: "shop",
    uid: `${kind} ${name}`,
    creationTimestamp: "2026-01-01T00:00:00Z",
    generation: 1,
  };
  return { apiVersion, kind, metadata: { ...of, ...metadata }, ...rest };
}

/** A resource of a kind without namespaces. */
function clusterScoped(kind: string, name: string, more: Partial<Resource> = {}): Resource {
  const { metadata, ...rest } = resource(kind, name, more);
  const { namespace: _, ...unscoped } = metadata;
  return { ...rest, metadata: unscoped as Resource["metadata"] };
}

interface GatewayOptions {
  readonly className?: string;
  readonly hostname?: string | undefined;
  readonly from?: object;
  readonly protocol?: string;
  readonly created?: string;
  readonly allowedListeners?: object;
  /** The name of a GatewayParameters. */
  readonly parameters?: string | undefined;
}

function gateway(name: string, options: GatewayOptions = {}): Resource {
  const { className = "sluice", hostname, from = { from: "Same" }, protocol = "HTTP", created } = options;
  const { allowedListeners, parameters } = options;
  const parametersRef = { group: "sluice.dev", kind: "GatewayParameters", name: parameters };
  const certificateRefs = [{ name: "cert", namespace: "keys" }];
  const listener = {
    name: "web",
    port: 80,
    protocol,
    ...(hostname !== undefined && { hostname }),
    ...(protocol === "HTTPS" && { tls: { certificateRefs } }),
    allowedRoutes: { namespaces: from },
  };
  const metadata = { name, namespace: "shop", ...(created !== undefined && { creationTimestamp: created }) };
  const spec = {
    gatewayClassName: className,
    listeners: [listener],
    ...(allowedListeners && { allowedListeners }),
    ...(parameters !== undefined && { infrastructure: { parametersRef } }),
  };
  return resource("Gateway", name, { metadata, spec });
}

const listenerSet = (name: string, namespace: string, parent: string, listener: object): Resource =>
  resource("ListenerSet", name, {
    metadata: { name, namespace },
    spec: {
      parentRef: { name: parent, namespace: "shop" },
      listeners: [{ name: "set", port: 80, protocol: "HTTP", ...listener }],
    },
  });

interface RouteOptions {
  readonly kind?: string;
  readonly namespace?: string;
  readonly parent?: string;
  readonly parentKind?: string;
  readonly hostnames?: readonly string[];
  readonly backend?: object;
  readonly extension?: string | undefined;
}

function gatewayRoute(name: string, options: RouteOptions = {}): Resource {
  const { kind = "HTTPRoute", namespace = "shop", parent = "one", backend = { name: "web" } } = options;
  const { hostnames = [], extension, parentKind = "Gateway" } = options;
  const extensionRef = { group: "sluice.dev", kind: "Plugin", name: extension };
  const rule = {
    backendRefs: [{ port: 80, ...backend }],
    ...(extension !== undefined && { filters: [{ type: "ExtensionRef", extensionRef }] }),
  };
  const spec = { parentRefs: [{ kind: parentKind, name: parent, namespace: "shop" }], hostnames, rules: [rule] };
  return resource(kind, name, { metadata: { name, namespace }, spec });
}

const coreService = (name: string, namespace: string): Resource =>
  resource("Service", name, {
    apiVersion: "v1",
    metadata: { name, namespace },
    spec: { ports: [{ name: "http", port: 80 }] },
  });

const certificate = resource("Secret", "cert", {
  apiVersion: "v1",
  metadata: { name: "cert", namespace: "keys" },
  type: TLS_SECRET_TYPE,
  data: { "tls.crt": btoa(firstKeyPair.cert), "tls.key": btoa(firstKeyPair.key) },
});

const grant = (kind: string, to: string): Resource =>
  resource("ReferenceGrant", `for-${kind}`, {
    apiVersion: "gateway.networking.k8s.io/v1beta1",
    metadata: { name: `for-${kind}`, namespace: "keys" },
    spec: { from: [{ group: "gateway.networking.k8s.io", kind, namespace: "shop" }], to: [{ group: "", kind: to }] },
  });

const gatewayClass = (name: string, controllerName: string, parameters?: string): Resource =>
  clusterScoped("GatewayClass", name, {
    spec: {
      controllerName,
      ...(parameters !== undefined && {
        parametersRef: { group: "sluice.dev", kind: "GatewayParameters", name: parameters, namespace: "shop" },
      }),
    },
  });

const gatewayParameters = (name: string, spec: object): Resource =>
  resource("GatewayParameters", name, { apiVersion: "sluice.dev/v1alpha1", spec: { ...spec } });

const namespace = (name: string, labels: Record<string, string>): Resource =>
  clusterScoped("Namespace", name, { apiVersion: "v1", metadata: { name, labels } as Resource["metadata"] });

const plugin = (config: object): Resource =>
  resource("Plugin", "limit", { apiVersion: "sluice.dev/v1alpha1", spec: { plugin: "cors", enabled: false, config } });

function attachedPlugin(name: string, target: string, spec: object = {}): Resource {
  const [kind, of] = target.split("/");
  const apiVersion = "sluice.dev/v1alpha1";
  return resource("Plugin", name, { apiVersion, spec: { plugin: "cors", ...spec, targetRefs: [{ kind, name: of }] } });
}

export const gatewayApiObjects = {
  resource,
  gateway,
  listenerSet,
  gatewayRoute,
  coreService,
  certificate,
  grant,
  gatewayClass,
  gatewayParameters,
  namespace,
  plugin,
  attachedPlugin,
};
