/** The full host, by which users can judge the application; for a URI without one, such as a custom scheme, the URI without its query. */
export function destination(redirectUri: string): string {
  if (URL.canParse(redirectUri)) {
    const { protocol, host } = new URL(redirectUri)
    if ((protocol === 'https:' || protocol === 'http:') && host !== '') return host
  }
  return redirectUri.replace(/[?#].*$/s, '')
}
