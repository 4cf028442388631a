/** What can be done with a listed request: explain it, or trace one like it. */
import { Link } from "../../app/navigation.tsx";
import type { TracedRequest } from "./trace-dialog.tsx";

interface RequestActionsProps {
  readonly method: string;
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly path: string;
  readonly client: string | null;
  /** The name of the consumer; null: there was none. */
  readonly consumer: string | null;
  readonly onTrace: (request: TracedRequest) => void;
}

/** Lists of requests contain neither headers nor queries, so the explained request has none. */
export function RequestActions({ method, scheme, host, path, client, consumer, onTrace }: RequestActionsProps) {
  const url = `${scheme}://${host}${path}`;
  const subject = <span class="sr-only"> the request to {path}</span>;
  return (
    <span class="row-actions">
      <Link to={["explain"]} query={{ url, method, client: client ?? "", consumer: consumer ?? "" }}>
        Explain{subject}
      </Link>
      <button type="button" class="plain" onClick={() => onTrace({ method, url })}>
        Trace{subject}
      </button>
    </span>
  );
}
