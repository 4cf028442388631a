/** Core Services as backends of an Ingress: a Service for each port, and an Upstream where their annotations need one. */
import type { ManifestObject } from "@sluice/crds";
import type { AttachTo } from "../attachments.ts";
import { AnnotationReader, annotationField, type Conversion, type ObjectField } from "../conversion.ts";
import { annotationsAt, type KongObjects, listOf, namespaceOf, nonEmptyText, recordOf } from "../objects.ts";
import { policyMembers, STICKY } from "./upstream-policy.ts";

type Members = Readonly<Record<string, unknown>>;

/** A port of a core Service, by number or name. */
export interface PortRef {
  readonly number?: unknown;
  readonly name?: unknown;
}

export interface ConvertedService {
  readonly id: string;
  /** Undefined: the core Service is not among the objects. */
  readonly object: ManifestObject | undefined;
}

interface Backend {
  readonly object: ManifestObject;
  readonly port: number;
  /** Set for a core Service of the type ExternalName. */
  readonly externalName: string | undefined;
}

/** Annotations that Kong's controller reads at a core Service: without any of these, an Ingress can stay as it is. */
export const hasKongAnnotations = (object: ManifestObject): boolean =>
  Object.keys(annotationsAt(object)).some((name) => /^(konghq\.com|ingress\.kubernetes\.io)\//.test(name));

export class ServiceConverter {
  readonly #objects: KongObjects;
  readonly #conversion: Conversion;
  readonly #known = new Map<string, ConvertedService>();
  readonly #toClusterAddress: boolean;
  /** The id of the Certificate of a Secret, in the namespace. */
  readonly #useCertificate: (namespace: string, secret: string, object: ManifestObject) => string;

  constructor(
    objects: KongObjects,
    conversion: Conversion,
    options: {
      /** Whether all core Services are reached by their cluster addresses. */
      readonly toClusterAddress: boolean;
      readonly useCertificate: (namespace: string, secret: string, object: ManifestObject) => string;
    },
  ) {
    this.#objects = objects;
    this.#conversion = conversion;
    this.#toClusterAddress = options.toClusterAddress;
    this.#useCertificate = options.useCertificate;
  }

  /** @param backend The backend of an Ingress, whose place is `field`. */
  convert(backend: Members, field: ObjectField): ConvertedService {
    const namespace = namespaceOf(field.object);
    const { service, resource } = backend;
    const port: PortRef = recordOf(recordOf(service).port);
    const name = nonEmptyText(recordOf(service).name) ?? nonEmptyText(recordOf(resource).name) ?? "none";
    const found = resource
      ? `a backend of the kind ${recordOf(resource).kind} is not supported: name a core Service`
      : this.#backendOf(namespace, name, port);
    // A port by its name and by its number is one Service.
    const key = `${namespace}/${name}:${typeof found === "string" ? (port.number ?? port.name) : found.port}`;
    const known = this.#known.get(key);
    if (known) return known;
    const made =
      typeof found === "string" ? this.#closedService(name, port, { ...field, message: found }) : this.#add(found);
    this.#known.set(key, made);
    return made;
  }

  /** Attaches the plugins that the core Services name to their Services. */
  attachPlugins(attach: (plugins: AttachTo) => void): void {
    for (const { id, object } of this.#known.values()) {
      const place = this.#conversion.entities.find((entity) => entity.id === id)?.placement;
      if (!object || !place) continue;
      const { name, namespace } = place;
      attach({ target: { id, kind: "Service", name, namespace }, object });
    }
  }

  /** The port by Kong's rules: the name of a port, or that of its target port. */
  #backendOf(namespace: string, name: string, port: PortRef): Backend | string {
    const object = this.#objects.find("CoreService", namespace, name);
    if (!object)
      return `the core Service ${namespace}/${name} is not among the objects, and its annotations may protect: add it`;
    const { type, externalName, ports } = recordOf(object.spec);
    if (type === "ExternalName") {
      if (typeof port.number !== "number")
        return `the core Service ${name} of the type ExternalName needs a port number`;
      return { object, port: port.number, externalName: String(externalName) };
    }
    const found = listOf(ports).find((entry) => {
      const { port: number, name: portName, targetPort } = recordOf(entry);
      if (typeof port.number === "number") return number === port.number;
      return port.name !== undefined && (portName === port.name || targetPort === port.name);
    });
    if (!found) return `the core Service ${name} has no port ${port.number ?? port.name}`;
    return { object, port: Number(recordOf(found).port), externalName: undefined };
  }

  /** A Service for a backend that Kong has no targets for, or whose annotations are unknown. */
  #closedService(name: string, port: PortRef, remark: ObjectField & { readonly message: string }): ConvertedService {
    const { object } = remark;
    const namespace = namespaceOf(object);
    const number = typeof port.number === "number" ? port.number : 80;
    const resource = this.#conversion.nameFor(
      "Service",
      namespace,
      [name, port.number ?? port.name ?? "backend"].join("-"),
    );
    const id = this.#conversion.add(
      "services",
      { name: this.#conversion.entityName(namespace, resource), host: `${name}.${namespace}.svc`, port: number },
      { object, paths: {}, name: resource },
    );
    this.#conversion.close({ service: id }, remark, "backend");
    return { id, object: undefined };
  }

  #add(backend: Backend): ConvertedService {
    const { object, port, externalName } = backend;
    const conversion = this.#conversion;
    const namespace = namespaceOf(object);
    const { name: service } = object.metadata;
    conversion.objects.add(object);
    const read = new AnnotationReader(object, conversion);
    const name = conversion.nameFor("Service", namespace, `${service}-${port}`);
    const upstream = this.#upstreamOf(backend, read, name);
    const isByAddress =
      this.#toClusterAddress || annotationsAt(object)["ingress.kubernetes.io/service-upstream"] === "true";
    const clusterAddress = `${service}.${namespace}.svc`;
    const tls = this.#tlsMembers(object, read);
    const id = conversion.add(
      "services",
      {
        name: conversion.entityName(namespace, name),
        host: upstream ?? externalName ?? clusterAddress,
        port,
        ...serviceMembers(read),
        ...tls.members,
      },
      {
        object,
        name,
        paths: pathsOf(serviceAnnotations),
        spec: {
          ...(upstream === undefined && externalName === undefined && !isByAddress
            ? { backendRef: { name: service, port } }
            : {}),
          ...tls.spec,
        },
      },
    );
    return { id, object };
  }

  /** The name of the Upstream, if the annotations of the core Service need one. */
  #upstreamOf({ object, port, externalName }: Backend, read: AnnotationReader, name: string): string | undefined {
    const conversion = this.#conversion;
    const hostHeader = nonEmptyText(read.text("host-header"));
    const policy = this.#policyOf(object, read);
    if (hostHeader === undefined && policy === undefined) return undefined;
    const namespace = namespaceOf(object);
    const upstream = conversion.entityName(namespace, name);
    if (policy) conversion.objects.add(policy);
    if (policy && recordOf(policy.spec).algorithm === STICKY) {
      const message =
        "becomes consistent-hashing by the cookie: cookies of Kong are not understood, so clients may move once";
      conversion.remark({ object: policy, path: ["spec", "algorithm"] }, message);
    }
    const { members, paths } = policy ? policyMembers(policy) : { members: {}, paths: {} };
    const isByAddress = annotationsAt(object)["ingress.kubernetes.io/service-upstream"] === "true";
    const target = externalName ?? (isByAddress ? `${object.metadata.name}.${namespace}.svc` : undefined);
    const id = conversion.add(
      "upstreams",
      { name: upstream, ...members, ...(hostHeader !== undefined && { host_header: hostHeader }) },
      {
        object: policy ?? object,
        paths: policy ? paths : { host_header: annotationField("konghq.com/host-header") },
        namespace,
        name: conversion.nameFor("Upstream", namespace, name),
        spec: target === undefined ? { backendRefs: [{ name: object.metadata.name, port }] } : {},
      },
    );
    if (target !== undefined) conversion.addTarget({ upstream: { id }, target: `${target}:${port}` }, object);
    return upstream;
  }

  #policyOf(object: ManifestObject, read: AnnotationReader): ManifestObject | undefined {
    const name = nonEmptyText(read.text("upstream-policy"));
    if (name === undefined) return undefined;
    const policy = this.#objects.find("KongUpstreamPolicy", namespaceOf(object), name);
    const field = { object, path: annotationField("konghq.com/upstream-policy") };
    if (!policy) this.#conversion.omit(field, `there is no KongUpstreamPolicy ${name} among the objects: add it`);
    return policy;
  }

  /** Members that need TLS to the upstream; without it, Kong's controller ignores them. */
  #tlsMembers(object: ManifestObject, read: AnnotationReader): { readonly members: Members; readonly spec: Members } {
    const conversion = this.#conversion;
    const isSecure = ["https", "grpcs"].includes(read.text("protocol") ?? "");
    if (!isSecure) {
      const unused = Object.keys(annotationsAt(object)).filter((name) => tlsAnnotations.has(name));
      for (const name of unused)
        conversion.remark({ object, path: annotationField(name) }, "needs konghq.com/protocol https or grpcs; ignored");
      return { members: {}, spec: {} };
    }
    const namespace = namespaceOf(object);
    const secret = nonEmptyText(read.text("client-cert"));
    const verify = read.boolean("tls-verify");
    const depth = read.integer("tls-verify-depth");
    const authorities = [
      ...this.#authorities("Secret", "ca-certificates-secrets", read, object),
      ...this.#authorities("ConfigMap", "ca-certificates-configmaps", read, object),
    ];
    return {
      members: {
        ...(verify !== undefined && { tls_verify: verify }),
        ...(depth !== undefined && { tls_verify_depth: depth }),
        ...(authorities.length > 0 && { ca_certificates: authorities }),
      },
      spec:
        secret === undefined ? {} : { clientCertificateRef: { name: this.#useCertificate(namespace, secret, object) } },
    };
  }

  /** The ids of CA certificates that an annotation names. */
  #authorities(
    kind: "Secret" | "ConfigMap",
    annotation: string,
    read: AnnotationReader,
    object: ManifestObject,
  ): readonly string[] {
    return read.list(annotation).flatMap((name) => {
      const found = this.#objects.find(kind, namespaceOf(object), name);
      const id =
        found &&
        this.#conversion.entities.find((entity) => entity.collection === "ca_certificates" && entity.object === found)
          ?.id;
      if (id !== undefined) return [id];
      const message = `there is no ${kind} ${name} with the label konghq.com/ca-cert and a CA certificate among the objects`;
      this.#conversion.omit({ object, path: annotationField(`konghq.com/${annotation}`) }, message);
      return [];
    });
  }
}

const tlsAnnotations: ReadonlySet<string> = new Set(
  ["client-cert", "tls-verify", "tls-verify-depth", "ca-certificates-secrets", "ca-certificates-configmaps"].map(
    (name) => `konghq.com/${name}`,
  ),
);

/** Members of a service, each with its annotation. */
const serviceAnnotations = {
  protocol: "protocol",
  path: "path",
  connect_timeout: "connect-timeout",
  write_timeout: "write-timeout",
  read_timeout: "read-timeout",
  retries: "retries",
  tls_verify: "tls-verify",
  tls_verify_depth: "tls-verify-depth",
  ca_certificates: "ca-certificates-secrets",
  tags: "tags",
} as const;

/** The place of each member's annotation, by the member. */
export const pathsOf = (annotations: Readonly<Record<string, string>>): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(
    Object.entries(annotations).map(([member, name]) => [member, annotationField(`konghq.com/${name}`) as string[]]),
  );

function serviceMembers(read: AnnotationReader): Members {
  const protocol = nonEmptyText(read.text("protocol"));
  const path = nonEmptyText(read.text("path"));
  if (path !== undefined && !path.startsWith("/")) read.invalid("path");
  const isGrpc = protocol === "grpc" || protocol === "grpcs";
  const numbers = (["connect_timeout", "write_timeout", "read_timeout", "retries"] as const).flatMap((member) => {
    const value = read.integer(serviceAnnotations[member]);
    return value === undefined ? [] : [[member, value] as const];
  });
  const tags = read.list("tags");
  return {
    ...(protocol !== undefined && { protocol }),
    ...(path?.startsWith("/") && !isGrpc && { path }),
    ...Object.fromEntries(numbers),
    ...(tags.length > 0 && { tags }),
  };
}
