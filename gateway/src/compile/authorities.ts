/** The CA certificates by which the targets of a service are verified. */
import type { CaCertificate, Snapshot } from "@sluice/model";

/**
 * The CA certificates with these ids. Null: no ids are given, so the CAs that the machine trusts apply. Ids that no CA
 * certificate has are left out: if none remains, the list is empty and no target is trusted.
 */
export function authoritiesOf(
  ids: readonly string[] | null,
  { ca_certificates }: Pick<Snapshot, "ca_certificates">,
): readonly CaCertificate[] | null {
  if (ids === null || ids.length === 0) return null;
  return [...new Set(ids)].sort().flatMap((id) => ca_certificates.get(id) ?? []);
}

type Authorities = readonly CaCertificate[] | null;

export const isSameAuthorities = (one: Authorities, other: Authorities): boolean =>
  one === other ||
  (one !== null && other !== null && one.length === other.length && one.every((each, index) => each === other[index]));
