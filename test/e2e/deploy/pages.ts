/** The command blocks of the pages in docs/how-to. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Cluster } from "../../../tools/cluster/pods/cluster.ts";

const folder = resolve(import.meta.dirname, "../../../docs/how-to");

/** The blocks of commands in one section of a page, in their order. */
export function commandBlocksOf(page: string, section: string): readonly string[] {
  const [, body = ""] = readFileSync(join(folder, page), "utf8").split(`\n## ${section}\n`);
  const [part = ""] = body.split("\n## ");
  return [...part.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands = ""]) => commands);
}

export interface PastedCommands {
  readonly page: string;
  readonly section: string;
  /** Shell lines before the block, instead of steps that the suite has done in another way. */
  readonly setUp: string;
  /** The folder in which the block runs. Default: the folder in which the suite runs. */
  readonly cwd?: string;
}

/** Runs the only block of a section as written, and checks that its last request is answered with users. */
export async function answersWhenPasted(
  cluster: Cluster,
  { page, section, setUp, cwd }: PastedCommands,
): Promise<void> {
  const [block = "", ...more] = commandBlocksOf(page, section);
  assert.deepEqual([block.includes("port-forward"), more], [true, []]);
  const ending = "answered=$?\nkill $!\nexit $answered";
  const { code, stdout, stderr } = await cluster.run("sh", ["-c", `${setUp}\n${block}${ending}`], { cwd });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /\{"data":\{"users":\[.*\]\}\}/);
}
