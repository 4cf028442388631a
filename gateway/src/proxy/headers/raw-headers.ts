/** Headers as parsers return them. */

/** Flat list: name, value, name, value. Bytes are Latin-1, as Node's parsers return them. */
export type RawHeaders = readonly (Buffer | string)[];

/** The head of a response of an upstream or of the gateway itself. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: RawHeaders;
  /** All values of a header, by its lower-case name. Absent: the values are those in `headers`. */
  valuesOf?(lower: string): readonly string[];
  /** False: the body ends with the connection, so it may have been truncated. Absent: true. */
  readonly isDelimited?: boolean;
}

/** All values of a header, by its lower-case name. */
export function rawHeaderValues(raw: RawHeaders, lower: string): readonly string[] {
  const values: string[] = [];
  for (let at = 0; at < raw.length; at += 2) {
    const name = headerText(raw[at]);
    if (name.length === lower.length && name.toLowerCase() === lower) values.push(headerText(raw[at + 1]));
  }
  return values;
}

export const headerText = (value: Buffer | string | undefined): string =>
  typeof value === "string" ? value : (value?.toString("latin1") ?? "");
