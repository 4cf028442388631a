/** The certificate of an authority that signs the certificates of upstreams or clients. */
import { nullable, record, type Static, text } from "@sluice/plugin-sdk";
import { created_at, idMember, tagsMember, updated_at } from "../common-members.ts";
import { MAX_PEM } from "./certificate.ts";

export const caCertificateSchema = record(
  {
    id: idMember("the certificate"),
    created_at,
    updated_at,
    cert: text({
      description: "The certificate of one certificate authority (CA) in PEM.",
      rule: "certificate-chain",
      maxLength: MAX_PEM,
    }),
    cert_digest: nullable(
      text({
        description: "SHA-256 of the certificate in hex. A value in a request or a file is ignored.",
        maxLength: 64,
      }),
    ),
    tags: tagsMember,
  },
  {
    description: "The certificate of an authority (CA) that signs the certificates of upstreams or clients.",
    rule: "ca-certificate",
  },
);

export type CaCertificate = Static<typeof caCertificateSchema>;
