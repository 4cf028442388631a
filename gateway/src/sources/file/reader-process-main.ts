/**
 * Entry point of the process that reads declarative files. It ends when the channel to the node closes. Its arguments
 * are the URLs of the schemas of the plugins that the node has loaded.
 */
import { registerSchemas } from "@sluice/model/serving";

import { type EditRequest, type ReadRequest, readFileEdit, readFileText } from "./read-file.ts";
import { splitResult } from "./result-chunks.ts";

const registered = registerSchemas(process.argv.slice(2));

process.on("message", async (request: { readonly read: ReadRequest } | { readonly edit: EditRequest }) => {
  await registered;
  if ("edit" in request) process.send?.({ edit: readFileEdit(request.edit) });
  else for (const message of splitResult(readFileText(request.read))) process.send?.(message);
});
