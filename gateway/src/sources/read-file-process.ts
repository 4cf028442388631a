/** Entry of the process that reads texts of declarative files. It ends when the node's channel does. */
import { type ReadRequest, readFileText } from "./read-file.ts";

process.on("message", (request: ReadRequest) => process.send?.(readFileText(request)));
