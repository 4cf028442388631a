import { join } from "node:path";
import { builtForm } from "../build/emit.ts";
import { lockRoot } from "./contents/lock.ts";

/** Where Node and the repository are in an image. */
export const places = { node: "usr/local/bin/node", sluice: "sluice" };

/** How a container starts a workspace's command. */
export interface Start {
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
export function startOf(workspace: string): Start {
  const source = join(workspace, "src/main.ts");
  const command = join(places.sluice, workspace, "build/main.js");
  const [line = ""] = builtForm(join(lockRoot, source)).split("\n");
  const [, words = ""] = line.match(/^#!\/usr\/bin\/env -S (.*)$/) ?? [];
  const all = words.split(" ");
  const node = all.indexOf("node");
  const env = all.slice(0, node);
  if (node < 0 || !env.every((word) => /^\w+=/.test(word)))
    throw new Error(`the first line of ${source} has an unexpected form: ${line}`);
  return { env, entrypoint: [`/${places.node}`, ...all.slice(node + 1), `/${command}`] };
}
