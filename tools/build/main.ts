/** `npm run build`: see emit.ts and console.ts. */
import { buildConsole } from "./console.ts";
import { emitAll } from "./emit.ts";

emitAll();
buildConsole();
