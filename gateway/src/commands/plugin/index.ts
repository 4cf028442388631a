/** `sluice plugin new`. */
import { defineSettings, logFormat } from "@sluice/model/serving";
import { logLevel } from "../../settings/commands/gateway.ts";
import { defineCommand } from "../command.ts";
import { newPlugin } from "./new.ts";

export const newPluginCommand = defineCommand({
  settings: defineSettings({ logLevel, logFormat }),
  ends: true,
  async run({ given, print }) {
    const [name = ""] = given.positionals;
    const folder = await newPlugin(name, process.cwd());
    print(`created ${folder}\n`);
    return undefined;
  },
});
