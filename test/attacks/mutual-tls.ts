import assert from 'node:assert/strict'
import { FORWARDED, issue, nameOf, onlyHostsOf } from '../support/client-certificates.ts'
import { authority, behindProxy, certificates, shown } from '../support/mutual-tls.ts'
import { RESOURCE, tokensOf } from '../support/oauth.ts'
import type { ServerOptions, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

const against =
  (attempt: (server: TestServer) => Promise<void>, options: ServerOptions = behindProxy()) =>
  async (): Promise<void> => {
    const server = await startServer(options)
    try {
      await attempt(server)
      assert.deepEqual(server.faults, [])
    } finally {
      await server.stop()
    }
  }

const CREDENTIALS = { grant_type: 'client_credentials' }

const statusOf = async (server: TestServer, clientId: string, headers: Readonly<Record<string, string>>) =>
  (await server.token({ ...CREDENTIALS, client_id: clientId }, { headers })).status

/** Certificates must not be worth more than the handshake that they come from. */
export const mutualTlsAttacks: readonly Attack[] = [
  {
    attack: 'connects past the proxy and sends the certificate of a client in the header, also under a proxy’s address',
    outcome: 'is not authenticated',
    attempt: against(
      async server => {
        const header = shown(certificates.client)
        assert.equal(await statusOf(server, 'by-dn', header), 401)
        for (const name of ['x-forwarded-for', 'x-real-ip', 'x-client-ip']) {
          assert.equal(await statusOf(server, 'by-dn', { ...header, [name]: '192.0.2.7' }), 401)
        }
      },
      behindProxy('standard', { listen: { trusted_proxies: ['192.0.2.7'] } }),
    ),
  },
  {
    attack: 'sends a header of its own through a proxy that adds the true one',
    outcome: 'neither counts',
    attempt: against(async server => {
      const [mine, theirs] = [certificates.other, certificates.client].map(FORWARDED['RFC 9440'])
      assert.equal(await statusOf(server, 'by-dn', { 'client-cert': `${theirs}, ${mine}` }), 401)
    }),
  },
  {
    attack: 'makes a certificate with the subject of another client, where the proxy checks no authority',
    outcome: 'is refused, because the server does',
    attempt: against(async server => {
      const forged = [
        issue({ name: nameOf([['O', 'Bank']], [['CN', 'client']]) }),
        issue({ name: nameOf([['O', 'Bank']], [['CN', 'client']]), issuer: certificates.names }), // no authority
        certificates.untrusted,
      ]
      for (const certificate of forged) assert.equal(await statusOf(server, 'by-dn', shown(certificate)), 401)
    }),
  },
  {
    attack: 'gets a certificate of the authority whose subject reads like that of another client',
    outcome: 'names are compared part by part',
    attempt: against(async server => {
      const alike = [
        nameOf([['CN', 'client,O=Bank']]),
        nameOf([['CN', 'client\nO=Bank']]),
        nameOf([
          ['CN', 'client'],
          ['O', 'Bank'],
        ]),
        nameOf([['CN', 'client']], [['O', 'Bank']]),
        nameOf([['O', 'Bank']], [['CN', 'client']], [['OU', 'guests']]),
        nameOf([['O', 'Bank']], [['CN', 'Client']]),
        nameOf([['O', 'Bank']], [['CN', 'client\0']]),
      ]
      for (const name of alike) {
        assert.equal(await statusOf(server, 'by-dn', shown(issue({ name, issuer: authority }))), 401)
      }
      const hosts = ['b.example\0.evil.org', '*.example', 'x.b.example', 'b.example.']
      for (const host of hosts) {
        assert.equal(await statusOf(server, 'by-dns', shown(issue({ dns: [host], issuer: authority }))), 401)
      }
      const uri = issue({ dns: ['spiffe://bank/names'], email: ['spiffe://bank/names'], issuer: authority })
      assert.equal(await statusOf(server, 'by-uri', shown(uri)), 401, 'a name of another kind')
    }),
  },
  {
    attack: 'runs an authority that the operator trusts for other names alone, and issues a certificate for a client',
    outcome: 'such an authority is refused at start, and a certificate with an unknown condition at its use',
    async attempt() {
      const narrow = issue({ isAuthority: true, extensions: [onlyHostsOf('partner.example')] })
      const options = behindProxy()
      const config = { ...options.config, mutual_tls: { trusted_ca: narrow.pem } }
      await assert.rejects(startServer({ ...options, config }), /name constraints/)
      await against(async server => {
        const name = nameOf([['O', 'Bank']], [['CN', 'client']])
        for (const [isCritical, status] of [
          [false, 200],
          [true, 401],
        ] as const) {
          const condition = { id: '2a0304', isCritical, value: Buffer.from('0500', 'hex') }
          const certificate = issue({ name, issuer: authority, extensions: [condition] })
          assert.equal(await statusOf(server, 'by-dn', shown(certificate)), status)
        }
      })()
    },
  },
  {
    attack: 'steals a token that is bound to a certificate, and uses it with its own certificate or none',
    outcome: 'the token is refused at every API, and introspection still shows whose it is',
    attempt: against(async server => {
      const { access_token: token } = tokensOf(
        await server.token(CREDENTIALS, { basic: ['bound-secret', 'secret'], headers: shown(certificates.client) }),
      )
      const paths = ['/oauth/clients', '/userinfo', '/Users', '/identity-zones', '/identity-providers', '/info']
      for (const path of paths.filter(each => each !== '/info')) {
        for (const headers of [{}, shown(certificates.other), { 'client-cert': certificates.client.thumbprint }]) {
          const answer = await server.send(path, { headers: { authorization: `Bearer ${token}`, ...headers } })
          assert.equal(answer.status, 401, path)
        }
      }
      const inForm = await server.send('/userinfo', { form: { access_token: token } })
      assert.equal(inForm.status, 401)
      const reported = (await server.send('/introspect', { form: { token }, basic: RESOURCE })).json()
      assert.deepEqual(reported['cnf'], { 'x5t#S256': certificates.client.thumbprint })
    }),
  },
  {
    attack: 'sends a bound token by the scheme DPoP, with a proof of its own key',
    outcome: 'is refused: the token is bound to something else',
    attempt: against(async server => {
      const { access_token: token } = tokensOf(
        await server.token(CREDENTIALS, { basic: ['bound-secret', 'secret'], headers: shown(certificates.client) }),
      )
      for (const headers of [{}, shown(certificates.client)]) {
        const answer = await server.send('/oauth/clients', { headers: { authorization: `DPoP ${token}`, ...headers } })
        assert.equal(answer.status, 401)
      }
    }),
  },
  {
    attack: 'takes the certificate away from a token request of a client whose tokens are bound',
    outcome: 'gets no token at all',
    attempt: against(async server => {
      const answer = await server.token(CREDENTIALS, { basic: ['bound-secret', 'secret'] })
      assert.equal(`${answer.status} ${String(answer.json()['error'])}`, '400 invalid_request')
    }),
  },
  {
    attack: 'sends megabytes, broken DER or a thousand names as a certificate',
    outcome: 'is refused at once',
    attempt: against(async server => {
      const many = issue({ dns: Array.from({ length: 400 }, (_, index) => `h${index}.example`), issuer: authority })
      const values = [
        'A'.repeat(14_000),
        `:${'%'.repeat(5000)}:`,
        `-----BEGIN${'%2'.repeat(3000)}`,
        '\u00ff'.repeat(100),
      ]
      for (const value of [...values, FORWARDED['plain base64'](many)]) {
        assert.equal(await statusOf(server, 'by-dn', { 'client-cert': value }), 401)
      }
    }),
  },
]
