/** `sluice migrate`: reports which part of a Kong configuration Sluice serves, and writes this part. */
import { readFile } from "node:fs/promises";
import { describeViolation, servablePart, servablePartOfText } from "@sluice/model";
import type { GivenOption } from "@sluice/model/command-line";
import { migrateSettings } from "../../settings/commands/config.ts";
import { registerConfiguredPlugins } from "../../settings/plugins.ts";
import { declarativeText } from "../../stores/file/export.ts";
import { entitiesOf } from "../../stores/read-all.ts";
import { CommandError, defineCommand, UsageError } from "../command.ts";
import { writeNew } from "../config/subcommand.ts";
import type { Progress } from "../terminal/progress.ts";
import { unavailableIn, withUnknownNames } from "./closed-plugins.ts";
import { readAdminApi } from "./read-admin.ts";
import { describeInAdminApi, describeInFile, migrationReport, type ReportedPart } from "./report.ts";

/** The exit code if Sluice cannot serve a part of the configuration. */
export const NOT_ALL_SERVED = 3;

export const migrateCommand = defineCommand({
  settings: migrateSettings,
  ends: true,
  async run({ given: { positionals, options }, settings, print, progress }) {
    const [file] = positionals;
    const { admin, header, write, format = "resources" } = options;
    if ((file === undefined) === (admin === undefined)) throw new UsageError("name a FILE, or give --admin URL");
    if (header !== undefined && admin === undefined) throw new UsageError("--header needs --admin");
    if (write === "") throw new UsageError("--write must name a folder or file");
    if (options.format !== undefined && write === undefined) throw new UsageError("--format needs --write");
    await registerConfiguredPlugins(settings, "schema");
    const part = file === undefined ? await partOfAdminApi(String(admin), header, progress) : await partOfFile(file);
    print(migrationReport(file ?? String(admin), part));
    if (typeof write === "string") {
      print("\n");
      if (format === "file") {
        await writeNew(write, declarativeText(entitiesOf(part.document), unavailableIn(part)));
        print(`${write} is written\n`);
      } else {
        // Loaded on demand: custom resources need the Kubernetes client, which is slow to load.
        const { writeResources } = await import("../config/convert.ts");
        await writeResources(withUnknownNames(part), {
          from: file ?? String(admin),
          out: write,
          settings,
          print,
          progress,
        });
      }
    }
    return part.unserved.length === 0 ? 0 : NOT_ALL_SERVED;
  },
});

async function partOfFile(file: string): Promise<ReportedPart> {
  const { value, violations = [] } = servablePartOfText(await readFile(file, "utf8"), file);
  if (!value) throw new CommandError(`${file} cannot be read:`, violations.map(describeViolation));
  return { ...value, describe: describeInFile };
}

async function partOfAdminApi(admin: string, header: GivenOption, progress: Progress): Promise<ReportedPart> {
  const url = URL.parse(admin);
  if (url === null || !/^https?:$/.test(url.protocol)) throw new UsageError("--admin must be an http or https URL");
  const [, name, value = ""] = /^([\w-]+): *(.+)$/.exec(String(header ?? "")) ?? [];
  if (header !== undefined && name === undefined) throw new UsageError("--header must have the form 'NAME: VALUE'");
  const headers = name === undefined ? {} : { [name]: value };
  const data = await readAdminApi({ url, headers, onPage: (path) => progress.show(`reading ${path}`) });
  return { ...servablePart(data), describe: describeInAdminApi(data) };
}
