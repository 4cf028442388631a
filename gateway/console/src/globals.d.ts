/** Types that the compiler lacks when it checks the console with the types of browsers. */
/// <reference types="vite/client" />

interface RequestInit {
  /** A member of Node's fetch. The plugin SDK sets it; the console uses types of the model, which imports the SDK. */
  duplex?: "half";
}
