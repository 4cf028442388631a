/** The custom resource CACertificate. The certificate is public, so it is in the spec and in no Secret. */
import type { CaCertificate } from "../../entities/index.ts";
import { type CommonSpec, commonSpecMembers, stateColumns } from "../common-spec.ts";
import { type Derived, type KindFacts, specOf } from "../kind.ts";

export type CACertificateSpec = CommonSpec & Derived<CaCertificate, "cert_digest">;

export const caCertificateKind: KindFacts = {
  collection: "ca_certificates",
  shortName: "gwca",
  spec: specOf("ca_certificates", {
    omit: ["cert_digest"],
    add: commonSpecMembers(
      "Name from which the id is derived; unique across namespaces. Default: metadata.name in Sluice's home " +
        "namespace, <namespace>.<metadata.name> elsewhere.",
    ),
    refine: {
      cert: {
        cel: [
          { rule: "self.contains('-----BEGIN CERTIFICATE-----')", message: "must be a certificate in PEM" },
          { rule: "!self.contains('PRIVATE KEY')", message: "must not contain a private key" },
        ],
      },
    },
    required: ["cert"],
  }),
  columns: [{ name: "Id", jsonPath: ".spec.id", description: "The id, if set by spec.id." }, ...stateColumns],
};
