#!/usr/bin/env -S MALLOC_ARENA_MAX=2 node --max-semi-space-size=8 --heap-growing-percent=30
/** Command `sluice-operator`. */
import { parseCommandLine } from "@sluice/model/command-line";
import manifest from "../package.json" with { type: "json" };
import { operatorProgram } from "./commands/definition.ts";

const parsed = await parseCommandLine(operatorProgram, process.argv.slice(2), manifest);
if (parsed.kind === "answered") process.stdout.write(parsed.text);
else if (parsed.kind === "refused") {
  process.stderr.write(parsed.text);
  process.exitCode = 2;
} else await parsed.loaded.run(parsed.flags);
