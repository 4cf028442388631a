/** The content of a certificate, of which the form only has the PEM: subject, names, validity, and faults. */
import type { CertificateDetails } from "@sluice/model";
import { encodedPath, read } from "../../api/client.ts";
import { certificateTitle, type EntityRecord } from "../../api/load-entities.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { Link } from "../../app/navigation.tsx";
import { Notice } from "../../parts/notice.tsx";

/** The body of `GET /certificate-details/{id}`. */
interface DetailsBody {
  readonly data: readonly CertificateDetails[];
  readonly faults: readonly string[];
}

/** A CA certificate has no name. Undefined: its details cannot be read. */
export async function titleOfAuthority(id: string, signal: AbortSignal): Promise<string | undefined> {
  const body = await read<DetailsBody>(`certificate-details/${encodedPath(id)}`, signal).catch(() => undefined);
  const [details] = body?.data ?? [];
  return details && certificateTitle(details);
}

interface ShownCertificateProps {
  readonly id: string;
  /** The details are read again when the certificate or its server names have changed. */
  readonly version: string;
}

export function ShownCertificate({ id, version }: ShownCertificateProps) {
  const { data, failure } = useLoaded((signal) => read<DetailsBody>(`certificate-details/${encodedPath(id)}`, signal), {
    key: `${id} ${version}`,
  });
  if (failure !== undefined) return <p class="hint">The certificate cannot be shown: {failure}</p>;
  if (!data) return null;
  return (
    <>
      {data.faults.map((fault) => (
        <Notice key={fault} kind="warning">
          The certificate {fault}
        </Notice>
      ))}
      {data.data.map(({ subject, issuer, alternative_names, not_before, not_after }) => (
        <dl key={subject + not_after} class="pairs">
          <div>
            <dt>Subject</dt>
            <dd>{subject}</dd>
          </div>
          <div>
            <dt>Names</dt>
            <dd>{alternative_names.join(", ") || "none"}</dd>
          </div>
          <div>
            <dt>Issuer</dt>
            <dd>{issuer}</dd>
          </div>
          <div>
            <dt>Valid</dt>
            <dd>
              {not_before} to {not_after}
            </dd>
          </div>
        </dl>
      ))}
    </>
  );
}

interface LinkedCertificateProps {
  readonly path: "certificates" | "ca_certificates";
  readonly id: string;
}

/** The certificates that a service refers to by their ids: its client certificate, and the CAs of its upstream. */
export function CertificatesOfService({ service }: { readonly service: EntityRecord }) {
  const { id } = Object(service.client_certificate) as { readonly id?: string };
  const authorities = Array.isArray(service.ca_certificates) ? service.ca_certificates.map(String) : [];
  const linked: readonly LinkedCertificateProps[] = [
    ...(id === undefined ? [] : [{ path: "certificates" as const, id }]),
    ...authorities.map((authority) => ({ path: "ca_certificates" as const, id: authority })),
  ];
  if (linked.length === 0) return null;
  return (
    <section class="children" aria-labelledby="certificates">
      <h2 id="certificates">Certificates</h2>
      <ul>
        {linked.map((one) => (
          <li key={one.id}>
            <LinkedCertificate {...one} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function LinkedCertificate({ path, id }: LinkedCertificateProps) {
  const { data } = useLoaded((signal) => read<DetailsBody>(`certificate-details/${encodedPath(id)}`, signal), {
    key: id,
  });
  const [details] = data?.data ?? [];
  return (
    <>
      {path === "certificates" ? "client certificate" : "CA certificate"}{" "}
      <Link to={["entities", path, id]}>{details?.subject ?? id}</Link>{" "}
      {details && <span class="hint">expires at {details.not_after}</span>}
    </>
  );
}
