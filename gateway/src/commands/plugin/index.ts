/** `sluice plugin`: subcommands for authors of plugins. */
import { defineSettings, logFormat } from "@sluice/model/serving";
import { logLevel } from "../../settings/gateway.ts";
import { defineCommand } from "../command.ts";
import { newPlugin } from "./new.ts";

export const pluginCommand = defineCommand({
  usage: `usage: sluice plugin COMMAND

  new NAME
      writes a plugin package with a test into the new folder NAME
`,
  arguments: { subcommands: { new: { positionals: ["NAME"] } } },
  settings: defineSettings({ logLevel, logFormat }),
  ends: true,
  async run({ given, print }) {
    const [name = ""] = given.positionals;
    const folder = await newPlugin(name, process.cwd());
    print(`created ${folder}\n`);
    return undefined;
  },
});
