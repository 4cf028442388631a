/** Converts a person's YAML to the form in which the Kubernetes API would return the resource. Pure. */
import { hash } from "node:crypto";
import { canonicalJson, uuidV5 } from "@sluice/model";
import { refKey } from "../../keys.ts";
import { isSluiceKind, kindNames } from "../../kinds.ts";
import type { Kind, Metadata, Ref, Resource } from "../../resource.ts";

type Raw = Readonly<Record<string, unknown>>;

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const defaultNamespace = "default";
/** Labels and annotations with this prefix belong to Sluice; all others belong to the author of the file. */
const ourPrefix = "sluice.dev/";

/** Why the API would refuse the object, whatever the schema of its kind; undefined if it would not. */
export function metadataProblem(kind: Kind, raw: Raw): string | undefined {
  const { metadata, spec } = raw;
  if (!isMap(metadata)) return "metadata: required, a map";
  const { name, namespace = defaultNamespace } = metadata;
  if (typeof name !== "string" || name.length > 253 || !subdomain.test(name))
    return "metadata.name: required; lower-case letters, digits, - and ., at most 253 characters";
  if (typeof namespace !== "string" || namespace.length > 63 || !label.test(namespace))
    return "metadata.namespace: lower-case letters, digits and -, at most 63 characters";
  for (const member of ["labels", "annotations"])
    if (!isStrings(metadata[member]))
      return `metadata.${member}: must be a map of strings (quote numbers, true and false)`;
  if (isSluiceKind(kind) && spec !== undefined && !isMap(spec)) return "spec: a map";
  if (kind === "Secret")
    for (const member of ["data", "stringData"])
      if (!isStrings(raw[member])) return `${member}: must be a map of strings (quote numbers, true and false)`;
  return undefined;
}

/** The resource of a valid raw object, without status and the members that only an API server sets. */
export function normalizeContent(kind: Kind, raw: Raw): Resource {
  const { status: _, stringData, ...members } = raw;
  const { name, namespace = defaultNamespace, labels, annotations } = raw.metadata as unknown as Metadata;
  const { apiVersion, kind: named } = kindNames[kind];
  const metadata: Metadata = {
    name,
    namespace,
    ...(labels ? { labels } : {}),
    ...(annotations ? { annotations } : {}),
  };
  if (kind !== "Secret")
    return { ...members, ...(stringData === undefined ? {} : { stringData }), apiVersion, kind: named, metadata };
  const encoded = Object.entries((stringData ?? {}) as Record<string, string>).map(([key, value]) => [
    key,
    Buffer.from(value).toString("base64"),
  ]);
  const data = { ...(raw.data as Record<string, string> | undefined), ...Object.fromEntries(encoded) };
  return { ...members, type: (raw.type as string | undefined) ?? "Opaque", data, apiVersion, kind: named, metadata };
}

/**
 * The content after an apply. A directory has no field managers: an apply replaces everything except labels and
 * annotations that are not Sluice's.
 */
export function applyContent(kind: Kind, before: Resource | undefined, { metadata, ...applied }: Resource): Resource {
  const withForeign = (member: "labels" | "annotations") => {
    const foreign = Object.entries(before?.metadata[member] ?? {}).filter(([name]) => !name.startsWith(ourPrefix));
    const all = { ...Object.fromEntries(foreign), ...metadata[member] };
    return Object.keys(all).length > 0 ? all : undefined;
  };
  const merged = { ...metadata, labels: withForeign("labels"), annotations: withForeign("annotations") };
  return normalizeContent(kind, { ...applied, metadata: merged });
}

/**
 * The uid of a resource. It is derived from the ref, so that it is equal in every process and after every restart.
 */
export function uidOf(ref: Ref): string {
  return uuidV5("6d9dc6a5-1d0c-4c7e-9b5e-0f8b2f6d3c11", refKey(ref));
}

export function contentHash(value: unknown): string {
  return hash("sha256", canonicalJson(value), "base64url").slice(0, 22);
}

function isMap(value: unknown): value is Raw {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isStrings(value: unknown): boolean {
  return (
    value === undefined ||
    value === null ||
    (isMap(value) && Object.values(value).every((one) => typeof one === "string"))
  );
}
