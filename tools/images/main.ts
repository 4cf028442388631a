/**
 * `npm run images`: builds images and prints their names.
 *
 *     npm run images                          all of them in one archive, in the cache
 *     npm run images -- --out DIR [NAME…]     an archive per image, and an SBOM per workload, in DIR
 *     npm run images -- --root DIR NAME       the root file system of a workload, as a tree
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildPrograms } from "../build/programs.ts";
import { writeArchive } from "./archive/oci.ts";
import { writeTree } from "./archive/tree.ts";
import { imageRootOf, makeImageKit, workloadImage } from "./build.ts";
import { type ImageWorkload, workloads } from "./contents/workloads.ts";
import { buildAll, runImages } from "./images.ts";

const usage = `usage: npm run images -- [--out DIR [NAME…] | --root DIR WORKLOAD]
workloads: ${Object.keys(workloads).join(", ")}
`;

async function main(): Promise<void> {
  await buildPrograms();
  const options = { out: { type: "string" }, root: { type: "string" } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const asked = positionals.map((name) => {
    const found = Object.hasOwn(workloads, name) ? workloads[name as keyof typeof workloads] : undefined;
    if (found === undefined) throw new Error(`there is no workload ${name}`);
    return found;
  });
  if (values.root !== undefined) return writeRoot(values.root, asked);
  if (values.out !== undefined) return writeArchives(values.out, asked);
  const { tar, images: built } = await runImages();
  for (const { name, digest } of Object.values(built)) console.log(`${name} ${digest}`);
  console.log(`\nctr -n k8s.io images import ${tar}`);
}

function writeRoot(folder: string, [workload, ...more]: readonly ImageWorkload[]): void {
  if (workload === undefined || more.length > 0) throw new Error("--root needs exactly one workload");
  for (const { entries } of imageRootOf(workload).layers) writeTree(folder, entries);
}

async function writeArchives(folder: string, asked: readonly ImageWorkload[]): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const kit = makeImageKit();
  const built = asked.length > 0 ? asked.map((workload) => workloadImage(workload, kit)) : await buildAll(kit);
  for (const image of built) {
    const [, name = ""] = image.name.match(/([^/]+):/) ?? [];
    const place = join(folder, `${name}.tar`);
    writeArchive(place, [image]);
    console.log(`${place} ${image.name} ${image.digest}`);
  }
  for (const workload of asked.length > 0 ? asked : Object.values(workloads)) {
    writeFileSync(join(folder, `${workload.name}.cdx.json`), imageRootOf(workload, kit).sbom);
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
  process.exitCode = 1;
}
