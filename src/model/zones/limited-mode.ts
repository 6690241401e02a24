/** Limited mode: only the listed requests are served, for example during a database migration. */
export interface LimitedMode {
  /** Limited mode is active while this file exists; absolute path. */
  readonly statusFile: string
  /** Paths below the base URL that are served; a trailing `/**` includes everything below. */
  readonly endpoints: readonly string[]
  /** Methods that are served at every path, in upper case. */
  readonly methods: readonly string[]
}

/** The default: sign-in, logout and tokens. */
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

/** Whether limited mode serves the request: its method or path is listed. */
export function isServedInLimitedMode({ endpoints, methods }: LimitedMode, method: string, path: string): boolean {
  if (methods.includes(method)) return true
  return endpoints.some(entry => {
    const above = entry.endsWith('/**') ? entry.slice(0, -'/**'.length) : undefined
    return above === undefined ? path === entry : path === above || path.startsWith(`${above}/`)
  })
}
