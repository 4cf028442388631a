/** The images that the cluster itself needs, made from binaries that Go has built. */
import { existsSync, renameSync } from "node:fs";
import { imageLayer, ociImage, writeArchive } from "../../images/archive/oci.ts";
import { copiedFile } from "../../images/archive/tree.ts";
import { obtainTool } from "../../programs/tool.ts";
import { pauseImage } from "./components.ts";

export const dnsImage = "sluice.test/coredns:1";

const programs = [
  { tool: "pause", name: pauseImage },
  { tool: "coredns", name: dnsImage },
] as const;

/** Resolves to the paths of the images' archives. Creates missing ones, beside the programs in the cache. */
export function systemImages(): Promise<readonly string[]> {
  return Promise.all(programs.map(async ({ tool: name, name: of }) => programImage(await obtainTool(name), of)));
}

/**
 * The path of an archive, beside the program, with an image of this name that has the program as its only file. A
 * missing archive is created.
 *
 * @param path A statically linked program, such as those that Go builds.
 * @param args The program's first arguments.
 */
export function programImage(path: string, name: string, args: readonly string[] = []): string {
  const place = `${path}.tar`;
  if (existsSync(place)) return place;
  const partial = `${place}.${process.pid}`;
  const runAs = { User: "65532", Env: [], Entrypoint: ["/program", ...args], Cmd: [], WorkingDir: "/", Labels: {} };
  writeArchive(partial, [
    ociImage(name, { layers: [imageLayer("program", [copiedFile("program", path, 0o755)])], runAs }),
  ]);
  renameSync(partial, place);
  return place;
}
