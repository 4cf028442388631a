/** Forms of type multipart/form-data (RFC 7578): both values and files are read as text. */
import type { FormParts } from "@sluice/model";
import { boundaryOf, multipartParts } from "../../plugins/multipart.ts";

/** Undefined: a part is not UTF-8, or the content type has no boundary. */
export function readMultipart(contentType: string, bytes: Buffer): FormParts | undefined {
  const boundary = boundaryOf(contentType);
  if (boundary === undefined) return undefined;
  const parts = multipartParts(bytes.toString("latin1"), boundary).map(({ name, value }) => ({
    name: decode(name),
    text: decode(value),
  }));
  return parts.every(isDecoded) ? parts : undefined;
}

type Decoded = { readonly name: string; readonly text: string };

const isDecoded = (part: { name: string | undefined; text: string | undefined }): part is Decoded =>
  part.name !== undefined && part.text !== undefined;

function decode(text: string): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(text, "latin1"));
  } catch {
    return undefined;
  }
}
