/** The names of an upstream's certificate, if a service requires certain ones (Gateway API, "SubjectAltName"). */
import type { PeerCertificate } from "node:tls";
import type { UpstreamName } from "@sluice/model";
import { UpstreamError } from "./failure.ts";

/** The error of a certificate that has none of these names; undefined: it has one. */
export function missingName(
  { subjectaltname = "" }: Pick<PeerCertificate, "subjectaltname">,
  allowed: readonly UpstreamName[],
): Error | undefined {
  const found = namesIn(subjectaltname);
  if (allowed.some((name) => found.some((own) => own.type === name.type && isOneOf(own, name)))) return undefined;
  return new UpstreamError("ERR_TLS_CERT_ALTNAME_INVALID", "the upstream's certificate has none of the required names");
}

function isOneOf(own: UpstreamName, { type, value }: UpstreamName): boolean {
  if (own.value === value) return true;
  if (type === "uri") return false;
  const [name, allowed] = [own.value.toLowerCase(), value.toLowerCase()];
  if (name === allowed) return true;
  if (allowed.startsWith("*.")) return name.endsWith(allowed.slice(1));
  // RFC 6125 section 6.4.3: `*` stands for one whole label.
  return name.startsWith("*.") && name.slice(1) === allowed.slice(allowed.indexOf("."));
}

/** `DNS:a.example, URI:"spiffe://a,b"`: Node writes a value with special characters as a JSON string. */
const ENTRY = /(?:^|, )([^:",]+):("(?:[^"\\]|\\.)*"|[^,"]*)(?=,|$)/y;

const types: Readonly<Record<string, UpstreamName["type"]>> = { DNS: "dns", URI: "uri" };

/** Empty if the text has an unexpected form, so that nothing is trusted because of a part of it. */
function namesIn(text: string): readonly UpstreamName[] {
  const names: UpstreamName[] = [];
  ENTRY.lastIndex = 0;
  let end = 0;
  while (end < text.length) {
    const [entry, label = "", value = ""] = ENTRY.exec(text) ?? [];
    if (!entry) return [];
    end = ENTRY.lastIndex;
    const type = types[label];
    const name = value.startsWith('"') ? unquoted(value) : value;
    if (name === undefined) return [];
    if (type !== undefined) names.push({ type, value: name });
  }
  return names;
}

function unquoted(text: string): string | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
