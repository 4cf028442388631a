/** The operations that GraphQL documents define (GraphQL, October 2021, section 2.3). */
import { hash } from "node:crypto";
import { LruCache } from "@sluice/plugin-sdk";
import { Lexer } from "graphql/language/lexer.js";
import { Source } from "graphql/language/source.js";
import { TokenKind } from "graphql/language/tokenKind.js";

const operationTypes = ["query", "mutation", "subscription"] as const;

export interface DefinedOperation {
  readonly type: (typeof operationTypes)[number];
  /** Null: the operation is anonymous. */
  readonly name: string | null;
}

/** Longer documents are not read: each byte of comments or block strings takes up to 0.1 us. */
export const MAX_DOCUMENT = 16_384;
/** Limits of the time and the memory that a client's document can use. */
const MAX_TOKENS = 5000;
const MAX_OPERATIONS = 100;
const MAX_NAME = 128;
const MAX_DOCUMENTS = 500;

const none: readonly DefinedOperation[] = [];

/**
 * The operations in the document; none if it cannot be read. Only tokens and brackets are checked, because the service
 * validates the document itself. Unlike a syntax tree, tokens need no recursion, however deeply the document is nested.
 */
function definedOperations(text: string): readonly DefinedOperation[] {
  const lexer = new Lexer(new Source(text));
  const operations: DefinedOperation[] = [];
  let depth = 0;
  let isInDefinition = false;
  let type: DefinedOperation["type"] | undefined;
  try {
    for (let count = 0; count < MAX_TOKENS; count++) {
      const { kind, value } = lexer.advance();
      if (kind === TokenKind.EOF) return depth === 0 && !isInDefinition ? operations : none;
      if (type !== undefined) {
        operations.push({ type, name: kind === TokenKind.NAME ? copyOf(value) : null });
        if (operations.length > MAX_OPERATIONS) return none;
        type = undefined;
      }
      switch (kind) {
        case TokenKind.NAME:
          if (isInDefinition) break;
          type = operationTypes.find((one) => one === value);
          if (type === undefined && value !== "fragment") return none;
          isInDefinition = true;
          break;
        case TokenKind.BRACE_L:
          // A selection set on its own is a query (section 2.3, query shorthand).
          if (!isInDefinition) operations.push({ type: "query", name: null });
          isInDefinition = true;
          depth++;
          break;
        case TokenKind.PAREN_L:
        case TokenKind.BRACKET_L:
          depth++;
          break;
        case TokenKind.PAREN_R:
        case TokenKind.BRACKET_R:
          depth--;
          break;
        case TokenKind.BRACE_R:
          depth--;
          if (depth === 0) isInDefinition = false;
          break;
      }
      if (depth < 0) return none;
    }
  } catch {
    // A character that begins no token, or a string without an end.
  }
  return none;
}

/** A copy, because a substring keeps its document in memory. @throws RangeError if the name is too long */
function copyOf(name: string): string {
  if (name.length > MAX_NAME) throw new RangeError("the name is too long");
  return Buffer.from(name).toString();
}

/** Remembers the operations of recent documents by the SHA-256 of the document, as hex digits. */
export class DocumentCache {
  readonly #operations = new LruCache<readonly DefinedOperation[]>(MAX_DOCUMENTS);

  of(text: string): readonly DefinedOperation[] {
    const sha256 = hash("sha256", text);
    let operations = this.#operations.get(sha256);
    if (operations === undefined) {
      operations = definedOperations(text);
      this.#operations.set(sha256, operations);
    }
    return operations;
  }

  /** Undefined: no client has sent the document recently. */
  withHash(sha256: string): readonly DefinedOperation[] | undefined {
    return this.#operations.get(sha256);
  }
}
