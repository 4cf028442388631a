import type { ConfigSettings } from "../../settings/config.ts";
import type { Call } from "../command.ts";

/** A call of one of the commands below `sluice config`. */
export type PartCall = Call<ConfigSettings>;

export type Part = (call: PartCall) => Promise<void>;
