/** What the subcommands of `sluice config` share. */
import { type AdminSettings, adminSettings } from "../../settings/admin.ts";
import type { ConfigSettings } from "../../settings/config.ts";
import { defaultsOf } from "../../settings/start.ts";
import type { CommandCall } from "../command.ts";

/** A call of a `sluice config` subcommand. */
export type ConfigCall = CommandCall<ConfigSettings>;

export type ConfigSubcommand = (call: ConfigCall) => Promise<void>;

/** The settings that open a store; settings that only the admin listener reads keep their defaults. */
export const storeSettings = (settings: ConfigSettings): AdminSettings => ({
  ...defaultsOf(adminSettings),
  ...settings,
});
