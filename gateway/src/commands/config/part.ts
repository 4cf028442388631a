import type { ConfigSettings } from "../../settings/config.ts";
import type { CommandCall } from "../command.ts";

/** A call of a `sluice config` subcommand. */
export type ConfigCall = CommandCall<ConfigSettings>;

export type ConfigSubcommand = (call: ConfigCall) => Promise<void>;
