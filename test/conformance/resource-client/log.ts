import type { Log } from "@sluice/crds";

/** A log that nobody reads. */
export const quiet: Log = { info() {}, warn() {}, error() {} };
