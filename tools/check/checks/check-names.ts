import ts from "typescript";
import type { Fault } from "../fault.ts";
import type { CheckedFile } from "../source-files.ts";

/** Exported names that may be declared in several files, with the reason. */
const shared: readonly { readonly names: readonly string[]; readonly because: string }[] = [
  {
    names: [
      ...["Certificate", "Consumer", "ConsumerGroup", "GatewayParameters"],
      ...["Plugin", "Route", "Service", "Upstream", "Vault"],
    ],
    because: "a component of Pulumi has the name of the custom resource that it creates",
  },
  {
    names: [
      ...["Consumer", "Database", "FolderInUse", "Violation"],
      ...["lockFolder", "mediaTypeOf", "openDatabase", "openPostgres", "readSettings", "requireMigrated"],
    ],
    because: "the user API imports nothing internal, so it declares its own (docs/decisions/0036)",
  },
];
const sharedNames = new Set(shared.flatMap(({ names }) => names));

/**
 * Names that several files declare and export, in packages, suites and tools. An exported name must have one meaning,
 * so that a search for it leads to one place. Also returns names of the table above that only one file still declares.
 */
export function checkNames(files: readonly CheckedFile[]): readonly Fault[] {
  const places = new Map<string, string[]>();
  // Files without exports, such as most tests, are not parsed.
  for (const file of files.filter(({ path, text }) => /\.tsx?$/.test(path) && /^export\b/m.test(text)))
    for (const name of new Set(declaredExports(file))) places.getOrInsertComputed(name, () => []).push(file.path);

  const faults = [...places].flatMap(([name, [first = "", ...others]]): readonly Fault[] =>
    sharedNames.has(name)
      ? []
      : others.map((file) => ({ file, message: `exports ${name}, which ${first} also declares: rename one of them` })),
  );
  const outdated = [...sharedNames].filter((name) => places.get(name)?.length === 1);
  const message = (name: string) => `lists ${name}, which only one file declares`;
  return [
    ...faults,
    ...outdated.map((name) => ({ file: "tools/check/checks/check-names.ts", message: message(name) })),
  ];
}

/** The names that the file declares at its top level and exports, without names that it exports from other files. */
function declaredExports({ path, text }: CheckedFile): readonly string[] {
  const options = { languageVersion: ts.ScriptTarget.ESNext, jsDocParsingMode: ts.JSDocParsingMode.ParseNone };
  const { statements } = ts.createSourceFile(path, text, options);
  const declared = statements.flatMap((statement) =>
    namesOf(statement).map((name) => ({
      name,
      isExported: ts.canHaveModifiers(statement) && isExported(ts.getModifiers(statement)),
    })),
  );
  const listed = new Set(
    statements.flatMap((statement) =>
      ts.isExportDeclaration(statement) &&
      statement.moduleSpecifier === undefined &&
      statement.exportClause !== undefined &&
      ts.isNamedExports(statement.exportClause)
        ? statement.exportClause.elements.map(({ name, propertyName }) => (propertyName ?? name).text)
        : [],
    ),
  );
  return declared.filter(({ name, isExported }) => isExported || listed.has(name)).map(({ name }) => name);
}

const isExported = (modifiers: readonly ts.Modifier[] | undefined): boolean =>
  modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;

function namesOf(statement: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.flatMap(({ name }) => boundNames(name));
  const isDeclaration =
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement);
  return isDeclaration && statement.name !== undefined ? [statement.name.text] : [];
}

function boundNames(name: ts.BindingName): readonly string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((element) => (ts.isBindingElement(element) ? boundNames(element.name) : []));
}
