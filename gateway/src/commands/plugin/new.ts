/** `sluice plugin new`: writes a plugin package with a test. */
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { PLUGIN_NAME, PLUGIN_NAME_LENGTH, pluginNamed } from "@sluice/model";
import { CommandError } from "../command.ts";
import { pluginTemplate } from "./template.ts";

/**
 * Creates the folder `name` in `parent`, writes the package into it, and returns the folder's path.
 *
 * @throws CommandError when the name cannot be used, or the folder exists.
 */
export async function newPlugin(name: string, parent: string): Promise<string> {
  if (name.length > PLUGIN_NAME_LENGTH || !PLUGIN_NAME.test(name)) {
    throw new CommandError(
      `'${name}' is not a valid plugin name: expected at most ${PLUGIN_NAME_LENGTH} lower-case letters, digits and ` +
        "single dashes, such as my-plugin",
    );
  }
  if (pluginNamed(name) !== undefined)
    throw new CommandError(`${name} is a plugin that comes with Sluice: choose another name`);
  const folder = resolve(parent, name);
  try {
    await mkdir(folder);
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "EEXIST") throw error;
    throw new CommandError(`${folder} already exists and is not overwritten: choose another name, or move it`);
  }
  for (const [file, text] of Object.entries(pluginTemplate(name))) await writeFile(join(folder, file), text);
  return folder;
}
