import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

/** Packs a folder with its bundled dependencies as npm does, and returns the path of the tarball in the folder `to`. */
export async function npmPack(folder: string, to: string): Promise<string> {
  // The list of files is long.
  const options = { cwd: folder, maxBuffer: 2 ** 26 };
  const { stdout } = await promisify(execFile)("npm", ["pack", "--json", "--pack-destination", to], options);
  const [packed] = JSON.parse(stdout) as readonly { readonly filename: string }[];
  return join(to, packed?.filename ?? "");
}
