import manifest from "../../package.json" with { type: "json" };

/** The version in `Server`, `Via`, /status and metrics. */
export const sluiceVersion: string = manifest.version;
