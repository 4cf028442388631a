/** Start-up settings of whatever reads or writes a declarative file. */
import { defineSettings, type Settings } from "@sluice/model/serving";

export const fileSettings = defineSettings({
  file: {
    variable: "SLUICE_FILE",
    kind: "text",
    default: null,
    description:
      "The declarative file (YAML or JSON), with source or store `file`. Read again whenever somebody changes it.",
  },
  fileWritable: {
    variable: "SLUICE_FILE_WRITABLE",
    kind: "flag",
    default: false,
    description:
      "Whether the admin API may write the declarative file, with store `file`. As in Kong it may not by default: " +
      "writes are answered 405.",
  },
  unprotectWait: {
    variable: "SLUICE_UNPROTECT_WAIT",
    kind: "duration",
    default: 2000,
    description:
      "How long a file has to be unchanged before a change counts that was written into it and takes a plugin that " +
      "protects something from what it is attached to, or leaves requests of a protected route to an unprotected one: " +
      "the file may be half written. Concerns declarative files and, " +
      "with store `directory`, files of custom resources; not what the admin API writes, and not a file that replaces " +
      "another one by a rename.",
  },
});

export type FileSettings = Settings<typeof fileSettings>;
