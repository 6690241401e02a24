/** The state in which an operator lets only some requests through, such as while a database is being moved. */
export interface LimitedMode {
  /** Limited while this file is there; absolute. */
  readonly statusFile: string
  /** Paths below the base URL that still answer: as they are, or with `/**` at the end and all that is below them. */
  readonly endpoints: readonly string[]
  /** Methods that still work at every path, in capitals. */
  readonly methods: readonly string[]
}

/** What still works where the operator lists nothing: signing in and out, and tokens. */
export const DEFAULT_ENDPOINTS: readonly string[] = [
  '/oauth/authorize/**',
  '/oauth/token/**',
  '/check_token/**',
  '/introspect/**',
  '/login/**',
  '/login.do',
  '/logout.do',
  '/origin-chooser',
  '/saml/**',
  '/autologin/**',
  '/authenticate/**',
]

/** See `DEFAULT_ENDPOINTS`. */
export const DEFAULT_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/** Whether a request is let through while the server is limited: its method or its path is listed. */
export function isLetThrough({ endpoints, methods }: LimitedMode, method: string, path: string): boolean {
  if (methods.includes(method)) return true
  return endpoints.some(entry => {
    const above = entry.endsWith('/**') ? entry.slice(0, -'/**'.length) : undefined
    return above === undefined ? path === entry : path === above || path.startsWith(`${above}/`)
  })
}
