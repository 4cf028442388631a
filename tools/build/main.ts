/** `npm run build`: see emit.ts. */
import { emitAll } from "./emit.ts";

emitAll();
