import type { SystemPackage } from "./libraries.ts";
import type { LockedPackage } from "./lock.ts";

/** The contents of an image. */
export interface ImageContents {
  readonly name: string;
  readonly version: string;
  /** Sluice's packages and third-party npm packages. */
  readonly npm: readonly LockedPackage[];
  readonly system: readonly SystemPackage[];
}

/** The path of the SBOM in an image. */
export const sbomPlace = "usr/share/sbom/sbom.cdx.json";

/**
 * The SBOM in CycloneDX 1.6 as JSON text. It has no timestamp and no serial number, so equal contents give equal text.
 */
export function sbomOf({ name, version, npm, system }: ImageContents): string {
  const bom = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { type: "container", "bom-ref": name, name, version } },
    components: [...npm.map(fromNpm), ...system.map(fromSystem)],
  };
  return `${JSON.stringify(bom, null, 2)}\n`;
}

function fromNpm({ path, name, version, license, integrity }: LockedPackage) {
  const [algorithm = "", digest = ""] = integrity?.split("-") ?? [];
  const content = Buffer.from(digest, "base64").toString("hex");
  return {
    type: "library",
    // The same package may be installed twice, at two paths.
    "bom-ref": path,
    name,
    version,
    ...(license !== undefined && { licenses: [{ expression: license }] }),
    ...(integrity !== undefined && { hashes: [{ alg: algorithm.replace("sha", "SHA-"), content }] }),
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
  };
}

function fromSystem({ name, version, architecture, files }: SystemPackage) {
  return {
    type: "library",
    "bom-ref": `deb:${name}:${architecture}`,
    name,
    version,
    purl: `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`,
    properties: files.map((path) => ({ name: "sluice:file", value: path })),
  };
}
