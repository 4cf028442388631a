import { core } from "@pulumi/kubernetes";
import { type ComponentResource, type ComponentResourceOptions, type Input, interpolate, secret } from "@pulumi/pulumi";
import { type ConsumerSpec, CREDENTIAL_LABEL, type KeyAuthEntry } from "@sluice/model";
import { objectTimeouts } from "../objects/create.ts";
import type { InputsOf, MembersOf } from "./inputs.ts";
import { type MetadataArguments, type ResourceMetadata, SluiceResource } from "./resource.ts";

/** An API key (key-auth), for which the component creates a Secret. */
export interface Key extends MembersOf<Omit<KeyAuthEntry, "secretRef">> {
  /** The key's value. Stored as a Pulumi secret, whether or not it is one already. */
  readonly key: Input<string>;
}

/** Members of the spec, in addition to `metadata` and `keys`. */
export type ConsumerArgs = MetadataArguments &
  MembersOf<Omit<ConsumerSpec, "keyAuth">> & {
    /** Keys by a name that is unique within the consumer. A key's Secret is called `<metadata.name>-<name>`. */
    readonly keys?: Readonly<Record<string, Key>>;
    /** Keys in existing Secrets. In the spec they follow those of `keys`. */
    readonly keyAuth?: readonly InputsOf<KeyAuthEntry>[];
  };

/** A person or program that sends requests, with a Secret for each key in `keys`. */
export class Consumer extends SluiceResource<"Consumer"> {
  constructor(name: string, args: ConsumerArgs, options?: ComponentResourceOptions) {
    const { metadata, keys = {}, keyAuth = [], ...members } = args;
    super("Consumer", {
      name,
      metadata,
      spec(parent) {
        const entries = [
          ...Object.entries(keys).map(([keyName, key]) => entryOf(key, { name, keyName, metadata, parent })),
          ...keyAuth,
        ];
        return { ...members, keyAuth: entries.length === 0 ? undefined : entries };
      },
      options,
    });
  }
}

interface Owner {
  readonly parent: ComponentResource;
  readonly name: string;
  readonly metadata: ResourceMetadata;
  readonly keyName: string;
}

/** Creates the key's Secret and returns the entry of `keyAuth` that refers to it. */
function entryOf({ key, ...members }: Key, { parent, name, keyName, metadata }: Owner) {
  const created = new core.v1.Secret(
    `${name}-${keyName}`,
    {
      metadata: {
        namespace: metadata.namespace,
        name: interpolate`${metadata.name ?? name}-${keyName}`,
        labels: { [CREDENTIAL_LABEL]: "key-auth" },
      },
      type: "Opaque",
      stringData: { key: secret(key) },
    },
    { parent, customTimeouts: objectTimeouts },
  );
  return { ...members, secretRef: { name: created.metadata.name, key: "key" } };
}
