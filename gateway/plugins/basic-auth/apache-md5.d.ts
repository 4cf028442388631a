/** The package has no types. */
declare module "apache-md5" {
  /**
   * @param password One character per byte.
   * @param salt A hash, or its part before the last `$`.
   */
  export default function apacheMd5(password: string, salt: string): string;
}
