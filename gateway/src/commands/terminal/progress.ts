/** The progress of a command, as a line on a terminal that is redrawn while the command works. */
import type { WriteStream } from "node:tty";
import type { GivenOption } from "@sluice/model/command-line";

export interface Progress {
  /** Sets the text of the line. The line is drawn after a moment, so a short command draws none. */
  show(text: string): void;
  /** Removes the line, because other output follows. */
  clear(): void;
}

/** The progress of a command whose output is read by a program. */
export const noProgress: Progress = { show() {}, clear() {} };

interface ProgressConditions {
  /** Whether the command finishes by itself. */
  readonly ends: boolean;
  /** The format of the output, if the command has formats. */
  readonly output: GivenOption;
}

/** The progress of a command on its standard error. */
export function progressFor(
  stream: Pick<WriteStream, "write" | "isTTY">,
  { ends, output }: ProgressConditions,
): Progress {
  const isForPeople = ends && output !== "json" && output !== "yaml";
  return isForPeople && stream.isTTY && process.env.TERM !== "dumb" ? progressLine(stream) : noProgress;
}

/** Milliseconds between two drawings. */
const INTERVAL = 250;

/** A line with the seconds since its first text. */
function progressLine(terminal: Pick<WriteStream, "write">): Progress {
  let text = "";
  let started = 0;
  let timer: NodeJS.Timeout | undefined;
  let isDrawn = false;
  const draw = () => {
    const seconds = Math.floor((Date.now() - started) / 1000);
    terminal.write(redrawnText("", `${text} (${seconds} s)`));
    isDrawn = true;
  };
  return {
    show(next) {
      text = next;
      if (timer) return;
      started = Date.now();
      timer = setInterval(draw, INTERVAL).unref();
    },
    clear() {
      clearInterval(timer);
      timer = undefined;
      if (isDrawn) terminal.write(redrawnText("", ""));
      isDrawn = false;
    },
  };
}

/**
 * Replaces a text that was drawn before, with control sequences (ECMA-48). Long lines are not wrapped, so that the
 * number of lines is known. What the terminal showed before the command stays.
 */
export function redrawnText(drawn: string, text: string): string {
  const lines = drawn.split("\n").length - 1;
  const back = lines === 0 ? "\r" : `\u001b[${lines}F`;
  return `${back}\u001b[J\u001b[?7l${text}\u001b[?7h`;
}
