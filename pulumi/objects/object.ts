/** Kubernetes objects as plain data, as sent to the API server, with outputs in place of secrets. */
import type { Input } from "@pulumi/pulumi";

export interface ObjectMetadata {
  readonly name: string;
  /** Unset for cluster-scoped objects. */
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMetadata;
  readonly [member: string]: unknown;
}

/** The entries of a Secret, as text. */
export type SecretEntries = Readonly<Record<string, Input<string>>>;
