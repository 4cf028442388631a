/** The form in which the gateway sends a path. */

/** Characters outside Kong's set, sent as %XX. `%` is in the set, because remaining escapes were kept on purpose. */
const UNSAFE = /[^!#$&'()*+,/:;=?@[\]A-Za-z0-9\-_.~%]+/g;

/** A normalised path, such as `request.path`, in the form in which it is sent. */
export const escapePath = (path: string): string => path.replace(UNSAFE, encodeURIComponent);
