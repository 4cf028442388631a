/** Bodies as streams of the Fetch API. */

/**
 * A body as a stream of one piece; the stream of an empty body has none.
 *
 * @param read Called when the stream is first read. Resolves to the whole body; null if it is too long to be read
 * @param tooLong Returns the error of the stream for a body that is too long
 */
export const lazyBody = (read: () => Promise<Buffer | null>, tooLong: () => Error): ReadableStream =>
  new ReadableStream(
    {
      async pull(controller) {
        const bytes = await read();
        if (bytes === null) throw tooLong();
        // A copy, because the reader may change the bytes that it receives.
        if (bytes.length > 0) controller.enqueue(new Uint8Array(bytes));
        controller.close();
      },
    },
    // With the default of 1, `pull` would be called before the middleware reads the body.
    { highWaterMark: 0 },
  );
