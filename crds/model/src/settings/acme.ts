/** Start-up settings of the processes that order certificates from CAs (ACME, RFC 8555). */
import { defineSettings, type SettingsOf } from "./declaration.ts";

export const acmeSettings = defineSettings({
  acmeDirectories: {
    variable: "SLUICE_ACME_DIRECTORIES",
    kind: "list",
    default: [
      "https://acme-v02.api.letsencrypt.org/directory",
      "https://acme-staging-v02.api.letsencrypt.org/directory",
    ],
    description:
      "URLs of the ACME directories of the CAs from which certificates with `acme` may be ordered, separated by commas. " +
      "The first is the default of `acme.directory`. With the first order, you accept the CA's terms of service.",
  },
  acmeEmail: {
    variable: "SLUICE_ACME_EMAIL",
    kind: "text",
    default: null,
    description: "Mail address for the accounts at these CAs. Unset: the accounts have none.",
  },
  acmeAuthority: {
    variable: "SLUICE_ACME_CA_FILE",
    kind: "text",
    default: null,
    description:
      "PEM file of CAs by which the servers of these directories are verified, besides those that the machine trusts, " +
      "for a CA of your own. Read at the start.",
  },
  acmeBindingId: {
    variable: "SLUICE_ACME_EAB_KID",
    kind: "text",
    default: null,
    description:
      "Key id of the external account binding (RFC 8555 section 7.3.4) with which the account at the first directory is " +
      "registered. Needs SLUICE_ACME_EAB_HMAC_KEY.",
  },
  acmeBindingKey: {
    variable: "SLUICE_ACME_EAB_HMAC_KEY",
    kind: "text",
    default: null,
    secret: true,
    description: "HMAC key (base64url) of SLUICE_ACME_EAB_KID.",
  },
});

export type AcmeSettings = SettingsOf<typeof acmeSettings>;
