import type { ConfigSettings } from "../../settings/config.ts";
import type { Call } from "../command.ts";

/** A call of a `sluice config` subcommand. */
export type PartCall = Call<ConfigSettings>;

export type Part = (call: PartCall) => Promise<void>;
