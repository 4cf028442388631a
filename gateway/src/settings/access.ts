/** Start-up settings for access to the admin listener. */
import { defineSettings, type SettingsOf } from "@sluice/model/serving";

export const accessSettings = defineSettings({
  access: {
    variable: "SLUICE_ADMIN_ACCESS",
    kind: "choice",
    words: ["proven", "anyone"],
    default: "proven",
    description:
      "Which clients may use the admin API. `proven`: clients with the token, a certificate or a Kubernetes " +
      "token, if these are configured; otherwise only programs on this machine. `anyone`: every client that can " +
      "connect.",
  },
  token: {
    variable: "SLUICE_ADMIN_TOKEN",
    kind: "text",
    default: null,
    secret: true,
    description: "Token for the admin API. Callers send it as `Kong-Admin-Token` or `Authorization: Bearer`.",
  },
  tokenFile: {
    variable: "SLUICE_ADMIN_TOKEN_FILE",
    kind: "text",
    default: null,
    description:
      "File with the token for the admin API, for example a mounted secret. If the file does not exist, it is created " +
      "with a random token. Not used if SLUICE_ADMIN_TOKEN is set, unless the file is given as a flag.",
  },
  tlsCert: {
    variable: "SLUICE_ADMIN_TLS_CERT",
    kind: "text",
    default: null,
    description: "PEM file of the admin listener's certificate. If set, the listener accepts only TLS.",
  },
  tlsKey: {
    variable: "SLUICE_ADMIN_TLS_KEY",
    kind: "text",
    default: null,
    description: "PEM file of the private key of SLUICE_ADMIN_TLS_CERT.",
  },
  tlsAuthority: {
    variable: "SLUICE_ADMIN_TLS_CA",
    kind: "text",
    default: null,
    description: "PEM file of the certificate authority for clients of the admin API (mutual TLS).",
  },
  kubernetes: {
    variable: "SLUICE_ADMIN_KUBERNETES",
    kind: "flag",
    default: false,
    description:
      "Whether the admin API accepts Kubernetes tokens, sent as `Authorization: Bearer`. RBAC on the custom " +
      "resources decides what each caller may do. Applies to store `cluster`.",
  },
  origins: {
    variable: "SLUICE_ADMIN_ORIGINS",
    kind: "list",
    default: [],
    description:
      "Origins of web pages that may use the admin API, such as https://console.example.com, in addition to the " +
      "listener's own origin. Unset: only that origin.",
  },
  hosts: {
    variable: "SLUICE_ADMIN_HOSTS",
    kind: "list",
    default: [],
    description:
      "Further host names under which the admin listener accepts requests. It always accepts its listen address, " +
      "localhost, loopback addresses and, unless it listens on loopback, all IP addresses. If callers must send a " +
      "token, every name is accepted.",
  },
});

export type AccessSettings = SettingsOf<typeof accessSettings>;
