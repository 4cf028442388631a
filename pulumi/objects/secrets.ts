/** Secrets that a stack generates, as the chart does: their entries are generated once and then kept. */
import { randomBytes } from "node:crypto";
import { core } from "@pulumi/kubernetes";
import { type CustomResourceOptions, type Input, type Output, output, secret } from "@pulumi/pulumi";
import { CREDENTIAL_LABEL } from "@sluice/model";
import { createOnce, type KubernetesObject } from "./create.ts";
import { metadataOf, type Release } from "./names.ts";

/** Thirty-two random hexadecimal digits, which need no escapes in URLs and headers. */
export const randomText = (): string => randomBytes(16).toString("hex");

export interface SecretParts {
  readonly component: string;
  readonly suffix?: string;
  /** The value of the label `sluice.dev/credential`. Unset: no such label, so that Sluice does not read the Secret. */
  readonly credential?: "upstream-header" | "key-auth" | "redis";
  readonly entries: Readonly<Record<string, Input<string>>>;
}

/** A Secret. Its entries are passed as Pulumi secrets, whether or not they already are. */
export function secretObject(
  release: Release,
  { component, suffix, credential, entries }: SecretParts,
): KubernetesObject {
  const metadata = metadataOf(release, component, suffix);
  const labels = credential === undefined ? metadata.labels : { ...metadata.labels, [CREDENTIAL_LABEL]: credential };
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { ...metadata, labels },
    type: "Opaque",
    // Not stringData, which the API server does not return: a refresh would consider it deleted.
    data: Object.fromEntries(Object.entries(entries).map(([name, text]) => [name, secret(output(text).apply(base64))])),
  };
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/**
 * Creates a Secret with generated entries and returns an entry as it is in the cluster: the value of the first run, not
 * of this run.
 */
export function keptEntry(object: KubernetesObject, entry: string, options: CustomResourceOptions): Output<string> {
  const created = createOnce(object, options);
  if (!core.v1.Secret.isInstance(created)) throw new Error(`${object.metadata.name} is not a Secret`);
  return secret(created.data.apply((data) => Buffer.from(data[entry] ?? "", "base64").toString()));
}
