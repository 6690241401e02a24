import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { SignJWT, generateKeyPair } from 'jose'
import { providerApi, providerBootstrap } from '../support/provider-api.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

/** A server behind a proxy listens on loopback, as by default; other services on the machine must not be reachable. */
const BEHIND_PROXY = { base_url: 'https://id.example', listen: { host: '127.0.0.1' } }

/** Asserts that nothing connects to a port of this machine while `reach` makes the server try. */
async function assertOutOfReach(
  records: (address: string) => object,
  reach: (server: TestServer, address: string) => Promise<void>,
): Promise<void> {
  let connections = 0
  const neighbour = createServer(socket => {
    connections += 1
    socket.destroy()
  })
  await new Promise<void>(resolve => neighbour.listen(0, '127.0.0.1', resolve))
  const { port } = neighbour.address() as AddressInfo // no pipe
  try {
    for (const address of [`127.0.0.1:${port}`, `localhost:${port}`]) {
      const bootstrap = { ...providerBootstrap, ...records(address) }
      const server = await startServer({ config: { ...BEHIND_PROXY, bootstrap } })
      try {
        await reach(server, address)
      } finally {
        await server.stop()
      }
    }
    assert.equal(connections, 0)
  } finally {
    neighbour.close()
  }
}

/** Server-side request forgery. */
export const outboundAttacks: readonly Attack[] = [
  {
    attack: 'uses a port of the server itself as discovery URL of a provider, behind a proxy',
    outcome: 'nothing connects to it',
    attempt: () =>
      assertOutOfReach(
        address => ({
          identity_providers: [
            {
              originKey: 'inside',
              type: 'oidc1.0',
              name: 'Inside',
              config: { discoveryUrl: `https://${address}/d`, relyingPartyId: 'x', linkText: 'Inside' },
            },
          ],
        }),
        async server => {
          const answer = await server.browser().send('/login/external/inside')
          assert.match(String(answer.headers['location']), /error=idp_not_found/)
        },
      ),
  },
  {
    attack: 'uses a port of the server itself as jwks_uri, behind a proxy',
    outcome: 'nothing connects to it, and the client is refused',
    attempt: () =>
      assertOutOfReach(
        address => ({
          clients: [
            {
              client_id: 'signer',
              authorized_grant_types: ['client_credentials'],
              jwks_uri: `https://${address}/keys`,
            },
          ],
        }),
        async server => {
          const { privateKey } = await generateKeyPair('RS256')
          const now = Math.floor(server.clock.now().getTime() / 1000)
          const assertion = await new SignJWT({ jti: randomUUID() })
            .setProtectedHeader({ alg: 'RS256', kid: 'k' })
            .setIssuer('signer')
            .setSubject('signer')
            .setAudience(`${server.baseUrl}/oauth/token`)
            .setIssuedAt(now)
            .setExpirationTime(now + 60)
            .sign(privateKey)
          const answer = await server.token({
            grant_type: 'client_credentials',
            client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
            client_assertion: assertion,
          })
          assert.equal(answer.status, 401)
        },
      ),
  },
  {
    attack: 'tests a directory at a port of the server itself, behind a proxy',
    outcome: 'nothing connects to it',
    attempt: () =>
      assertOutOfReach(
        () => ({}),
        async (server, address) => {
          const config = {
            ldapProfileFile: 'ldap/ldap-simple-bind.xml',
            ldapGroupFile: 'ldap/ldap-groups-null.xml',
            baseUrl: `ldap://${address}`,
            userDNPattern: 'uid={0}',
          }
          const provider = { originKey: 'ldap', type: 'ldap', name: 'inside', config }
          const json = { provider, credentials: { username: 'marissa', password: 'koala' } }
          const answer = await providerApi(() => server).call({ method: 'POST', path: '/test', json })
          assert.equal(answer.status, 400, answer.text)
          assert.match(answer.text, /cannot be reached/)
        },
      ),
  },
]
