/** Addresses of the console's pages, in the fragment of the URL: they work below every prefix of the path. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

export interface ConsoleLocation {
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

export function readPlace(hash: string): ConsoleLocation {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const segments = path.split("/").filter((segment) => segment !== "");
  return { segments: segments.map(decoded), query: new URLSearchParams(query) };
}

/** A malformed escape in an address that a user typed stays as it is. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export const hrefOf = (segments: readonly string[], query: Readonly<Record<string, string>> = {}): string => {
  const text = new URLSearchParams(query).toString();
  return `#/${segments.map(encodeURIComponent).join("/")}${text === "" ? "" : `?${text}`}`;
};

export const goTo = (segments: readonly string[], query: Readonly<Record<string, string>> = {}): void => {
  location.hash = hrefOf(segments, query);
};

export function usePlace(): ConsoleLocation {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener("hashchange", follow);
    // The fragment may have changed before this effect ran.
    follow();
    return () => removeEventListener("hashchange", follow);
  }, []);
  return readPlace(hash);
}

interface LinkProps {
  readonly to: readonly string[];
  readonly query?: Readonly<Record<string, string>>;
  readonly class?: string;
  readonly current?: boolean;
  readonly children: ComponentChildren;
}

export const Link = ({ to, query, current, children, ...rest }: LinkProps) => (
  <a href={hrefOf(to, query)} aria-current={current ? "page" : undefined} class={rest.class}>
    {children}
  </a>
);
