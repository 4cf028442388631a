/** Objects of Kubernetes as plain data: what is sent to the API server, with outputs where a secret stands. */
import type { Input } from "@pulumi/pulumi";

export interface Metadata {
  readonly name: string;
  /** Unset for what lies in no namespace. */
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Metadata;
  readonly [member: string]: unknown;
}

/** The entries of a Secret, as text. */
export type SecretEntries = Readonly<Record<string, Input<string>>>;
