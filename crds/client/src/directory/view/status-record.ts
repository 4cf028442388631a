/** The record of a resource in `.status/`: its status, and facts that its file cannot hold. */
import { join } from "node:path";
import type { Condition, Ref, Resource } from "../../resource.ts";

export interface StatusRecord {
  /** The resource's creationTimestamp. An editor that replaces the file would otherwise reset it. */
  readonly created: string;
  /** The generation of the spec whose hash is `spec`. A different spec has a later generation. */
  readonly generation?: number;
  /** The hash of a spec. */
  readonly spec?: string;
  readonly conditions?: readonly Condition[];
  /** The complete status, for kinds whose status is not conditions of Sluice. */
  readonly status?: Resource["status"];
}

export const statusFolder = ".status";

export function recordPath(directory: string, { kind, namespace, name }: Ref): string {
  return join(directory, statusFolder, kind.toLowerCase(), `${namespace}_${name}.json`);
}

/** Null for an invalid record; it is rewritten with the next status. */
export function parseRecord(text: string): StatusRecord | null {
  try {
    const value = JSON.parse(text) as StatusRecord | null;
    if (typeof value !== "object" || typeof value?.created !== "string") return null;
    return Array.isArray(value.conditions ?? []) ? value : null;
  } catch {
    return null;
  }
}

export function printRecord(record: StatusRecord): string {
  return `${JSON.stringify(record, null, 2)}\n`;
}
