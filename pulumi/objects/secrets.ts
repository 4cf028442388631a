/** Secrets that a stack makes by itself, as the chart makes them: the entries are made once and then kept. */
import { randomBytes } from "node:crypto";
import { type Input, output, secret } from "@pulumi/pulumi";
import { CREDENTIAL_LABEL } from "@sluice/model";
import { metadataOf, type Release } from "./names.ts";
import type { KubernetesObject } from "./object.ts";

/** Thirty-two hexadecimal digits: they stand in addresses and headers without escapes. */
export const randomText = (): string => randomBytes(16).toString("hex");

export interface SecretParts {
  readonly component: string;
  readonly suffix?: string;
  /** What Sluice reads it for: it reads no Secret without the label. Unset: Sluice does not. */
  readonly credential?: "upstream-header" | "key-auth" | "redis";
  readonly entries: Readonly<Record<string, Input<string>>>;
}

/** The entries go as Pulumi secrets, whether they are some already or not. */
export function secretOf(release: Release, { component, suffix, credential, entries }: SecretParts): KubernetesObject {
  const metadata = metadataOf(release, component, suffix);
  const labels = credential === undefined ? metadata.labels : { ...metadata.labels, [CREDENTIAL_LABEL]: credential };
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { ...metadata, labels },
    type: "Opaque",
    // Not stringData, which the API server does not give back: a refresh would take it for gone.
    data: Object.fromEntries(Object.entries(entries).map(([name, text]) => [name, secret(output(text).apply(base64))])),
  };
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");
