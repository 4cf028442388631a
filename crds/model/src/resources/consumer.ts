/** The custom resource Consumer. Its keys are in Secrets, never in the resource. */
import type { Consumer, Credential } from "../entities/index.ts";
import { entities } from "../entities/index.ts";
import { camelSchema, type Derived, type KindFacts, ownMembers, type SpecNode, specOf } from "./kind.ts";
import { type CommonSpec, childId, common, type SecretRef, secretRef, stateColumns } from "./shared.ts";

/** A key of the consumer, without the key's value. */
export interface KeyAuthEntry extends Derived<Credential, "created_at" | "consumer" | "key"> {
  readonly secretRef: SecretRef;
}

export type ConsumerSpec = CommonSpec &
  Derived<Consumer, "id" | "tags" | "created_at" | "updated_at"> & {
    readonly keyAuth?: readonly KeyAuthEntry[];
  };

const { tags, ttl } = camelSchema(entities.keyauth_credentials.schema).properties ?? {};

const keyAuth: SpecNode = {
  type: "array",
  description: "The consumer's API keys for the plugin key-auth.",
  maxItems: 64,
  items: {
    type: "object",
    description: "One key.",
    additionalProperties: false,
    required: ["secretRef"],
    properties: {
      ...childId("The credential's UUID. Derived from the consumer and secretRef if unset."),
      ...ownMembers({ secretRef: secretRef("The key") }),
      ...(tags && { tags }),
      ...(ttl && {
        ttl: { ...ttl, description: "Lifetime of the key in seconds, from the creation of its Secret." },
      }),
    },
  },
};

export const consumerKind: KindFacts = {
  collection: "consumers",
  plural: "consumers",
  singular: "consumer",
  shortName: "gwconsumer",
  spec: specOf("consumers", {
    omit: ["created_at", "updated_at"],
    add: {
      ...common(
        "Name from which the id is derived; unique across namespaces. Default: username, else metadata.name in " +
          "Sluice's home namespace, <namespace>.<metadata.name> elsewhere.",
      ),
      keyAuth,
    },
    cel: [{ rule: "has(self.username) || has(self.customId)", message: "set username, customId or both" }],
  }),
  columns: [
    { name: "Username", jsonPath: ".spec.username", description: "The consumer's unique name." },
    { name: "Custom-ID", jsonPath: ".spec.customId", description: "The consumer's id in another system.", priority: 1 },
    ...stateColumns,
  ],
};
