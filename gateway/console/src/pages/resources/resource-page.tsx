/** A custom resource as it is stored, and why it is not served: the page of a resource without a valid entity. */
import { encodedPath, read } from "../../api/client.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { Link } from "../../app/navigation.tsx";
import { Notice } from "../../parts/notice.tsx";
import { ScrollArea } from "../../parts/scroll-area.tsx";
import { loadStoreProblems } from "../overview/store-problems.ts";

interface ResourcePageProps {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** The body of `GET /resources/{kind}/{namespace}/{name}`. */
interface ResourceBody {
  readonly spec: unknown;
}

const INTERVAL = 5000;

export function ResourcePage({ kind, namespace, name }: ResourcePageProps) {
  const path = `resources/${encodedPath(kind, namespace, name)}`;
  const { data, failure } = useLoaded((signal) => read<ResourceBody>(path, signal), { key: path, every: INTERVAL });
  const listed = useLoaded((signal) => loadStoreProblems(signal), { key: `problems of ${path}`, every: INTERVAL });
  const own = listed.data?.filter(
    ({ resource }) => resource?.kind === kind && resource.namespace === namespace && resource.name === name,
  );
  return (
    <>
      <p class="back">
        <Link to={[]}>Overview</Link>
      </p>
      <h1>
        <span class="kicker">{kind}</span> {namespace}/{name}
      </h1>
      {failure !== undefined && <Notice kind="error">{failure}</Notice>}
      {own?.map(({ title, detail, cure }) => (
        <Notice key={title} kind="error">
          {title}: {detail} → <strong>{cure}</strong>
        </Notice>
      ))}
      {own?.length === 0 && <Notice kind="good">No problem of this resource is known.</Notice>}
      {data && (
        <>
          <p class="hint">The resource as it is stored; secrets are not shown. Correct it where it is written.</p>
          <ScrollArea label={`The text of ${kind} ${namespace}/${name}`}>
            <pre>{resourceText({ kind, namespace, name }, data.spec)}</pre>
          </ScrollArea>
        </>
      )}
    </>
  );
}

const resourceText = ({ kind, namespace, name }: ResourcePageProps, spec: unknown): string =>
  JSON.stringify({ apiVersion: "sluice.dev/v1alpha1", kind, metadata: { namespace, name }, spec }, null, 2);
