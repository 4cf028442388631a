/** A certificate with its private key, for TLS with clients and with upstreams. */
import { nullable, record, type Static, text } from "@sluice/plugin-sdk";
import { created_at, idMember, tagsMember, updated_at } from "../common-members.ts";

/** Characters; enough for a chain of a dozen certificates. */
export const MAX_PEM = 65_536;

const chain = (description: string) => text({ description, rule: "certificate-chain", maxLength: MAX_PEM });
const privateKey = (description: string) =>
  text({ description, rule: "private-key", maxLength: MAX_PEM, secret: true });

export const certificateSchema = record(
  {
    id: idMember("the content"),
    created_at,
    updated_at,
    cert: chain("The certificate in PEM, followed by its intermediate certificates."),
    key: privateKey("The private key of the certificate in PEM, not encrypted."),
    cert_alt: nullable(
      chain("A second certificate in PEM with a different type of key, such as ECDSA in addition to RSA."),
    ),
    key_alt: nullable(privateKey("The private key of the second certificate in PEM.")),
    tags: tagsMember,
  },
  { description: "A certificate and its private key.", rule: "certificate" },
);

export type Certificate = Static<typeof certificateSchema>;
