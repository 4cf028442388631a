/** Certificates that clients refuse or will refuse soon, and CA certificates that have expired or expire soon. */
import {
  type AcmeStatus,
  type CaCertificate,
  type Certificate,
  type CertificateDetails,
  certificateDetails,
  coverageFault,
  listFirstNames,
  validityFault,
} from "@sluice/model";
import { readCollection } from "../../stores/read-all.ts";
import type { Store } from "../../stores/store.ts";

/** A part of the configuration that is served, although clients may see errors. */
export interface ServedWarning {
  /** For example `certificate CN=shop.example (SNI shop.example)`. */
  readonly subject: string;
  readonly message: string;
  /** The change that ends the warning. */
  readonly remedy: string;
  readonly entity: {
    readonly collection: "certificates" | "snis" | "ca_certificates" | "plugins";
    readonly id: string;
  };
}

/** Parsing takes 0.1 ms for each certificate, and the same certificates are examined again and again. */
type KnownDetails = Map<string, CertificateDetails | null>;

/** Returns a function that examines all certificates. It keeps their details until its next call. */
export function createCertificateWarnings(
  store: Pick<Store, "list" | "certificateOrders">,
  now: () => number = Date.now,
) {
  let known: KnownDetails = new Map();
  return async (): Promise<readonly ServedWarning[]> => {
    const details: KnownDetails = new Map();
    const detailsOf = (pem: string) =>
      details.getOrInsertComputed(pem, () => known.get(pem) ?? certificateDetails(pem));
    const certificates = await readCollection(store, "certificates");
    const snis = certificates.length === 0 ? [] : await readCollection(store, "snis");
    const orders = await store.certificateOrders?.();
    const namesById = Map.groupBy(snis, ({ certificate }) => certificate?.id);
    const warnings = certificates.flatMap((certificate) => {
      const named = namesById.get(certificate.id) ?? [];
      const chains = chainsOf(certificate).flatMap((pem) => detailsOf(pem) ?? []);
      const names = named.map(({ name }) => name);
      const ofOrder = orderWarnings(certificate, orders?.get(certificate.id), names);
      const ofChains = chains.flatMap((chain): readonly ServedWarning[] => [
        ...named.flatMap(({ id, name }) => {
          const fault = coverageFault(name, chain);
          if (fault === null) return [];
          const remedy = "Let the SNI refer to a certificate that covers the name.";
          return [
            {
              subject: `certificate of SNI ${name}`,
              message: fault,
              remedy,
              entity: { collection: "snis", id },
            } as const,
          ];
        }),
        ...validityWarnings(certificate, chain, { names, now: now() }),
      ]);
      return [...ofOrder, ...ofChains];
    });
    const authorities = await readCollection(store, "ca_certificates");
    const expiring = authorities.flatMap(({ id, cert }) => {
      const found = detailsOf(cert);
      return found === null ? [] : authorityWarnings(id, found, now());
    });
    known = details;
    return [...warnings, ...expiring];
  };
}

function authorityWarnings(id: string, details: CertificateDetails, now: number): readonly ServedWarning[] {
  const fault = validityFault(details, now);
  if (fault === null) return [];
  return [
    {
      subject: `CA certificate ${details.subject}`,
      message: fault,
      remedy: "Add the renewed CA certificate, and refer to it where this one is used.",
      entity: { collection: "ca_certificates", id },
    },
  ];
}

/** The body of GET /certificate-details/{id}. `data` has the details of `cert` and, if set, of `cert_alt`. */
export interface CertificateDetailsBody {
  readonly data: readonly CertificateDetails[];
  /** Why clients refuse the certificate, in predicates such as `does not cover …`. */
  readonly faults: readonly string[];
  /** The order of the certificate; null: Sluice does not order it, or nothing is known yet. Absent: a CA certificate. */
  readonly order?: AcmeStatus | null;
}

export async function certificateDetailsBody(
  certificate: Certificate,
  store: Pick<Store, "list" | "certificateOrders">,
  now = Date.now(),
): Promise<CertificateDetailsBody> {
  const snis = await readCollection(store, "snis", { where: { member: "certificate", id: certificate.id } });
  const data = chainsOf(certificate).flatMap((pem) => certificateDetails(pem) ?? []);
  const faults = data.flatMap((details) => [
    ...snis.map(({ name }) => coverageFault(name, details)),
    validityFault(details, now),
  ]);
  const order = (await store.certificateOrders?.())?.get(certificate.id) ?? null;
  const failed = order?.error ? [`could not be ordered: ${order.error.detail}`] : [];
  return { data, faults: [...failed, ...faults.filter((fault) => fault !== null)], order };
}

/** As `certificateDetailsBody`. No SNI refers to a CA certificate. */
export function authorityDetailsBody({ cert }: CaCertificate, now = Date.now()): CertificateDetailsBody {
  const details = certificateDetails(cert);
  if (details === null) return { data: [], faults: [] };
  const fault = validityFault(details, now);
  return { data: [details], faults: fault === null ? [] : [fault] };
}

/** The details of the CA certificates, with their ids. */
export const authorityDetails = (authorities: readonly CaCertificate[]) =>
  authorities.flatMap(({ id, cert }) => {
    const details = certificateDetails(cert);
    return details === null ? [] : [{ id, ...details }];
  });

const chainsOf = ({ cert, cert_alt }: Certificate): readonly string[] =>
  [cert, cert_alt].filter((chain) => chain !== null);

function orderWarnings(
  { id }: Certificate,
  order: AcmeStatus | undefined,
  names: readonly string[],
): readonly ServedWarning[] {
  if (!order?.error) return [];
  const next = order.next_attempt === null ? "" : ` (next attempt at ${order.next_attempt})`;
  const shown = listFirstNames((names.length > 0 ? names : order.domains).toSorted(), MAX_NAMES);
  const called = names.length > 0 ? `(SNI ${shown})` : `for ${shown || "no name"}`;
  return [
    {
      subject: `certificate with acme ${called}`,
      message: `could not be ordered: ${order.error.detail}${next}`,
      remedy:
        order.state === "refused"
          ? "Change what the message names; until then, the certificate is not ordered."
          : "Let the names lead to the gateway, or correct acme; Sluice then tries again.",
      entity: { collection: "certificates", id },
    },
  ];
}

/** Maximum number of server names in the subject of a warning. */
const MAX_NAMES = 5;

function validityWarnings(
  { id, acme = null }: Certificate,
  details: CertificateDetails,
  { names, now }: { readonly names: readonly string[]; readonly now: number },
): readonly ServedWarning[] {
  const fault = validityFault(details, now);
  // No warning without an SNI, because clients get only certificates that an SNI refers to.
  if (fault === null || names.length === 0) return [];
  // Sluice renews the certificate, and reports if it cannot.
  if (acme !== null && Date.parse(details.not_after) > now) return [];
  return [
    {
      subject: `certificate ${details.subject} (SNI ${listFirstNames(names.toSorted(), MAX_NAMES)})`,
      message: fault,
      remedy: "Upload the renewed certificate and its key.",
      entity: { collection: "certificates", id },
    },
  ];
}
