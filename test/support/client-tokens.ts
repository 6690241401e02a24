import { tokensOf } from './oauth.ts'
import type { TestServer } from './server.ts'

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
