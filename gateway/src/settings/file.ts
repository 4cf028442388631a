/** Start-up settings of all commands that use a declarative file. */
import { defineSettings, type SettingsOf } from "@sluice/model/serving";

export const fileSettings = defineSettings({
  file: {
    variable: "SLUICE_FILE",
    kind: "text",
    default: null,
    description:
      "Path of the declarative file (YAML or JSON), if SLUICE_SOURCE or SLUICE_STORE is `file`. The file is reloaded " +
      "whenever it changes.",
  },
  fileWritable: {
    variable: "SLUICE_FILE_WRITABLE",
    kind: "flag",
    default: false,
    description:
      "Whether the admin API may write the declarative file (store `file`). By default writes are answered with 405, " +
      "as in Kong.",
  },
  unprotectWait: {
    variable: "SLUICE_UNPROTECT_WAIT",
    kind: "duration",
    default: 2000,
    description:
      "If a file is edited in place, and the edit removes protection, the edit takes effect only after the file has " +
      "been unchanged for this time, because the file may be half written. Such an edit removes a protecting plugin, " +
      "such as key-auth, or lets an unprotected route match requests of a protected one. Applies to declarative " +
      "files and, with store `directory`, to files of custom resources. Does not apply to writes of the admin API, " +
      "or to a file that is renamed into place some milliseconds after it was written.",
  },
});

export type FileSettings = SettingsOf<typeof fileSettings>;
