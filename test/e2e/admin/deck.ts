/** Runs Kong's decK against an admin listener. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { startProcess } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import type { KongFile } from "./kong-file.ts";

/** The result of a run of decK. */
export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  /** decK's error output. */
  readonly stderr: string;
}

/**
 * The entities that decK created, updated and deleted, or would change (`diff`), in decK's words, such as
 * `service users`. Sorted.
 */
export interface Changes {
  readonly created: readonly string[];
  readonly updated: readonly string[];
  readonly deleted: readonly string[];
}

export interface Deck {
  /** Runs `deck gateway <args>`, and resolves whatever decK's exit code is. */
  run(args: readonly string[], file?: KongFile): Promise<Run>;
  /** `sync`, `apply`, or `diff` of a file. Fails unless decK succeeds. */
  change(command: "sync" | "apply" | "diff", file: KongFile, args?: readonly string[]): Promise<Changes>;
  /** The parsed output of `dump`. Fails unless decK succeeds. */
  dump(args?: readonly string[]): Promise<KongFile>;
  /** `reset --force`. Fails unless decK succeeds. */
  reset(args?: readonly string[]): Promise<Changes>;
}

export const noChanges: Changes = { created: [], updated: [], deleted: [] };

/** Caches the YAML of files, because generating the YAML of a large file takes as long as decK takes to read it. */
const texts = new WeakMap<KongFile, string>();

function textOf(file: KongFile): string {
  const text = texts.get(file) ?? stringify(file);
  texts.set(file, text);
  return text;
}

/** @param folder Folder for decK's input and output files; also decK's home folder. */
export function createDeck(admin: string, folder: string): Deck {
  mkdirSync(folder, { recursive: true });
  let runs = 0;
  /** stdout is redirected to a file, because decK prints more for a large file than `startProcess` keeps. */
  async function run(args: readonly string[], file?: KongFile): Promise<Run> {
    const base = join(folder, `${++runs}`);
    if (file !== undefined) writeFileSync(`${base}.yaml`, textOf(file));
    const program = await startProcess(
      "sh",
      [
        "-c",
        `exec "$0" "$@" >'${base}.out'`,
        await obtainTool("deck"),
        "gateway",
        ...args,
        ...(file === undefined ? [] : [`${base}.yaml`]),
        `--kong-addr=${admin}`,
        "--analytics=false",
        "--no-color",
      ],
      // A .deck.yaml in the home folder of the user who runs the test must not apply.
      { name: "deck", env: { HOME: folder } },
    );
    const { code } = await program.ended();
    return { code, stdout: readFileSync(`${base}.out`, "utf8"), stderr: program.output() };
  }
  /** Parses decK's text output: only some commands have JSON output, and with it the exit code is 0 despite errors. */
  async function changes(args: readonly string[], file?: KongFile): Promise<Changes> {
    const words = await succeed(args, file);
    // decK prints a target's upstream by its id if the server generated that id.
    const line = (word: string) => new RegExp(`^${word} (.+?)(?: for upstream [0-9a-f-]{36})?(?:  \\{)?$`, "gm");
    const changesNamed = (word: string) => [...words.matchAll(line(word))].map(([, what = ""]) => what).toSorted();
    return { created: changesNamed("creating"), updated: changesNamed("updating"), deleted: changesNamed("deleting") };
  }
  async function succeed(args: readonly string[], file?: KongFile): Promise<string> {
    const { code, stdout, stderr } = await run(args, file);
    if (code !== 0) throw new Error(`deck ${args.join(" ")} ended with ${code}: ${stderr.slice(0, 4000)}`);
    return stdout;
  }
  return {
    run,
    change: (command, file, args = []) => changes([command, ...args], file),
    reset: (args = []) => changes(["reset", "--force", ...args]),
    dump: async (args = []) => parse(await succeed(["dump", ...args])),
  };
}
