/** `npm run pack:sdk -- [FOLDER]`: writes the plugin SDK's package into a folder (default: the working directory). */
import { packSdk } from "./pack-sdk.ts";

console.log(await packSdk(process.argv[2] ?? process.cwd()));
