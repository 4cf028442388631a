/** Credentials of mtls-auth: the subject names that assign clients' certificates to consumers. */
import { owner, record, reference, type Static, text } from "@sluice/plugin-sdk";
import { created_at, tagsMember } from "../common-members.ts";

export const mtlsAuthSchema = record(
  {
    id: text({
      description:
        "The credential's UUID. If unset, the admin API generates it at random; in a declarative file it is derived " +
        "from the consumer, the subject name and the CA certificate (UUIDv5).",
      rule: "uuid",
    }),
    created_at,
    consumer: owner("consumers", "The consumer to which the certificate belongs."),
    subject_name: text({
      description:
        "A subject alternative name of the certificate, or its common name if it has no subject alternative names.",
      maxLength: 512,
    }),
    ca_certificate: reference(
      "ca_certificates",
      "The certificate's chain must contain this CA certificate. If unset, any CA of the plugin suffices.",
    ),
    tags: tagsMember,
  },
  { description: "A subject name that assigns clients' certificates to a consumer." },
);

export type MtlsAuthCredential = Static<typeof mtlsAuthSchema>;
