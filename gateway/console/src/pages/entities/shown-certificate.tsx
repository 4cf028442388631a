/** The content of a certificate, of which the form only has the PEM: subject, names, validity, and faults. */
import type { CertificateDetails } from "@sluice/model";
import { encodedPath, read } from "../../api/client.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { Notice } from "../../parts/notice.tsx";

/** The body of `GET /certificate-details/{id}`. */
interface DetailsBody {
  readonly data: readonly CertificateDetails[];
  readonly faults: readonly string[];
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
