// The version, as a constant, since nothing may be read beside a module. A test holds it to deno.json.

/** The version of Plesio. */
export const VERSION = "0.1.0";
