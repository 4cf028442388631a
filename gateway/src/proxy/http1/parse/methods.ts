/** Methods as numbers, so that common ones are recognised without a string. Case-sensitive (RFC 9110 section 9.1). */

/** Ids of methods; 0 is any other token. */
export const method = {
  GET: 1,
  POST: 2,
  PUT: 3,
  HEAD: 4,
  PATCH: 5,
  DELETE: 6,
  OPTIONS: 7,
  CONNECT: 8,
  TRACE: 9,
  QUERY: 10,
} as const;

export const methodNames: readonly string[] = ["", ...Object.keys(method)];

export function methodId(bytes: Buffer, start: number, end: number): number {
  const length = end - start;
  const first = bytes[start] ?? 0;
  for (let id = 1; id < methodNames.length; id++) {
    const name = methodNames[id] ?? "";
    if (name.length === length && name.charCodeAt(0) === first && isMethod(bytes, start, name)) return id;
  }
  return 0;
}

function isMethod(bytes: Buffer, start: number, name: string): boolean {
  for (let at = 1; at < name.length; at++) {
    if (bytes[start + at] !== name.charCodeAt(at)) return false;
  }
  return true;
}
