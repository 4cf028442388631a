import type { ConfigSettings } from "../../settings/config.ts";
import type { Call } from "../command.ts";

/** A call of one of the commands below `sluice config`. */
export interface PartCall extends Call<ConfigSettings> {
  /** For a call that is not understood. */
  readonly usage: string;
}

export type Part = (call: PartCall) => Promise<void>;
