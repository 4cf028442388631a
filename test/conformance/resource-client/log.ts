import type { Log } from "@sluice/crds";

/** A log that discards everything. */
export const quiet: Log = { info() {}, warn() {}, error() {} };
