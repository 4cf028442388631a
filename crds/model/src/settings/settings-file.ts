/** Parses the optional file of start-up settings. */
import type { Violation } from "@sluice/plugin-sdk";
import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import { suggestionFor } from "../suggest.ts";
import { knownVariables } from "./known-variables.ts";
import type { SettingsFile, SettingsFileMember } from "./resolve-settings.ts";
import { settingsFile, settingsMemberOf } from "./setting-names.ts";

const EXPECTED_MEMBERS = "expected settings as members, such as proxy_listen: 127.0.0.1:8000";

export interface ParsedSettingsFile {
  /** The members that have no error. */
  readonly members: SettingsFile;
  readonly violations: readonly Violation[];
}

interface ParseOptions {
  /** The path of the file, for messages. */
  readonly file: string;
  /** Variables of the program. Members of other Sluice programs are accepted, because programs may share a file. */
  readonly own: readonly string[];
}

/** Parses the text of a settings file: one mapping from members to scalars or, for lists, sequences of scalars. */
export function parseSettingsFile(text: string, { file, own }: ParseOptions): ParsedSettingsFile {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter });
  const positionOf = (offset: number): string => {
    const { line, col } = lineCounter.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  const faults = [...document.errors, ...document.warnings];
  if (faults.length > 0) {
    const violations = faults.map(({ message, pos }) => ({
      path: [positionOf(pos[0])],
      message: message.replace(/ at line \d+[\s\S]*/, ""),
    }));
    return { members: new Map(), violations };
  }
  const { contents } = document;
  if (contents === null) return { members: new Map(), violations: [] };
  if (!isMap(contents))
    return { members: new Map(), violations: [{ path: [positionOf(0)], message: EXPECTED_MEMBERS }] };
  const known = new Set([...own, ...knownVariables].map(settingsMemberOf));
  known.delete(settingsMemberOf(settingsFile.variable));
  const violations: Violation[] = [];
  const members = new Map<string, SettingsFileMember>();
  for (const { key, value } of contents.items) {
    const name = String(key);
    const position = positionOf((key as Node).range?.[0] ?? 0);
    const add = (message: string) => void violations.push({ path: [`${position}: ${name}`], message });
    const member = memberValue(value);
    if (!known.has(name)) add(`there is no such setting${suggestionFor(name, known)}`);
    else if (!member) add("expected a value or a list of values");
    else members.set(name, { ...member, position });
  }
  return { members, violations };
}

/** Undefined for a mapping, an alias, and a sequence of nodes other than scalars. */
function memberValue(node: unknown): Omit<SettingsFileMember, "position"> | undefined {
  if (node === null) return { text: "", sequence: false };
  if (isScalar(node)) return { text: scalarText(node), sequence: false };
  if (!isSeq(node)) return undefined;
  const items = node.items.map((item) => (isScalar(item) ? scalarText(item) : ","));
  return items.some((item) => item.includes(",")) ? undefined : { text: items.join(","), sequence: true };
}

/** A number keeps its text in the file: `1.0` stays `1.0`. */
function scalarText({ value, source }: { readonly value: unknown; readonly source?: string }): string {
  if (value === null) return "";
  return typeof value === "string" ? value : (source ?? String(value));
}
