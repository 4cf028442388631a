/** Errors of the system: no secret is in them, so that callers may read why nothing was read or written. */

/** By Node's code of the error. */
const advices: Readonly<Record<string, string>> = {
  ENOSPC: "free space on this disk",
  EDQUOT: "free space, or raise the quota",
  EROFS: "the file system is mounted read-only",
  EACCES: "give the process the right to write there",
  EPERM: "give the process the right to write there",
  EMFILE: "raise the limit of open files",
  EIO: "look at the disk",
};

/** The system's words and what to do; undefined for an error that is not the system's. */
export function systemReason(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) return undefined;
  const advice = advices[code];
  return advice === undefined ? error.message : `${error.message}: ${advice}`;
}
