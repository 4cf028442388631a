/** Start-up settings of the commands that talk to the admin API, such as `sluice status`. */
import { defineSettings, type SettingsOf } from "@sluice/model/serving";
import { accessSettings } from "../access.ts";
import { adminSettings } from "./admin.ts";

export const clientSettings = defineSettings({
  url: {
    variable: "SLUICE_ADMIN_URL",
    kind: "text",
    default: "http://127.0.0.1:8001",
    description: "URL of the admin API.",
  },
  token: {
    ...accessSettings.token,
    description: "Token for the admin API. Set this or SLUICE_ADMIN_TOKEN_FILE if the admin API requires a token.",
  },
  cluster: {
    variable: "SLUICE_ADMIN_CLUSTER",
    kind: "flag",
    default: false,
    description:
      "Whether the admin API is reached through the Kubernetes API server: a port is forwarded to the Service of the " +
      "admin API in the namespace of the kubeconfig's context. `kubectl sluice` sets it to true, and so do the " +
      "options --context, --kubeconfig and --namespace.",
  },
  tokenFile: {
    ...accessSettings.tokenFile,
    description:
      "File with the token for the admin API. Not used if SLUICE_ADMIN_TOKEN is set, unless the file is given as " +
      "a flag.",
  },
});

export type ClientSettings = SettingsOf<typeof clientSettings>;

const { homeNamespace, class: resourceClass, plugins } = adminSettings;

/** Start-up settings of the client commands that read files, such as `sluice plan`. */
export const clientFileSettings = defineSettings({ ...clientSettings, homeNamespace, class: resourceClass, plugins });

export type ClientFileSettings = SettingsOf<typeof clientFileSettings>;
