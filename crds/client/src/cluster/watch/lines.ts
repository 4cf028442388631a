/** Splits a byte stream into lines. A watch sends one JSON object per line. */

/** etcd accepts objects of 1.5 MB by default; a longer line is not an event. */
const longest = 16 * 1024 * 1024;

export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let text = decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
      const line = parts.join("") + text.slice(0, end);
      parts = [];
      length = 0;
      text = text.slice(end + 1);
      if (line !== "") yield line;
    }
    parts.push(text);
    length += text.length;
    if (length > longest) throw new Error(`a watch event is longer than ${longest} characters`);
  }
}
