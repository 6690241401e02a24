/** The alphabet of RFC 4648 §4, with or without its padding. `Buffer.from` skips all other characters. */
export const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/
