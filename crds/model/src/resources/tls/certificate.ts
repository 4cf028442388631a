/**
 * The custom resource Certificate. Its PEM texts are in a Secret of the type that cert-manager writes, or the operator
 * orders them from a CA.
 */
import type { Certificate, Sni } from "../../entities/index.ts";
import { type CommonSpec, commonSpecMembers, entityId, type NameRef, nameRef, stateColumns } from "../common-spec.ts";
import { type Derived, type KindFacts, type SpecNode, specOf } from "../kind.ts";

/** The type of the Secrets that hold certificates (core v1: kubernetes.io/tls). */
export const TLS_SECRET_TYPE = "kubernetes.io/tls";

/** The entry of the Secret's data for each PEM text of the entity. The second pair is specific to Sluice. */
export const tlsEntries = {
  cert: "tls.crt",
  key: "tls.key",
  cert_alt: "tls-alt.crt",
  key_alt: "tls-alt.key",
} as const;

/** A server name for which the certificate is presented. */
export interface SniEntry extends Derived<Sni, "certificate"> {
  readonly name: string;
}

export type CertificateSpec = CommonSpec &
  Derived<Certificate, keyof typeof tlsEntries> & {
    readonly secretRef?: NameRef;
    readonly snis?: readonly SniEntry[];
  };

const snis: SpecNode = {
  type: "array",
  description:
    "The server names for which the certificate is presented. If several Certificates list a name, the oldest one " +
    "is used.",
  maxItems: 1024,
  listMapKeys: ["name"],
  items: specOf("snis", {
    description: "One server name.",
    omit: ["certificate"],
    add: { id: entityId("The SNI's UUID. Derived from its name if unset.") },
    refine: {
      name: {
        cel: [
          {
            rule: "!self.contains('*') || self.matches('^(\\\\*\\\\.[^*]+|[^*]+\\\\.\\\\*)$')",
            message: "a wildcard * must be the whole first or last label, such as *.example.com",
          },
        ],
      },
    },
    required: ["name"],
  }),
};

export const certificateKind: KindFacts = {
  collection: "certificates",
  shortName: "gwcert",
  spec: specOf("certificates", {
    omit: Object.keys(tlsEntries),
    add: {
      ...commonSpecMembers(
        "Name from which the id is derived; unique across namespaces. Default: metadata.name in Sluice's home " +
          "namespace, <namespace>.<metadata.name> elsewhere.",
      ),
      secretRef: nameRef(
        `A core Secret of the type ${TLS_SECRET_TYPE}: the certificate in ${tlsEntries.cert}, ` +
          `its private key in ${tlsEntries.key}, and optionally a second pair with a different type of key in ` +
          `${tlsEntries.cert_alt} and ${tlsEntries.key_alt}.`,
        "Secret",
      ),
      snis,
    },
    cel: [
      {
        rule: "has(self.secretRef) != has(self.acme)",
        message: "set exactly one of secretRef and acme",
      },
      {
        rule: "!has(self.acme) || has(self.acme.domains) || (has(self.snis) && self.snis.size() > 0)",
        message: "a certificate with acme needs names: set snis or acme.domains",
      },
    ],
  }),
  columns: [
    { name: "Secret", jsonPath: ".spec.secretRef.name", description: "The Secret with certificate and key." },
    { name: "SNIs", jsonPath: ".spec.snis[*].name", description: "The first server name." },
    ...stateColumns,
    {
      name: "Issued",
      jsonPath: '.status.conditions[?(@.type=="Issued")].status',
      description: "With acme: whether the operator has obtained a valid certificate.",
      priority: 1,
    },
  ],
};
