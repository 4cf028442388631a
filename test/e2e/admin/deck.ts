/** Runs Kong's decK against an admin listener. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { startProcess } from "../../process/index.ts";
import { tool } from "../../tools/tool.ts";
import type { KongFile } from "./kong-file.ts";

/** What a run of decK did. */
export interface Run {
  readonly code: number | null;
  /** stdout and stderr. */
  readonly output: string;
}

/** The kinds and names of entities that a sync created, changed and deleted, such as `service users`, sorted. */
export interface Changes {
  readonly created: readonly string[];
  readonly updated: readonly string[];
  readonly deleted: readonly string[];
}

export interface Deck {
  /** `deck gateway <args>`; whatever comes of it. */
  run(args: readonly string[], file?: KongFile): Promise<Run>;
  /** `sync`, `apply`, or `diff` of a file. Fails unless decK is content. */
  change(command: "sync" | "apply" | "diff", file: KongFile, args?: readonly string[]): Promise<Changes>;
  /** `dump`, parsed. */
  dump(args?: readonly string[]): Promise<KongFile>;
  /** `reset --force`. Fails unless decK is content. */
  reset(args?: readonly string[]): Promise<Changes>;
}

interface Report {
  readonly changes: Readonly<Record<"creating" | "updating" | "deleting", readonly Entity[] | null>>;
  readonly warnings: readonly string[];
  readonly errors: readonly string[];
}

interface Entity {
  readonly kind: string;
  readonly name: string;
}

export const nothing: Changes = { created: [], updated: [], deleted: [] };

/** @param folder keeps its files. */
export function createDeck(admin: string, folder: string): Deck {
  mkdirSync(folder, { recursive: true });
  let runs = 0;
  /** A report of a large file is longer than what a process' output keeps: it goes into a file. */
  async function run(args: readonly string[], file?: KongFile): Promise<Run & { readonly stdout: string }> {
    const base = join(folder, `${++runs}`);
    if (file !== undefined) writeFileSync(`${base}.yaml`, stringify(file));
    const program = await startProcess(
      "sh",
      [
        "-c",
        `exec "$0" "$@" >'${base}.out'`,
        await tool("deck"),
        "gateway",
        ...args,
        ...(file === undefined ? [] : [`${base}.yaml`]),
        `--kong-addr=${admin}`,
        "--analytics=false",
        "--no-color",
        `--config=${join(folder, "none.yaml")}`,
      ],
      { name: "deck" },
    );
    const { code } = await program.ended();
    const stdout = readFileSync(`${base}.out`, "utf8");
    return { code, stdout, output: stdout + program.output() };
  }
  async function report(args: readonly string[], file?: KongFile): Promise<Changes> {
    const { code, stdout, output } = await run([...args, "--json-output"], file);
    // With a report decK's exit code says nothing about the errors in it.
    const start = stdout.indexOf("{");
    if (code !== 0 || start < 0) throw new Error(`deck ${args.join(" ")} ended with ${code}: ${output.slice(-4000)}`);
    const { changes, errors, warnings }: Report = JSON.parse(stdout.slice(start));
    const told = [...errors, ...warnings];
    if (told.length > 0)
      throw new Error(`deck ${args.join(" ")}: ${told.length} errors: ${told.slice(0, 5).join("\n")}`);
    const names = (entities: readonly Entity[] | null) =>
      (entities ?? []).map(({ kind, name }) => `${kind} ${name}`).toSorted();
    return { created: names(changes.creating), updated: names(changes.updating), deleted: names(changes.deleting) };
  }
  return {
    run,
    change: (command, file, args = []) => report([command, ...args], file),
    reset: (args = []) => report(["reset", "--force", ...args]),
    async dump(args = []) {
      const { code, stdout, output } = await run(["dump", ...args]);
      if (code !== 0) throw new Error(`deck dump ended with ${code}: ${output.slice(-4000)}`);
      return parse(stdout, { maxAliasCount: 0 });
    },
  };
}
