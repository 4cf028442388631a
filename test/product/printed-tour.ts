/** The commands that `npm start` and similar commands print, as a user follows them: parsed, and run in a shell. */
import { execFile } from "node:child_process";

export interface PrintedTour {
  /** Commands that the steps need first; empty when there are none. */
  readonly preparation: string;
  readonly steps: readonly { readonly title: string; readonly command: string; readonly output: string }[];
}

/** Reads the numbered steps of a greeting: a title, an indented block of commands, an indented block of output. */
export function readTour(printed: string): PrintedTour {
  const unindent = (block = "") => block.replace(/^ {2}/gm, "");
  const block = String.raw`((?: {2}.*\n)+)`;
  const preparation = new RegExp(`for these commands:\\n\\n${block}`).exec(printed)?.[1];
  const steps = printed.matchAll(new RegExp(`^\\d\\. (.*:)\\n\\n${block}\\n${block}`, "gm"));
  return {
    preparation: unindent(preparation),
    steps: [...steps].map(([, title = "", command, output]) => ({
      title,
      command: unindent(command),
      output: unindent(output),
    })),
  };
}

/** The output of `sh` for a command in the project's folder; header lines without their carriage return. */
export function typeInShell(command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd: new URL("../..", import.meta.url), timeout: 60_000 };
    execFile("sh", ["-c", command], options, (error, stdout, stderr) => {
      // A step with output succeeds whatever the exit code of its last command is: grep fails without a match.
      if (error && (error.killed || stdout === "")) reject(new Error(`${command}\n${stderr}`, { cause: error }));
      else resolve(`${stdout}${stderr}`.replaceAll("\r\n", "\n"));
    });
  });
}
