/** The member `path` of RequestRedirect and URLRewrite. */

export interface PathModifier {
  /** Replaces the whole path. */
  readonly fullPath?: string;
  /** Replaces the prefix that matches. */
  readonly prefix?: string;
}

export function pathModifierOf(path: unknown): PathModifier {
  const { type, replaceFullPath, replacePrefixMatch } = Object(path) as Readonly<Record<string, string | undefined>>;
  if (type === "ReplaceFullPath") return { fullPath: replaceFullPath || "/" };
  return type === "ReplacePrefixMatch" ? { prefix: replacePrefixMatch || "/" } : {};
}
