/**
 * `npm run pack:cli -- [FOLDER]` and `npm run pack:sdk -- [FOLDER]`: write the package of the command `sluice`, or of the
 * plugin SDK, into a folder (default: the working directory).
 */
import { packCli } from "./pack-cli.ts";
import { packSdk } from "./pack-sdk.ts";

const [what, folder = process.cwd()] = process.argv.slice(2);
console.log(await (what === "cli" ? packCli : packSdk)(folder));
