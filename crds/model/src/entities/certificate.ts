/** A certificate with its private key, for TLS with clients and with upstreams. */
import { nullable, record, type Static, text } from "../schema/member.ts";
import { created_at, id, tags, updated_at } from "./shared.ts";

/** Characters; enough for a chain of a dozen certificates. */
const MAX_PEM = 65_536;

const chain = (description: string) => text({ description, rule: "certificate-chain", maxLength: MAX_PEM });
const privateKey = (description: string) => text({ description, rule: "private-key", maxLength: MAX_PEM });

export const certificateSchema = record(
  {
    id,
    created_at,
    updated_at,
    cert: chain("The certificate, and after it those of the authorities between it and the root. PEM."),
    key: privateKey("The private key of the certificate, not encrypted. PEM."),
    cert_alt: nullable(chain("A second certificate with another kind of key (RSA beside ECDSA). PEM.")),
    key_alt: nullable(privateKey("The private key of the second certificate. PEM.")),
    tags,
  },
  { description: "A certificate and its private key.", rule: "certificate" },
);

export type Certificate = Static<typeof certificateSchema>;
