/** Where an entity is written: in the database, at a line of a file, or in a custom resource with its conditions. */
import { encodedPath, read } from "../../api/client.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { Notice } from "../../parts/notice.tsx";
import type { OriginBody } from "./origin-body.ts";

interface WrittenInProps {
  readonly collection: string;
  readonly id: string;
  /** The origin is read again when the entity has changed: its line may have moved. */
  readonly version: string;
}

export function WrittenIn({ collection, id, version }: WrittenInProps) {
  const { data, failure } = useLoaded((signal) => read<OriginBody>(`origins/${encodedPath(collection, id)}`, signal), {
    key: `${collection} ${id} ${version}`,
  });
  // The entity itself can be shown without its origin.
  if (failure !== undefined) return <p class="hint">The place where this entity is written is not known: {failure}</p>;
  if (!data) return null;
  const unmet = data.in === "resource" ? data.conditions.filter(({ status }) => status === "False") : [];
  return (
    <>
      <p class="hint">
        written in <Origin {...data} />
      </p>
      {unmet.map(({ type, reason, message }) => (
        <Notice key={type} kind="error">
          {type} is false ({reason}): {message}
        </Notice>
      ))}
    </>
  );
}

function Origin(origin: OriginBody) {
  if (origin.in === "database") return <>the database</>;
  if (origin.in === "file") return <code>{origin.place}</code>;
  const { kind, namespace, name } = origin.resource;
  return (
    <>
      <code>
        {kind} {namespace}/{name}
      </code>
      {origin.place !== null && (
        <>
          {" "}
          in <code>{origin.place}</code>
        </>
      )}
    </>
  );
}
