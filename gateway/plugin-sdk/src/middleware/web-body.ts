/** Bodies as streams of the Fetch API. */

/**
 * A stream of one piece.
 *
 * @param read Called when the stream is read. Resolves to null if the body is longer than `limit` bytes
 * @param tooLong The error of the stream in this case
 */
export const lazyBody = (read: () => Promise<Buffer | null>, tooLong: () => Error): ReadableStream =>
  new ReadableStream(
    {
      async pull(controller) {
        const bytes = await read();
        if (bytes === null) throw tooLong();
        // A copy, because the reader may change it.
        if (bytes.length > 0) controller.enqueue(new Uint8Array(bytes));
        controller.close();
      },
    },
    // With the default of 1, `pull` would be called before the middleware reads the body.
    { highWaterMark: 0 },
  );
