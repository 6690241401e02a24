import { tokensOf } from './oauth.ts'
import type { TestAnswer, TestRequest, TestServer } from './server.ts'

/** Gives tokens of clients with the secret `<id>-secret`, fetched once for each client and Host header. */
export function clientTokens(server: TestServer): (id: string, host?: string) => Promise<string> {
  const tokens = new Map<string, Promise<string>>()

  async function fetchToken(id: string, host: string | undefined): Promise<string> {
    const request = { basic: [id, `${id}-secret`] as const, ...(host !== undefined && { host }) }
    return tokensOf(await server.token({ grant_type: 'client_credentials' }, request)).access_token
  }

  return (id, host) => {
    const key = `${id} ${host ?? ''}`
    const token = tokens.get(key) ?? fetchToken(id, host)
    tokens.set(key, token)
    return token
  }
}

/** A request by a caller with a token from `tokenOf`. */
export type CallerRequest<C extends string> = TestRequest & { readonly by?: C }

/** Sends requests with a JSON body, or a string as it is, by default with the token of `root`. */
export const callerRequests =
  <C extends string>(server: TestServer, tokenOf: (id: C | 'root') => Promise<string>) =>
  async (
    method: string,
    path: string,
    body?: unknown,
    { by = 'root', ...request }: CallerRequest<C | 'root'> = {},
  ): Promise<TestAnswer> => {
    const bearer = request.bearer ?? (await tokenOf(by))
    return server.send(path, {
      method,
      ...request,
      bearer,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...request.headers },
    })
  }
