import { spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { oneAtATime } from "./one-at-a-time.ts";

/** A program from a package of Debian or Ubuntu. */
export interface AptTool {
  /** Names of the executable; the first one found on PATH is used. */
  readonly commands: readonly string[];
  readonly package: string;
  /** Folders that are searched for the executable instead of those on PATH, in the same form as PATH. */
  readonly path?: string;
  /** The size of the download, for the progress line. */
  readonly size: string;
}

/** The path of the first executable with one of these names, or undefined when no folder of `path` has one. */
export function findOnPath(commands: readonly string[], path = process.env.PATH ?? ""): string | undefined {
  const folders = path.split(delimiter).filter((folder) => folder !== "");
  return commands.flatMap((command) => folders.map((folder) => join(folder, command))).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns a function that finds a program, or installs its package with apt-get as root, and resolves to the program's
 * path. The function rejects when the program is missing and cannot be installed; without root, the error contains the
 * command that installs the package.
 */
export function fromApt(wanted: AptTool): (say: (line: string) => void) => Promise<string> {
  const [name] = wanted.commands;
  const advice = `install it yourself: sudo apt-get install --no-install-recommends ${wanted.package}`;
  return async (say) => {
    const found = find(wanted);
    if (found !== undefined) return found;
    if (process.getuid?.() !== 0) throw new Error(`${name} is missing and only root can install it; ${advice}`);
    const waiting = () => say(`${name}: another process is installing packages, waiting`);
    const installed = await oneAtATime("apt-get", () => install(wanted, say), waiting);
    if (installed.path !== undefined) return installed.path;
    throw new Error(`${name} is missing and apt-get could not install ${wanted.package}:\n${installed.output}`);
  };
}

const find = ({ commands, path }: AptTool): string | undefined => findOnPath(commands, path);

async function install(wanted: AptTool, say: (line: string) => void): Promise<{ path?: string; output: string }> {
  const already = find(wanted);
  if (already !== undefined) return { path: already, output: "" };
  const began = performance.now();
  say(`${wanted.package}: installing with apt-get, ${wanted.size}`);
  const seconds = () => `${Math.round((performance.now() - began) / 1000)} s`;
  const timer = setInterval(() => say(`${wanted.package}: ${seconds()}`), 15_000);
  const get = ["install", "-y", "--no-install-recommends", wanted.package];
  try {
    let output = await aptGet(get);
    if (find(wanted) === undefined) {
      // A fresh image has no package lists, and the lists of an old image name versions that no longer exist.
      output += await aptGet(["update"]);
      output += await aptGet(get);
    }
    const path = find(wanted);
    if (path !== undefined) say(`${wanted.package}: installed in ${seconds()}`);
    return { path, output: output.slice(-4_000) };
  } finally {
    clearInterval(timer);
  }
}

/** Runs apt-get and returns its output; PATH shows afterwards whether it succeeded. */
async function aptGet(args: readonly string[]): Promise<string> {
  const child = spawn("apt-get", ["-o", "DPkg::Lock::Timeout=300", ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
    });
  }
  try {
    await once(child, "close");
  } catch (error) {
    return `apt-get cannot start: ${error instanceof Error ? error.message : error}\n`;
  }
  return output;
}
