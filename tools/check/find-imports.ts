import ts from "typescript";
import type { CheckedFile } from "./source-files.ts";

/**
 * One import in a file: an import or export-from statement, an `import()` or `require()` of a constant, or an import
 * type.
 */
export interface Import {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** The text between the quotes. */
  readonly specifier: string;
  /**
   * The imported names in braces, without those marked as types; empty if only types are imported or exported.
   * Undefined for a default or namespace import, an import for side effects, an `import()`, a `require()`, or an
   * export-from of values.
   */
  readonly names?: readonly string[];
}

/** The imports of TypeScript files, in order. Text in comments and strings does not count. */
export function findImports(files: readonly CheckedFile[]): readonly Import[] {
  return files.filter(({ path }) => /\.tsx?$/.test(path)).flatMap(importsOf);
}

function importsOf({ path, text }: CheckedFile): readonly Import[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext);
  const found: Import[] = [];
  const add = (at: ts.Node | undefined, names?: readonly string[]) => {
    if (at === undefined || !ts.isStringLiteralLike(at)) return;
    const line = source.getLineAndCharacterOfPosition(at.getStart(source)).line + 1;
    found.push({ file: path, line, specifier: at.text, names });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, importedNames(node.importClause));
    else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, node.isTypeOnly ? [] : undefined);
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal, []);
    else if (ts.isCallExpression(node) && isLoading(node.expression)) add(node.arguments[0]);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Whether a call of the expression is an `import()` or a `require()`. */
const isLoading = (called: ts.Expression): boolean =>
  called.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(called) && called.text === "require");

function importedNames(clause: ts.ImportClause | undefined): readonly string[] | undefined {
  if (clause?.phaseModifier === ts.SyntaxKind.TypeKeyword) return [];
  const bindings = clause?.namedBindings;
  if (clause?.name !== undefined || bindings === undefined || !ts.isNamedImports(bindings)) return undefined;
  return bindings.elements
    .filter((element) => !element.isTypeOnly)
    .map((element) => (element.propertyName ?? element.name).text);
}

/** The package of a specifier (`@scope/name/sub/file.js` -> `@scope/name`); undefined for paths and `node:` modules. */
export function packageOf(specifier: string): string | undefined {
  if (/^[./]|^node:/.test(specifier)) return undefined;
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}
