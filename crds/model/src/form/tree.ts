/**
 * Kong's grammar of form bodies: the name of a value is its path in nested data
 * (docs/reference/kong-compatibility.md#bodies).
 *
 * | name | meaning |
 * |---|---|
 * | `a.b.c` | member c in member b in member a |
 * | `paths[]` | one more item; a repeated name also adds an item |
 * | `paths[2]` | the second item; gaps are closed |
 * | `list[1].name` | a member of an item; `[]` before another step is the first item |
 * | `headers[x]` | member x, even if x has dots |
 *
 * A name that does not follow the grammar is used literally as one member.
 */
import type { Checked, Violation } from "@sluice/plugin-sdk";

export type FormValue = string | readonly FormValue[] | { readonly [name: string]: FormValue };

/** Maximum number of arguments in one body; the caller limits its size in bytes. */
const MAX_ARGUMENTS = 1000;
/** Maximum number of steps in one name. */
const MAX_STEPS = 8;
/** Highest list position. */
const MAX_INDEX = 1000;

/** A member by name, a list position from 1, or the end of the list. */
type Step = string | number | "[]";

interface Branch {
  readonly texts: string[];
  readonly members: Map<string, Branch>;
  readonly items: Map<number, Branch>;
  /** Whether a name ended in `[]`, so that even a single value is a list. */
  list: boolean;
}

const branch = (): Branch => ({ texts: [], members: new Map(), items: new Map(), list: false });

/**
 * The decoded name and value of an argument of a form, and the name as written. A name or value that is not
 * percent-encoded UTF-8 is undefined.
 */
export interface Argument {
  readonly name: string | undefined;
  readonly text: string | undefined;
  readonly written: string;
}

/** The arguments of an application/x-www-form-urlencoded body. */
export function* argumentsOf(body: string): Iterable<Argument> {
  for (const pair of body.split("&")) {
    if (pair === "") continue;
    const [written = "", ...rest] = pair.split("=");
    yield { name: percentDecode(written), text: percentDecode(rest.join("=")), written };
  }
}

export function nestArguments(given: Iterable<Argument>): Checked<{ readonly [name: string]: FormValue }> {
  const root = branch();
  const violations: Violation[] = [];
  let count = 0;
  for (const argument of given) {
    if (++count > MAX_ARGUMENTS) return fault([], `more than ${MAX_ARGUMENTS} arguments`);
    violations.push(...plant(root, argument));
  }
  const value = gatherMembers(root, [], violations);
  return violations.length > 0 ? { violations } : { value };
}

const fault = (path: Violation["path"], message: string) => ({ violations: [{ path, message }] });

function plant(root: Branch, { name, text, written }: Argument): readonly Violation[] {
  if (name === undefined) return fault([written], "not percent-encoded UTF-8").violations;
  const steps = stepsOf(name);
  const first = steps.slice(0, MAX_STEPS);
  const beyond = first.findIndex((step) => typeof step === "number" && (step < 1 || step > MAX_INDEX));
  if (beyond >= 0) {
    const message = `list positions are between 1 and ${MAX_INDEX}, not ${first[beyond]}`;
    return fault(pathOf(first.slice(0, beyond)), message).violations;
  }
  const path = pathOf(first);
  if (steps.length > MAX_STEPS) return fault(path, `nested deeper than ${MAX_STEPS} levels`).violations;
  // The checks above limit the path, so an error body that mirrors it stays small.
  if (text === undefined) return fault(path, "not percent-encoded UTF-8").violations;
  if (path.includes("__proto__")) return fault(path, "unknown field").violations;
  const target = branchAt(root, steps);
  target.texts.push(text);
  if (steps.at(-1) === "[]") target.list = true;
  return [];
}

const pathOf = (steps: readonly Step[]): Violation["path"] =>
  steps.map((step) => (step === "[]" ? 0 : typeof step === "number" ? step - 1 : step));

function percentDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

const STEP = /\.([^.[\]]+)|\[([^\]]*)\]/y;

function stepsOf(name: string): readonly Step[] {
  const first = /^[^.[\]]+/.exec(name)?.[0];
  if (first === undefined) return [name];
  const steps: Step[] = [first];
  STEP.lastIndex = first.length;
  while (STEP.lastIndex < name.length) {
    const [, member, bracket = ""] = STEP.exec(name) ?? [];
    if (STEP.lastIndex === 0) return [name];
    if (member !== undefined) steps.push(member);
    else steps.push(/^\d+$/.test(bracket) ? Number(bracket) : bracket === "" ? "[]" : bracket);
  }
  return steps;
}

/** The branch of a path, created if it is missing. A trailing `[]` leads to no further branch, but marks a list. */
function branchAt(root: Branch, steps: readonly Step[]): Branch {
  let at = root;
  for (const step of steps.at(-1) === "[]" ? steps.slice(0, -1) : steps) {
    at =
      typeof step === "number" || step === "[]" ? child(at.items, step === "[]" ? 1 : step) : child(at.members, step);
  }
  return at;
}

function child<Key>(children: Map<Key, Branch>, key: Key): Branch {
  const found = children.get(key) ?? branch();
  children.set(key, found);
  return found;
}

function gather(at: Branch, path: Violation["path"], violations: Violation[]): FormValue {
  const { texts, members, items } = at;
  if (members.size > 0) {
    if (texts.length > 0 || items.size > 0) {
      violations.push({ path, message: "has both a value and members" });
    }
    return gatherMembers(at, path, violations);
  }
  const [only, second] = texts;
  if (items.size === 0 && !at.list && only !== undefined && second === undefined) return only;
  const sorted = [...items].sort(([a], [b]) => a - b);
  return [...sorted.map(([, item], index) => gather(item, [...path, index], violations)), ...texts];
}

/** Members are defined by `Object.fromEntries` and never assigned, so `__proto__` is a member like any other. */
const gatherMembers = ({ members }: Branch, path: Violation["path"], violations: Violation[]) =>
  Object.fromEntries(
    [...members].map(([name, member]): [string, FormValue] => [name, gather(member, [...path, name], violations)]),
  );
