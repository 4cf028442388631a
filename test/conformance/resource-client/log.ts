import type { Log } from "@sluice/crds";

/** A log that discards everything. */
export const quietLog: Log = { info() {}, warn() {}, error() {} };
