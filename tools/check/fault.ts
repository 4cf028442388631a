/** An error that a check found. */
export interface Fault {
  /** Path from the root of the repository. */
  readonly file: string;
  /** Counted from 1. Absent when the error concerns the whole file. */
  readonly line?: number;
  /** A sentence, or only its predicate when the file is its subject, such as "does not exist". */
  readonly message: string;
}

/** `file:line: message`, which editors and terminals turn into a link; `file: message` for an error without a line. */
export function faultText(fault: Fault): string {
  const place = fault.line === undefined ? fault.file : `${fault.file}:${fault.line}`;
  return `${place}: ${fault.message}`;
}
