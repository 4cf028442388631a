/** The custom resource Consumer. The secrets of its credentials are in Secrets, never in the resource. */
import {
  type Acl,
  type BasicAuthCredential,
  type Consumer,
  type ConsumerGroupConsumer,
  type CredentialCollection,
  credentialCollections,
  entities,
  entitySecrets,
  type HmacAuthCredential,
  type JwtSecret,
  type KeyAuthCredential,
  type MtlsAuthCredential,
  type PluginCredential,
} from "../../entities/index.ts";
import {
  type CommonSpec,
  type ConfigFrom,
  commonSpecMembers,
  configFrom,
  entityId,
  type NameRef,
  nameRef,
  type SecretRef,
  secretRef,
  stateColumns,
} from "../common-spec.ts";
import { type Derived, type KindFacts, type SpecNode, specOf } from "../kind.ts";

/** A credential in a spec, with a reference to its secret instead of the secret. */
export interface CredentialEntry {
  readonly id?: string;
  readonly secretRef?: SecretRef;
  readonly configFrom?: readonly ConfigFrom[];
}

export interface KeyAuthEntry extends Derived<KeyAuthCredential, "consumer" | "key"> {
  readonly secretRef: SecretRef;
}

export interface JwtEntry extends Derived<JwtSecret, "consumer" | "secret"> {
  readonly key: string;
  readonly secretRef?: SecretRef;
}

export interface BasicAuthEntry extends Derived<BasicAuthCredential, "consumer" | "password"> {
  readonly username: string;
  readonly secretRef: SecretRef;
}

export interface HmacAuthEntry extends Derived<HmacAuthCredential, "consumer" | "secret"> {
  readonly username: string;
  readonly secretRef: SecretRef;
}

export interface MtlsAuthEntry extends Derived<MtlsAuthCredential, "consumer" | "ca_certificate"> {
  readonly subjectName: string;
  readonly caCertificateRef?: NameRef;
}

export interface AclEntry extends Derived<Acl, "consumer"> {
  readonly group: string;
}

/** A reference to a ConsumerGroup. */
export interface ConsumerGroupEntry extends Derived<ConsumerGroupConsumer, "consumer" | "consumer_group">, NameRef {}

export interface PluginCredentialEntry extends Derived<PluginCredential, "consumer" | "key"> {
  readonly plugin: string;
  readonly secretRef: SecretRef;
  readonly configFrom?: readonly ConfigFrom[];
}

export type ConsumerSpec = CommonSpec &
  Derived<Consumer> & {
    readonly keyAuth?: readonly KeyAuthEntry[];
    readonly jwt?: readonly JwtEntry[];
    readonly basicAuth?: readonly BasicAuthEntry[];
    readonly hmacAuth?: readonly HmacAuthEntry[];
    readonly mtlsAuth?: readonly MtlsAuthEntry[];
    readonly acls?: readonly AclEntry[];
    readonly consumerGroups?: readonly ConsumerGroupEntry[];
    readonly pluginCredentials?: readonly PluginCredentialEntry[];
  };

interface ListFacts {
  readonly description: string;
  readonly entry: string;
  /** Description of the entry's id. */
  readonly id: string;
  readonly required: readonly string[];
  readonly refine?: Readonly<Record<string, SpecNode>>;
  /** Members that the entity does not have, or that replace its members of the same names. */
  readonly add?: Readonly<Record<string, SpecNode>>;
  /** The entity's reference to a resource whose `name` and `namespace` are members of the entry. */
  readonly reference?: { readonly member: string; readonly kind: string };
  /** An optional reference of the entity (`member`), and the member of the entry that expresses it (`ref`). */
  readonly optionalReference?: { readonly member: string; readonly ref: string; readonly node: SpecNode };
}

const lists: Readonly<Record<CredentialCollection, ListFacts>> = {
  keyauth_credentials: {
    description: "The consumer's API keys for the plugin key-auth.",
    entry: "One key.",
    id: "The credential's UUID. Derived from the consumer and secretRef if unset.",
    required: ["secretRef"],
    refine: { ttl: { description: "Lifetime of the key in seconds, from the creation of its Secret." } },
  },
  jwt_secrets: {
    description: "The keys that verify the consumer's tokens for the plugin jwt.",
    entry: "One key. HS256, HS384 and HS512 need secretRef, the other algorithms need rsaPublicKey.",
    id: "The credential's UUID. Derived from the consumer and key if unset.",
    required: ["key"],
    refine: { key: { description: "The value of the claim that names the credential, `iss` by default." } },
  },
  basicauth_credentials: {
    description: "The consumer's user names and passwords for the plugin basic-auth.",
    entry: "One user name.",
    id: "The credential's UUID. Derived from the consumer and username if unset.",
    required: ["username", "secretRef"],
  },
  hmacauth_credentials: {
    description: "The secrets with which the consumer signs requests for the plugin hmac-auth.",
    entry: "One user name.",
    id: "The credential's UUID. Derived from the consumer and username if unset.",
    required: ["username", "secretRef"],
  },
  mtls_auth_credentials: {
    description: "The subject names of the consumer's certificates for the plugin mtls-auth.",
    entry: "One subject name.",
    id: "The credential's UUID. Derived from the consumer, the subject name and the CA certificate if unset.",
    required: ["subjectName"],
    optionalReference: {
      member: "ca_certificate",
      ref: "caCertificateRef",
      node: nameRef(
        "The certificate's chain must contain this CA certificate. If unset, any CA of the plugin suffices.",
        "CACertificate",
      ),
    },
  },
  acls: {
    description: "The consumer's groups for the plugin acl.",
    entry: "One group.",
    id: "The entry's UUID. Derived from the consumer and group if unset.",
    required: ["group"],
  },
  consumer_group_consumers: {
    description: "The consumer groups that the consumer belongs to.",
    entry: "One group.",
    id: "The entry's UUID. Derived from the consumer and the group if unset.",
    required: ["name"],
    reference: { member: "consumer_group", kind: "ConsumerGroup" },
  },
  plugin_credentials: {
    description: "The consumer's credentials for plugins that you have written.",
    entry: "One credential.",
    id: "The credential's UUID. Derived from the consumer and secretRef if unset.",
    required: ["plugin", "secretRef"],
    add: {
      config: {
        type: "object",
        description: "Further fields of the credential, which the plugin declares (snake_case).",
        open: true,
      },
      configFrom,
    },
  },
};

const secretNames: Readonly<Record<string, string>> = {
  key: "The key",
  secret: "The secret",
  password: "The password",
};

function listNode(collection: CredentialCollection): SpecNode {
  const {
    description,
    entry,
    id,
    required,
    refine = {},
    add = {},
    reference,
    optionalReference: optional,
  } = lists[collection];
  const secrets = entitySecrets[collection];
  const [secret] = secrets;
  return {
    type: "array",
    description,
    maxItems: 64,
    items: specOf(collection, {
      description: entry,
      omit: ["consumer", ...secrets, ...[reference, optional].flatMap((each) => each?.member ?? [])],
      add: {
        ...add,
        id: entityId(id),
        ...(secret !== undefined && { secretRef: secretRef(secretNames[secret] ?? `The ${secret}`) }),
        ...(reference && nameRef("", reference.kind).properties),
        ...(optional && { [optional.ref]: optional.node }),
      },
      refine,
      required,
    }),
  };
}

export const consumerKind: KindFacts = {
  collection: "consumers",
  shortName: "gwconsumer",
  spec: specOf("consumers", {
    add: {
      ...commonSpecMembers(
        "Name from which the id is derived; unique across namespaces. Default: username, else metadata.name in " +
          "Sluice's home namespace, <namespace>.<metadata.name> elsewhere.",
      ),
      ...Object.fromEntries(
        credentialCollections.map((collection) => [
          entities[collection].credential?.list ?? collection,
          listNode(collection),
        ]),
      ),
    },
    cel: [{ rule: "has(self.username) || has(self.customId)", message: "set username, customId or both" }],
  }),
  columns: [
    { name: "Username", jsonPath: ".spec.username", description: "The consumer's unique name." },
    { name: "Custom-ID", jsonPath: ".spec.customId", description: "The consumer's id in another system.", priority: 1 },
    ...stateColumns,
  ],
};
