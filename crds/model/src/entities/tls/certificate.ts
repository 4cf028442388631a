/** A certificate with its private key, for TLS with clients and with upstreams. */
import { array, choice, nullable, record, type Static, text } from "@sluice/plugin-sdk";
import { created_at, idMember, tagsMember, updated_at } from "../common-members.ts";

/** Characters; enough for a chain of a dozen certificates. */
export const MAX_PEM = 65_536;

const chain = (description: string) => text({ description, rule: "certificate-chain", maxLength: MAX_PEM });
const privateKey = (description: string) =>
  text({ description, rule: "private-key", maxLength: MAX_PEM, secret: true });

/** The challenges of RFC 8555 section 8.3 and RFC 8737. A node can answer them; DNS records it cannot write. */
export const acmeChallengeTypes = ["http-01", "tls-alpn-01"] as const;

const acme = nullable(
  record(
    {
      domains: nullable(
        array(text({ description: "A host name without wildcard.", rule: "acme-domain", maxLength: 253 }), {
          description: "The names of the certificate, at most 100. Default: the names of its SNIs.",
          minItems: 1,
          maxItems: 100,
        }),
      ),
      challenge: choice(acmeChallengeTypes, {
        description:
          "How the CA checks that clients of the names reach the gateway. `http-01`: by a request to port 80, " +
          "`tls-alpn-01`: by a TLS handshake with port 443.",
        default: "http-01",
      }),
      directory: nullable(
        text({
          description:
            "URL of the CA's ACME directory, one of `SLUICE_ACME_DIRECTORIES`. Default: the first of them, which is " +
            "Let's Encrypt unless the setting says otherwise.",
          rule: "https-url",
          maxLength: 2048,
        }),
      ),
      key_type: choice(["ecdsa", "rsa"], {
        description: "The type of the certificate's key: ECDSA with the curve P-256, or RSA with 2048 bits.",
        default: "ecdsa",
      }),
    },
    {
      description:
        "Lets Sluice order the certificate and its key from a CA, and renew them (ACME, RFC 8555). Unset: `cert` and " +
        "`key` are required.",
    },
  ),
);

export const certificateSchema = record(
  {
    id: idMember("the content"),
    created_at,
    updated_at,
    cert: nullable(
      chain(
        "The certificate in PEM, followed by its intermediate certificates. Required unless `acme` is set; with `acme`, " +
          "Sluice replaces it.",
      ),
    ),
    key: nullable(
      privateKey(
        "The private key of the certificate in PEM, not encrypted. Required unless `acme` is set; with `acme`, Sluice " +
          "replaces it.",
      ),
    ),
    cert_alt: nullable(
      chain("A second certificate in PEM with a different type of key, such as ECDSA in addition to RSA."),
    ),
    key_alt: nullable(privateKey("The private key of the second certificate in PEM.")),
    acme,
    tags: tagsMember,
  },
  { description: "A certificate and its private key.", rule: "certificate" },
);

export type Certificate = Static<typeof certificateSchema>;

/** How a certificate is ordered from a CA. */
export type Acme = NonNullable<Certificate["acme"]>;
