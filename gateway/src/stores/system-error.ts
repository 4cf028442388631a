/** System errors, which contain no secrets: callers may see why a read or write failed. */

/** Advice by the code of Node's error. */
const advices: Readonly<Record<string, string>> = {
  ENOSPC: "free space on this disk",
  EDQUOT: "free space, or raise the quota",
  EROFS: "the file system is mounted read-only",
  EACCES: "give the process the right to read and write there",
  EPERM: "give the process the right to read and write there",
  EMFILE: "raise the limit of open files",
  EIO: "check the disk",
};

/** The message of a system error, with advice; undefined for other errors. */
export function systemReason(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) return undefined;
  const advice = advices[code];
  return advice === undefined ? error.message : `${error.message}: ${advice}`;
}
