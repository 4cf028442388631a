/** Entry of the process that reads texts of declarative files. It ends when the node's channel does. */
import { inParts } from "./parts.ts";
import { type ReadRequest, readFileText } from "./read-file.ts";

process.on("message", (request: ReadRequest) => {
  for (const message of inParts(readFileText(request))) process.send?.(message);
});
