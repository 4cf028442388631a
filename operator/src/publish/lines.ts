/** The lines in which nodes wait that are to get a whole document. */
import { createGate, type Gate } from "./gate.ts";

/** Whole documents that are sent at once: with very many nodes they would fill memory and line, and all would be late. */
export const WHOLE_AT_ONCE = 16;

/**
 * And beside them to nodes that left the last one unanswered. A node that takes documents and never answers keeps its
 * place for as long as a push may take: many of them (behind a way that lets only short packets through) would else keep
 * those waiting that do answer, again and again.
 */
export const AGAIN_AT_ONCE = 4;

export interface Lines {
  readonly first: Gate;
  readonly again: Gate;
}

export const createLines = (): Lines => ({ first: createGate(WHOLE_AT_ONCE), again: createGate(AGAIN_AT_ONCE) });
