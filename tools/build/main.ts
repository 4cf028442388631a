/** `npm run build`: see programs.ts and console.ts. */
import { buildConsole } from "./console.ts";
import { buildPrograms } from "./programs.ts";

await buildPrograms();
buildConsole();
