/** The images that the cluster itself needs, made from binaries that Go has built. */
import { existsSync, renameSync } from "node:fs";
import { image, layer, writeArchive } from "../../images/archive/oci.ts";
import { copied } from "../../images/archive/tree.ts";
import { tool } from "../../programs/tool.ts";
import { pauseImage } from "./components.ts";

export const dnsImage = "sluice.test/coredns:1";

const programs = [
  { tool: "pause", name: pauseImage },
  { tool: "coredns", name: dnsImage },
] as const;

/** Resolves to the paths of the images' archives. Creates missing ones, beside the programs in the cache. */
export function systemImages(): Promise<readonly string[]> {
  return Promise.all(programs.map(async (program) => archive(await tool(program.tool), program)));
}

function archive(path: string, { tool, name }: (typeof programs)[number]): string {
  const place = `${path}.tar`;
  if (existsSync(place)) return place;
  const partial = `${place}.${process.pid}`;
  const runAs = { User: "65532", Env: [], Entrypoint: [`/${tool}`], Cmd: [], WorkingDir: "/", Labels: {} };
  writeArchive(partial, [image(name, { layers: [layer(tool, [copied(tool, path, 0o755)])], runAs })]);
  renameSync(partial, place);
  return place;
}
