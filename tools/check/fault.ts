/** Something that a check found wrong. */
export interface Fault {
  /** Path from the root of the repository. */
  readonly file: string;
  /** Counted from 1. Absent when the whole file is meant. */
  readonly line?: number;
  /** A plain sentence. */
  readonly message: string;
}

/** `file:line: message`, as editors and terminals make it a link. */
export function show(fault: Fault): string {
  const place = fault.line === undefined ? fault.file : `${fault.file}:${fault.line}`;
  return `${place}: ${fault.message}`;
}
