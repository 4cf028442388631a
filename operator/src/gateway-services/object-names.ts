/** Names, labels and owners of the objects that the operator creates for Gateways. Pure. */
import { createHash } from "node:crypto";
import { type Metadata, type Resource, resourceKey } from "@sluice/crds";

/** The label of the Gateway API for resources that were made for a Gateway (GEP-1762). */
const GATEWAY_NAME = "gateway.networking.k8s.io/gateway-name";
/** Label with the class of the installation. */
export const GATEWAY_CLASS_LABEL = "sluice.dev/gateway-class";
/** Annotation with the Gateway as `namespace/name`. */
const GATEWAY = "sluice.dev/gateway";
/** Label of the nodes of a Gateway and of their objects: the name of their fleet. */
export const FLEET_LABEL = "sluice.dev/fleet";

/**
 * The name of a Gateway's Service, and of the objects of its own nodes. It is unique, and a valid name of a Service: a
 * Gateway's name may be longer, and may contain dots.
 */
export function gatewayObjectName(gateway: Resource, className: string): string {
  const hash = createHash("sha256")
    .update(`${className}/${resourceKey(gateway)}`)
    .digest("hex")
    .slice(0, 10);
  const readable = gateway.metadata.name.replaceAll(".", "-").slice(0, 44).replace(/-+$/, "");
  return `gateway-${readable}-${hash}`;
}

export interface ObjectMetadataOptions {
  readonly name: string;
  readonly className: string;
  /** The headless Service of the nodes: the object is in its namespace, and is deleted with it. */
  readonly nodes: Resource;
  /** Further labels, which win over those of the Gateway. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The metadata of an object for a Gateway, with the labels and annotations that `spec.infrastructure` asks for. */
export function gatewayObjectMetadata(gateway: Resource, options: ObjectMetadataOptions): Metadata {
  const { name, className, nodes, labels, annotations } = options;
  const infrastructure = (gateway.spec?.infrastructure ?? {}) as Pick<Metadata, "labels" | "annotations">;
  return {
    namespace: nodes.metadata.namespace,
    name,
    labels: {
      ...infrastructure.labels,
      ...labels,
      ...gatewayNameLabel(gateway),
      "app.kubernetes.io/managed-by": "sluice-operator",
      [GATEWAY_CLASS_LABEL]: className,
    },
    annotations: { ...infrastructure.annotations, ...annotations, [GATEWAY]: resourceKey(gateway) },
    ownerReferences: [{ apiVersion: "v1", kind: "Service", name: nodes.metadata.name, uid: nodes.metadata.uid ?? "" }],
  };
}

/** Empty if the name is not a valid value of a label. */
export const gatewayNameLabel = ({ metadata: { name } }: Resource): Readonly<Record<string, string>> =>
  name.length <= 63 ? { [GATEWAY_NAME]: name } : {};

/** The Gateway (`namespace/name`) for which an object was made; undefined: it is another object. */
export function gatewayOfObject({ metadata }: Resource, className: string): string | undefined {
  return metadata.labels?.[GATEWAY_CLASS_LABEL] === className ? metadata.annotations?.[GATEWAY] : undefined;
}
