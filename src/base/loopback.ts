/**
 * Whether a host name is a loopback name or address: `localhost` and names below it (RFC 6761 §6.3), 127.0.0.0/8, or
 * `::1` with or without brackets.
 */
export const isLoopbackHost = (host: string): boolean =>
  /^(?:(?:[^.]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\]|::1)$/i.test(host)
