/** Start-up settings of a process: their declarations, and their values from flags, the environment and a file. */

/** A problem with a setting, or with the file, server or port that it names; the message says what to change. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}

export { type AcmeSettings, acmeSettings } from "./acme.ts";
export {
  type Address,
  type Declaration,
  type Declarations,
  defineSettings,
  hostAndPort,
  type ListenerAddress,
  type SettingsOf,
} from "./declaration.ts";
export { describeSettings, shownDefault, shownValue } from "./describe.ts";
export { type LoadedSettings, loadSettings } from "./load-settings.ts";
export {
  type ResolvedSetting,
  readSettings,
  resolveSettings,
  type SettingsFile,
  type SettingsSources,
} from "./resolve-settings.ts";
export { parseAddress, settingKindOf } from "./setting-kinds.ts";
export { flagOf, negativeFlagOf, settingsFile, settingsMemberOf } from "./setting-names.ts";
