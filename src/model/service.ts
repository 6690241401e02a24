/** The names that contain the service name, which replaces UAA's `uaa`. */
export interface Service {
  /** The name itself, lower case: prefix of scopes, id of the default zone, origin of the internal provider. */
  readonly name: string
  /** `<service>.user` and similar scopes. */
  scope(rest: 'user' | 'admin' | 'resource' | 'none' | 'offline_token'): string
  /** Cookie and form field of the CSRF token: `X-<Service>-Csrf`. */
  readonly csrfName: string
  /** Realm of client authentication: `<SERVICE>/client`. */
  readonly clientRealm: string
  /** Realm of bearer tokens: `<SERVICE>/oauth`. */
  readonly oauthRealm: string
}

/** Derives every name from the service name, which must be a lower-case word. */
export function serviceNamed(name: string): Service {
  return {
    name,
    scope: rest => `${name}.${rest}`,
    csrfName: `X-${name.charAt(0).toUpperCase()}${name.slice(1)}-Csrf`,
    clientRealm: `${name.toUpperCase()}/client`,
    oauthRealm: `${name.toUpperCase()}/oauth`,
  }
}
