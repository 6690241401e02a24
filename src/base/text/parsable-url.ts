/** A host name has at most 253 characters (RFC 1035 §2.3.4). */
const LONG_HOST = /^(?:https?|wss?|ftp|file):[/\\]*[^/\\?#]{256}/i

/**
 * Whether the text is a URL that may be parsed. The parser writes the name of the host in Punycode, which takes the square of its
 * length: 30 ms for 4,000 characters, and records hold hundreds of URLs.
 */
export const isParsableUrl = (text: string, base?: string): boolean => !LONG_HOST.test(text) && URL.canParse(text, base)
