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

/** Attacks on client certificates. */
export const mutualTlsAttacks: readonly Attack[] = [
  {
    attack: 'bypasses the proxy, and sends a client certificate in the header',
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
    attack: 'sends a certificate header through a proxy that adds the real one',
    outcome: 'both are ignored',
    attempt: against(async server => {
      const [mine, theirs] = [certificates.other, certificates.client].map(FORWARDED['RFC 9440'])
      assert.equal(await statusOf(server, 'by-dn', { 'client-cert': `${theirs}, ${mine}` }), 401)
    }),
  },
  {
    attack: 'uses a self-made certificate with the subject of another client where the proxy checks no issuer',
    outcome: 'is refused, because the server checks the issuer',
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
    attack: 'has a certificate with a subject that looks like that of another client',
    outcome: 'is refused: subjects are compared component by component',
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
    attack: 'issues a client certificate by an authority with name constraints',
    outcome: 'the authority is refused at startup, and certificates with unknown critical extensions on use',
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
    outcome: 'the token is refused at every API, but can be introspected',
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
    attack: 'sends a certificate-bound token with the DPoP scheme and a proof of its own key',
    outcome: 'is refused',
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
    attack: 'removes the certificate from a token request of a client with bound tokens',
    outcome: 'gets no token',
    attempt: against(async server => {
      const answer = await server.token(CREDENTIALS, { basic: ['bound-secret', 'secret'] })
      assert.equal(`${answer.status} ${String(answer.json()['error'])}`, '400 invalid_request')
    }),
  },
  {
    attack: 'sends megabytes, broken DER or a thousand names as a certificate',
    outcome: 'is refused immediately',
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
