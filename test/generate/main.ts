/**
 * `npm run generate`: writes every generated file of the repository. With `--check` it writes nothing, names the files
 * that differ and exits with 1.
 */
import { resolve } from "node:path";
import { differences, generate, write } from "../../crds/model/src/generate/generate.ts";
import { settingsPage } from "./settings-page.ts";

const root = resolve(import.meta.dirname, "../..");
// The settings stand in the workspaces that read them, which the model does not import.
const files = [...generate(), settingsPage()];
const found = differences(root, files);
if (!process.argv.includes("--check")) write(root, files);
else if (found.length > 0) {
  for (const { path, fault } of found) console.error(`${path} ${fault}`);
  console.error("Run `npm run generate`.");
  process.exitCode = 1;
}
