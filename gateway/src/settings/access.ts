/** Start-up settings for access to the admin listener. */
import { defineSettings, type SettingsOf } from "@sluice/model/serving";

export const accessSettings = defineSettings({
  access: {
    variable: "SLUICE_ADMIN_ACCESS",
    kind: "choice",
    words: ["proven", "anyone"],
    default: "proven",
    description:
      "Which clients may use the admin API. `proven`: those with the token, a certificate or a Kubernetes token, as far as " +
      "these are configured; without any of them, only programs on this machine. `anyone`: every client that reaches it.",
  },
  token: {
    variable: "SLUICE_ADMIN_TOKEN",
    kind: "text",
    default: null,
    secret: true,
    description: "Token that opens the admin API: callers send it as `Kong-Admin-Token` or `Authorization: Bearer`.",
  },
  tlsCert: {
    variable: "SLUICE_ADMIN_TLS_CERT",
    kind: "text",
    default: null,
    description: "PEM file of the admin listener's certificate. With it, only TLS is answered.",
  },
  tlsKey: {
    variable: "SLUICE_ADMIN_TLS_KEY",
    kind: "text",
    default: null,
    description: "PEM file of that certificate's key.",
  },
  tlsAuthority: {
    variable: "SLUICE_ADMIN_TLS_CA",
    kind: "text",
    default: null,
    description: "PEM file of the authority whose certificates open the admin API (mutual TLS).",
  },
  kubernetes: {
    variable: "SLUICE_ADMIN_KUBERNETES",
    kind: "flag",
    default: false,
    description:
      "Whether Kubernetes tokens, sent as `Authorization: Bearer`, open the admin API: RBAC on the custom resources " +
      "says what each caller may do. With store `cluster`.",
  },
  origins: {
    variable: "SLUICE_ADMIN_ORIGINS",
    kind: "list",
    default: [],
    description:
      "Origins of web pages that may use the admin API, such as https://console.example.com. Unset: no page of " +
      "another origin may.",
  },
  hosts: {
    variable: "SLUICE_ADMIN_HOSTS",
    kind: "list",
    default: [],
    description:
      "Names under which the admin listener answers, beside its address and those of this machine. Callers who send " +
      "a token may use any name.",
  },
});

export type AccessSettings = SettingsOf<typeof accessSettings>;
