/** Entry point of the process that reads declarative files. It ends when the channel to the node closes. */

import { type EditRequest, type ReadRequest, readFileEdit, readFileText } from "./read-file.ts";
import { splitResult } from "./result-chunks.ts";

process.on("message", (request: { readonly read: ReadRequest } | { readonly edit: EditRequest }) => {
  if ("edit" in request) process.send?.({ edit: readFileEdit(request.edit) });
  else for (const message of splitResult(readFileText(request.read))) process.send?.(message);
});
