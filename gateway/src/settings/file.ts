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
});

export type FileSettings = Settings<typeof fileSettings>;
