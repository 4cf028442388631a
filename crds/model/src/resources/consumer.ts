/** The custom resource Consumer. Its keys are in Secrets, never in the resource. */
import type { Consumer, Credential } from "../entities/index.ts";
import { type Derived, type KindFacts, type SpecNode, specOf } from "./kind.ts";
import { type CommonSpec, common, entityId, type SecretRef, secretRef, stateColumns } from "./shared.ts";

/** A key of the consumer, without the key's value. */
export interface KeyAuthEntry extends Derived<Credential, "consumer" | "key"> {
  readonly secretRef: SecretRef;
}

export type ConsumerSpec = CommonSpec & Derived<Consumer> & { readonly keyAuth?: readonly KeyAuthEntry[] };

const keyAuth: SpecNode = {
  type: "array",
  description: "The consumer's API keys for the plugin key-auth.",
  maxItems: 64,
  items: specOf("keyauth_credentials", {
    description: "One key.",
    omit: ["consumer", "key"],
    add: {
      id: entityId("The credential's UUID. Derived from the consumer and secretRef if unset."),
      secretRef: secretRef("The key"),
    },
    refine: { ttl: { description: "Lifetime of the key in seconds, from the creation of its Secret." } },
    required: ["secretRef"],
  }),
};

export const consumerKind: KindFacts = {
  collection: "consumers",
  shortName: "gwconsumer",
  spec: specOf("consumers", {
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
