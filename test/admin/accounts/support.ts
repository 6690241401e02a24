// Shared by the tests of codes, passwords and email addresses: requests with the token of a login server.
import { clientTokens } from '../../support/client-tokens.ts'
import type { TestAnswer, TestRequest, TestServer } from '../../support/server.ts'
import { caller } from '../../support/zones.ts'

/** The client of a login server, with its one authority. */
export const LOGIN_SERVER = caller('login', 'oauth.login')
/** The header of a JSON body. */
export const JSON_TYPE = { 'content-type': 'application/json' }

/** Requests to a server that is started later. */
export interface LoginServerCalls {
  /** A token of the client with the secret `<id>-secret`. */
  readonly tokenOf: (id: string, host?: string) => Promise<string>
  /** Sends as the login server of the zone unless a token is given. */
  readonly post: (path: string, body: string, more?: TestRequest) => Promise<TestAnswer>
}

/** See `LoginServerCalls`. */
export function loginServerCalls(server: () => TestServer): LoginServerCalls {
  let tokens: ReturnType<typeof clientTokens> | undefined
  const tokenOf = (id: string, host?: string): Promise<string> => (tokens ??= clientTokens(server()))(id, host)
  return {
    tokenOf,
    post: async (path, body, more = {}) =>
      server().send(path, {
        method: 'POST',
        body,
        headers: JSON_TYPE,
        ...more,
        bearer: more.bearer ?? (await tokenOf('login', more.host)),
      }),
  }
}
