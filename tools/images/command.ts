import { readFileSync } from "node:fs";
import { join } from "node:path";
import { builtFirstLine } from "../build/programs.ts";
import { lockRoot } from "./contents/lock.ts";

/** Where Node and the repository are in an image. */
export const imagePlaces = { node: "usr/local/bin/node", sluice: "sluice" };

/** How a container starts a workspace's command. */
export interface StartCommand {
  /** `NAME=value` */
  readonly env: readonly string[];
  readonly entrypoint: readonly string[];
}

/**
 * Converts the first line of a workspace's built command to the environment and entrypoint of an image, which has no
 * `env` program that could run that line.
 *
 * @throws Error when the line has a different form.
 */
export function startCommandOf(workspace: string): StartCommand {
  const source = join(workspace, "src/main.ts");
  const command = join(imagePlaces.sluice, workspace, "build/main.js");
  const [line = ""] = builtFirstLine(readFileSync(join(lockRoot, source), "utf8")).split("\n");
  const [, words = ""] = line.match(/^#!\/usr\/bin\/env -S (.*)$/) ?? [];
  const all = words.split(" ");
  const node = all.indexOf("node");
  const env = all.slice(0, node);
  if (node < 0 || !env.every((word) => /^\w+=/.test(word)))
    throw new Error(`the first line of ${source} has an unexpected form: ${line}`);
  return { env, entrypoint: [`/${imagePlaces.node}`, ...all.slice(node + 1), `/${command}`] };
}
