/** A file or folder with the plan that the admin API makes for it. */
import { readFile, stat } from "node:fs/promises";
import { isRecord } from "@sluice/plugin-sdk";
import type { ChangePlan } from "../../admin/plan/plan.ts";
import type { ClientFileSettings } from "../../settings/commands/client.ts";
import { registerConfiguredPlugins } from "../../settings/plugins.ts";
import { declarativeText } from "../../stores/file/export.ts";
import { CommandError } from "../command.ts";
import { readFolder } from "../config/resource-folder.ts";
import { readDeclarative } from "../config/subcommand.ts";
import type { AdminConnection, WrittenResponse } from "./admin-connection.ts";

/** The content of a file that `sluice plan --out` saves. */
export interface PlannedDocument {
  readonly version: 1;
  /** The text of a declarative file. */
  readonly config: string;
  /** Whether entities that the document does not contain are kept. */
  readonly keep: boolean;
  readonly plan: DocumentPlan;
}

/** The response to `POST /config?plan=1`. */
export interface DocumentPlan extends ChangePlan {
  readonly plan_id: string;
}

interface PlanOptions {
  readonly settings: ClientFileSettings;
  readonly path: string;
  readonly keep: boolean;
  readonly warn: (sentence: string) => void;
}

/**
 * Plans a declarative file, or a file or folder of custom resources.
 *
 * @throws CommandError with every error and its position.
 */
export async function planDocument(
  admin: AdminConnection,
  { settings, path, keep, warn }: PlanOptions,
): Promise<PlannedDocument> {
  await registerConfiguredPlugins(settings, "schema");
  const config = await readConfig(path, { settings, warn });
  const plan = await admin.post<DocumentPlan>(`/config?plan=1${keepOption(keep)}`, { config });
  return { version: 1, config, keep, plan };
}

/** A member of custom resources, at the beginning of a line or of a JSON object. Declarative files have neither. */
const RESOURCE_MEMBER = /^(?:---[ \t]*)?(?:\{\s*)?["']?(?:apiVersion|kind)["']?\s*:/m;

async function readConfig(path: string, { settings, warn }: Pick<PlanOptions, "settings" | "warn">): Promise<string> {
  const text = (await stat(path)).isDirectory() ? null : await readFile(path, "utf8");
  if (text === null || RESOURCE_MEMBER.test(text)) {
    const { homeNamespace, class: ofClass } = settings;
    return declarativeText(await readFolder(path, { homeNamespace, class: ofClass, warn }));
  }
  await readDeclarative(path, { warn });
  return text;
}

/** Carries out a plan. @throws CommandError if the configuration has changed since the plan was made. */
export const applyPlanned = (
  admin: AdminConnection,
  { config, keep, plan }: PlannedDocument,
  force: boolean,
): Promise<WrittenResponse<ChangePlan>> =>
  admin.write<ChangePlan>(`/config/apply?plan_id=${plan.plan_id}${keepOption(keep)}${force ? "&force=1" : ""}`, {
    config,
  });

const keepOption = (keep: boolean): string => (keep ? "&keep=1" : "");

/** Reads a saved plan. @throws CommandError if the file is not a saved plan. */
export async function readPlanned(file: string): Promise<PlannedDocument> {
  let read: unknown;
  try {
    read = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw new CommandError(`${file} is not a plan: ${(error as Error).message}`);
  }
  if (!isRecord(read) || read.version !== 1 || typeof read.config !== "string" || !isRecord(read.plan)) {
    throw new CommandError(`${file} is not a plan that this version of 'sluice plan --out' has saved`);
  }
  return read as unknown as PlannedDocument;
}
