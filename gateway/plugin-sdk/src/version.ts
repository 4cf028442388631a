import manifest from "../package.json" with { type: "json" };

/** The version of this SDK. A plugin package states the versions that it works with in `peerDependencies`. */
export const sdkVersion: string = manifest.version;
