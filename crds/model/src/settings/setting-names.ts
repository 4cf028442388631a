/** The three names of a setting, derived from the name of its variable. */
import type { Declaration } from "./declaration.ts";

/** The member of a settings file: `proxy_listen` for SLUICE_PROXY_LISTEN. */
export const settingsMemberOf = (variable: string): string => variable.replace(/^SLUICE_/, "").toLowerCase();

/** The option of a command line: `--proxy-listen` for SLUICE_PROXY_LISTEN. */
export const flagOf = (variable: string): string => `--${settingsMemberOf(variable).replaceAll("_", "-")}`;

/** The option that makes a setting of the kind `flag` false: `--no-pg-ssl-verify`. */
export const negativeFlagOf = (variable: string): string => flagOf(variable).replace(/^--/, "--no-");

/** The setting that names the settings file. No settings file can contain it. */
export const settingsFile: Declaration = {
  variable: "SLUICE_SETTINGS",
  kind: "text",
  default: null,
  description:
    "YAML file of settings. A setting in an environment variable overrides the file, and one on the command line " +
    "overrides both.",
};
