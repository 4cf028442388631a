/** Start-up settings of nodes that order certificates from CAs. */
import { acmeSettings, defineSettings } from "@sluice/model/serving";

export const nodeAcmeSettings = defineSettings({
  ...acmeSettings,
  acmeFolder: {
    variable: "SLUICE_ACME_DIR",
    kind: "text",
    default: null,
    description:
      "Folder in which a node with a declarative file (source and store `file`) keeps the certificates that it orders, " +
      "their keys and the keys of its accounts. No other node may use it. The node creates it with mode 0700, and its " +
      "files with mode 0600, so that only their owner may read them. Unset: the certificates with `acme` in the file are " +
      "not ordered.",
  },
});
