/** Secrets that are made once, and what is in them. */
import { core } from "@pulumi/kubernetes";
import { type CustomResourceOptions, type Output, secret } from "@pulumi/pulumi";
import { createOnce } from "../objects/create.ts";
import type { KubernetesObject } from "../objects/object.ts";

/**
 * Creates a Secret whose entries the program makes, and answers one as it is in the cluster: what a first run made, not
 * what this one did.
 */
export function keptEntry(object: KubernetesObject, entry: string, options: CustomResourceOptions): Output<string> {
  const created = createOnce(object, options);
  if (!core.v1.Secret.isInstance(created)) throw new Error(`${object.metadata.name} is no Secret`);
  return secret(created.data.apply((data) => Buffer.from(data[entry] ?? "", "base64").toString()));
}
