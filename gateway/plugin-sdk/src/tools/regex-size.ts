/**
 * The size of a pattern with its repetitions expanded. It is computed without compiling the pattern, because the time
 * and memory of a compilation are proportional to this size.
 */

/** After an atom: `{n}`, `{n,}`, `{n,m}`. Other text in braces is literal. */
const COUNTED = /\{(\d{1,4})(?:,(\d{0,4}))?\}/y;

/** The sequence of atoms that has been read so far in the current group. */
interface Sequence {
  size: number;
  /** The size of the last atom, to which a repetition that follows applies. */
  last: number;
}

/**
 * The number of atoms and groups in the pattern with every counted repetition expanded, plus 1. It is an estimate: an
 * atom compiles to a few instructions. An invalid pattern has a size too.
 */
export function expandedSize(source: string): number {
  const outer: Sequence[] = [];
  let sequence: Sequence = { size: 1, last: 0 };
  const add = (size: number): void => {
    sequence.size += size;
    sequence.last = size;
  };
  for (let at = 0; at < source.length; at++) {
    const character = source[at];
    if (character === "\\") {
      at++;
      add(1);
    } else if (character === "[") {
      at = endOfClass(source, at);
      add(1);
    } else if (character === "(") {
      outer.push(sequence);
      sequence = { size: 1, last: 0 };
    } else if (character === ")") {
      const { size } = sequence;
      sequence = outer.pop() ?? { size: 1, last: 0 };
      add(size);
    } else if (character === "{") {
      COUNTED.lastIndex = at;
      const counted = COUNTED.exec(source);
      if (counted === null) add(1);
      else {
        at += counted[0].length - 1;
        const times = Math.max(Number(counted[1]), Number(counted[2] ?? 0), 1);
        const more = sequence.last * (times - 1);
        sequence.size += more;
        sequence.last += more;
      }
    } else if (character !== "*" && character !== "+" && character !== "?") add(1);
  }
  return outer.reduce((size, each) => size + each.size, sequence.size);
}

/** The index of the class's closing bracket; of its opening one if it is not closed. */
function endOfClass(source: string, start: number): number {
  const first = source[start + 1] === "^" ? start + 2 : start + 1;
  for (let at = first; at < source.length; at++) {
    if (source[at] === "\\") at++;
    else if (source.startsWith("[:", at) && source.indexOf(":]", at) > 0) at = source.indexOf(":]", at) + 1;
    else if (source[at] === "]" && at > first) return at;
  }
  return start;
}
