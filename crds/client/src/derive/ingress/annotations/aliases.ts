/** The annotation that gives further hosts to the rules. */
import type { Resource } from "../../../resource.ts";
import { type Annotations, annotationsOf } from "./annotations.ts";

const NAME = "server-alias";

/** A name, or a wildcard for its first labels. */
const HOST = /^(?:\*\.)?[a-z\d](?:[a-z\d.-]*[a-z\d])?$/;

/** The aliases in lower case. Regular expressions are rejected. */
export function aliasesOf(annotations: Annotations): readonly string[] {
  const given = (annotations.list(NAME) ?? []).map((alias) => alias.toLowerCase());
  for (const alias of given)
    if (!HOST.test(alias))
      annotations.reject(NAME, `expected names or wildcards such as *.example.com, not '${alias}'`);
  return given.filter((alias) => HOST.test(alias));
}

export const ingressAliasesOf = (ingress: Resource): readonly string[] => aliasesOf(annotationsOf(ingress));
