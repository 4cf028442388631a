/** The parts of a Content-Type (RFC 9110 section 8.3.1) that are compared with those of the configured types. */

export interface ContentType {
  /** In lower case. */
  readonly type: string;
  /** `name=value` of the first parameter, "" without one. The name, and the value of charset, are in lower case. */
  readonly parameter: string;
}

const MEDIA_TYPE = /^\s*([\w!#$&^.+-]+\/[\w!#$&^.+*-]+)\s*(?:;\s*(?:([\w!#$&^.+-]+)=("[^"]*"|[^\s;"]*)\s*)?)?(?:;|$)/;

/** Reads a Content-Type; null: the text is no media type. Parameters after the first are ignored, as in Kong. */
export function contentTypeOf(text: string): ContentType | null {
  const match = MEDIA_TYPE.exec(text);
  if (match === null) return null;
  const [, type = "", name, quoted = ""] = match;
  const lower = name?.toLowerCase();
  const value = quoted.replaceAll('"', "");
  const parameter = lower === undefined ? "" : `${lower}=${lower === "charset" ? value.toLowerCase() : value}`;
  return { type: type.toLowerCase(), parameter };
}
