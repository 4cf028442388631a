/** Reads Prometheus' text format. */

export interface MetricLine {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A metric. The prefix of its name, `sluice_` or `kong_` (SLUICE_COMPAT=kong), is removed. */
const LINE = /^(?:sluice_|kong_)?([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** @param wanted Lines with other names are skipped without being parsed. */
function readMetricLine(line: string, wanted: ReadonlySet<string>): MetricLine | undefined {
  const [, name = "", labels = "", value = ""] = LINE.exec(line) ?? [];
  if (!wanted.has(name)) return undefined;
  const pairs = [...labels.matchAll(LABEL)].map(([, key = "", text = ""]): [string, string] => [key, unescaped(text)]);
  return { name, labels: Object.fromEntries(pairs), value: Number(value) };
}

const unescaped = (text: string): string =>
  text.includes("\\") ? text.replace(/\\(.)/g, (_, char: string) => (char === "n" ? "\n" : char)) : text;

/**
 * Reads a response piece by piece, so that the page can react between two pieces: with 10,000 routes and the plugin
 * prometheus, the response has tens of megabytes.
 */
export async function* readMetricLines(
  body: ReadableStream<Uint8Array>,
  wanted: ReadonlySet<string>,
): AsyncGenerator<MetricLine> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (done ? decoder.decode() : decoder.decode(value, { stream: true }))).split("\n");
    rest = done ? "" : (lines.pop() ?? "");
    for (const line of lines) {
      if (line === "" || line.startsWith("#")) continue;
      const read = readMetricLine(line, wanted);
      if (read) yield read;
    }
    if (done) return;
  }
}
