#!/usr/bin/env -S MALLOC_ARENA_MAX=2 node --min-semi-space-size=8 --max-semi-space-size=8
/**
 * Command `sluice`.
 *
 * The young generation has two fixed semi-spaces of 8 MB. A proxy creates garbage with every request: with V8's small
 * initial size, garbage collection used a fifth of the CPU; with 4 MB it used three times as much as with 8 MB, and 16
 * MB was no better than 8 MB. Without a maximum, V8 grows the semi-spaces to 32 MB while a document is applied, because
 * all of its objects survive, and never shrinks them.
 *
 * Threads share two malloc arenas: with one arena per thread, memory that V8's compilers used stays in every arena
 * (about 10 MB with one worker, 20 MB with several).
 */
import { parseCommandLine } from "@sluice/model/command-line";
import { sluice } from "./commands/definitions/index.ts";
import { sluiceVersion } from "./settings/version.ts";

const parsed = await parseCommandLine(sluice, process.argv.slice(2), { version: sluiceVersion });
if (parsed.kind === "answered") process.stdout.write(parsed.text);
else if (parsed.kind === "refused") {
  process.stderr.write(parsed.text);
  process.exitCode = 2;
} else {
  const { runCommand } = await import("./commands/run.ts");
  await runCommand(parsed.loaded, parsed);
}
