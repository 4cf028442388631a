/** Imports a module of a plugin. */
import { pathOf, useOwnSdk, withGeneration, withoutGeneration } from "./locate.ts";

export interface ImportOptions {
  /** A module is imported again for each new generation; Node keeps the modules of earlier generations. Default 0. */
  readonly generation?: number;
  /** Milliseconds; default 10 s. */
  readonly timeout?: number;
}

/**
 * The default export of a module; undefined if it has none. Rejects if a top-level `await` of the module, or of a
 * module that it imports, does not end in time: otherwise the process would wait forever, or exit without a message.
 */
export async function importModule(url: string, { generation = 0, timeout = 10_000 }: ImportOptions = {}) {
  useOwnSdk();
  const late = Promise.withResolvers<never>();
  const message = `it was not imported within ${timeout / 1000} s: look for a top-level await that does not end`;
  const timer = setTimeout(() => late.reject(new Error(message)), timeout);
  try {
    const module: Readonly<Record<string, unknown>> = await Promise.race([
      import(withGeneration(url, generation)),
      late.promise,
    ]);
    return module.default;
  } finally {
    clearTimeout(timer);
  }
}

/** A sentence with the module, the error and its place in the plugin's own code. */
export const describeImportError = (url: string, error: unknown): string =>
  `${pathOf(url)} cannot be imported: ${reasonOf(error)}`;

/** The error with its place, which for a syntax error is the first line of the stack. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return `it throws ${String(error)}`;
  const { code } = error as { readonly code?: unknown };
  if (code === "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING")
    return "packages in node_modules must contain JavaScript, not TypeScript: build the package before it is packed";
  const stack = withoutGeneration(error.stack ?? "");
  const [, place] = /^((?:file:\/\/)?\/\S+:\d+)$/m.exec(stack) ?? /\(?(file:\/\/[^\s)]+:\d+:\d+)\)?/.exec(stack) ?? [];
  return `${error.name}: ${error.message}${place === undefined ? "" : ` (${pathOf(place)})`}`;
}
