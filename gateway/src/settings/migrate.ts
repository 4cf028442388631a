/** Start-up settings of `sluice migrate`. */
import { defineSettings, type SettingsOf } from "@sluice/model/serving";
import { configSettings } from "./config.ts";

const { homeNamespace, class: resourceClass, plugins, logLevel } = configSettings;

export const migrateSettings = defineSettings({ homeNamespace, class: resourceClass, plugins, logLevel });

export type MigrateSettings = SettingsOf<typeof migrateSettings>;
