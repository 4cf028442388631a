/**
 * Host patterns as keys of a table. Only a few keys can match the host of a request, so that the matching patterns are
 * found by a few lookups instead of a scan over all patterns.
 */
export interface HostPattern {
  /** `left` is `*.x`, `right` is `x.*`. */
  readonly kind: "plain" | "left" | "right";
  /** The name without the `*`: `x.com`, `.x.com`, `x.`. */
  readonly name: string;
  /** With its colon; "" when there is none. */
  readonly port: string;
}

export function parseHostPattern(pattern: string): HostPattern {
  const [name, port] = splitPort(pattern);
  if (name.startsWith("*")) return { kind: "left", name: name.slice(1), port };
  if (name.endsWith("*")) return { kind: "right", name: name.slice(0, -1), port };
  return { kind: "plain", name, port };
}

/** The host's name, and its port with the colon ("" if it has none). An IPv6 address keeps its brackets. */
export function splitPort(host: string): readonly [name: string, port: string] {
  const colon = host.lastIndexOf(":");
  if (colon < 0 || host.indexOf("]", colon) > 0) return [host, ""];
  return [host.slice(0, colon), host.slice(colon)];
}

/** Kinds of patterns that a router has. Kinds without a pattern are not looked up. */
export interface HostKinds {
  readonly ports: boolean;
  readonly wildcards: boolean;
}

/** Gets every key from `visitHostKeys`. An object instead of a function, so that a request allocates no closure. */
export interface HostKeyVisitor {
  visitKey(key: string): void;
}

/** Visits the key of every pattern that would match the host. A host without a port has the scheme's default port. */
export function visitHostKeys(
  { host, scheme }: { readonly host: string; readonly scheme: "http" | "https" },
  kinds: HostKinds,
  visitor: HostKeyVisitor,
): void {
  if (host === "") return;
  const [name, sentPort] = splitPort(host);
  const port = kinds.ports ? sentPort || (scheme === "https" ? ":443" : ":80") : "";
  visitor.visitKey(name);
  if (kinds.ports) visitor.visitKey(name + port);
  if (!kinds.wildcards) return;
  for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
    if (dot > 0) {
      const left = `*${name.slice(dot)}`;
      visitor.visitKey(left);
      if (kinds.ports) visitor.visitKey(left + port);
    }
    if (dot < name.length - 1) {
      const right = `${name.slice(0, dot + 1)}*`;
      visitor.visitKey(right);
      if (kinds.ports) visitor.visitKey(right + port);
    }
  }
}
