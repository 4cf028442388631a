/** Start-up settings of `sluice config`, which reads and writes stores, and of `sluice migrate`. */
import { defineSettings, logFormat, type SettingsOf } from "@sluice/model/serving";
import { databaseSettings } from "../database.ts";
import { revisionSettings } from "../revisions.ts";
import { adminSettings } from "./admin.ts";
import { logLevel } from "./gateway.ts";

const { store, directory, homeNamespace, class: resourceClass, file, fileWritable, plugins } = adminSettings;

export const configSettings = defineSettings({
  store,
  directory,
  homeNamespace,
  class: resourceClass,
  file,
  fileWritable,
  plugins,
  ...databaseSettings,
  ...revisionSettings,
  logLevel: { ...logLevel, default: "warn" },
  logFormat,
});

export type ConfigSettings = SettingsOf<typeof configSettings>;

/** Start-up settings of `sluice migrate`. */
export const migrateSettings = defineSettings({
  homeNamespace,
  class: resourceClass,
  plugins,
  logLevel: configSettings.logLevel,
  logFormat,
});

export type MigrateSettings = SettingsOf<typeof migrateSettings>;
