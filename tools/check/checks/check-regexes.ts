import ts from "typescript";
import type { Fault } from "../fault.ts";
import { isTest } from "../imports.ts";
import type { CheckedFile } from "../source-files.ts";

/**
 * Places where a RegExp is built from anything but constants of its file. JavaScript's regular expressions backtrack: a
 * pattern from configuration could block a node. Such patterns must use `compileRegex` of @sluice/model, which runs in
 * linear time.
 */
export function checkRegexes(files: readonly CheckedFile[]): readonly Fault[] {
  return files.filter(({ path }) => path.endsWith(".ts") && !isTest(path)).flatMap(faultsOf);
}

function faultsOf({ path, text }: CheckedFile): readonly Fault[] {
  // Most files build no RegExp, and parsing is slow.
  if (!text.includes("RegExp")) return [];
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext);
  const constants = constantsOf(source);
  const faults: Fault[] = [];
  const visit = (node: ts.Node): void => {
    if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && isRegExp(node.expression)) {
      const [pattern] = node.arguments ?? [];
      if (pattern !== undefined && !isConstant(pattern, constants)) {
        const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
        const message =
          "builds a RegExp from a value that is not a constant: the pattern may backtrack; use compileRegex of @sluice/model";
        faults.push({ file: path, line, message });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return faults;
}

/** Whether the callee is `RegExp` or a member of this name, such as `globalThis.RegExp`. */
const isRegExp = (callee: ts.Expression): boolean =>
  (ts.isIdentifier(callee) && callee.text === "RegExp") ||
  (ts.isPropertyAccessExpression(callee) && callee.name.text === "RegExp");

/** Names of top-level constants that are strings or regular expressions written in the file itself. */
function constantsOf({ statements }: ts.SourceFile): ReadonlySet<string> {
  const names = new Set<string>();
  for (const statement of statements) {
    if (!ts.isVariableStatement(statement) || (statement.declarationList.flags & ts.NodeFlags.Const) === 0) continue;
    for (const { name, initializer } of statement.declarationList.declarations) {
      if (ts.isIdentifier(name) && initializer && isConstant(initializer, names)) names.add(name.text);
    }
  }
  return names;
}

function isConstant(node: ts.Expression, names: ReadonlySet<string>): boolean {
  if (ts.isStringLiteralLike(node) || ts.isRegularExpressionLiteral(node)) return true;
  if (ts.isIdentifier(node)) return names.has(node.text);
  if (ts.isPropertyAccessExpression(node)) return node.name.text === "source" && isConstant(node.expression, names);
  if (ts.isTemplateExpression(node)) return node.templateSpans.every(({ expression }) => isConstant(expression, names));
  return ts.isBinaryExpression(node) && isConstant(node.left, names) && isConstant(node.right, names);
}
