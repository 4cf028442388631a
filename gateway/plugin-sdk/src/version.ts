import manifest from "../package.json" with { type: "json" };

/** The version of this SDK. The `peerDependencies` of a plugin's package state which versions it needs. */
export const sdkVersion: string = manifest.version;
