/** Bodies of type multipart/form-data, as curl -F sends them. */

export interface Part {
  readonly name: string;
  readonly value: string | Buffer;
  /** The file name, if the part is an uploaded file. */
  readonly file?: string;
}

const BOUNDARY = "------------------------d74496d66958873e";

export const multipart = (parts: readonly Part[]) => ({
  headers: [["Content-Type", `multipart/form-data; boundary=${BOUNDARY}`]] as const,
  bytes: Buffer.concat([
    ...parts.flatMap(({ name, value, file }) => [
      Buffer.from(
        `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${file === undefined ? "" : `; filename="${file}"\r\nContent-Type: application/octet-stream`}\r\n\r\n`,
      ),
      Buffer.from(value),
      Buffer.from("\r\n"),
    ]),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ]),
});
