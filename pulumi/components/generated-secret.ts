/** Secrets that are generated once, and their entries. */
import { core } from "@pulumi/kubernetes";
import { type CustomResourceOptions, type Output, secret } from "@pulumi/pulumi";
import { createOnce } from "../objects/create.ts";
import type { KubernetesObject } from "../objects/object.ts";

/**
 * Creates a Secret with generated entries and returns an entry as it is in the cluster: the value of the first run, not
 * that of this one.
 */
export function keptEntry(object: KubernetesObject, entry: string, options: CustomResourceOptions): Output<string> {
  const created = createOnce(object, options);
  if (!core.v1.Secret.isInstance(created)) throw new Error(`${object.metadata.name} is no Secret`);
  return secret(created.data.apply((data) => Buffer.from(data[entry] ?? "", "base64").toString()));
}
