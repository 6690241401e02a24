// `POST /identity-providers/test` with a real LDAP server.
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import fastify from 'fastify'
import type { RouteHandlerMethod } from 'fastify'
import { providerTestHandler } from '../../../src/admin/providers/directory-test.ts'
import { TooManyHashes } from '../../../src/base/passwords.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import { serviceNamed } from '../../../src/model/service.ts'
import { parseQuery } from '../../../src/web/requests/query.ts'
import { startFakeDirectory } from '../../support/fake-directory.ts'
import { MODES } from '../../support/oauth.ts'
import type { AddressedZone } from '../../../src/model/request.ts'
import type { Members } from '../../support/provider-api.ts'
import { HOST_OF_Z1, oidc, providerApi, providerBootstrap, SECRET_MARK } from '../../support/provider-api.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'
import type { Slapd } from '../../support/slapd.ts'
import { freePort } from '../../support/free-port.ts'
import { ACCOUNT, ODD_NAMES, PASSWORD, PEOPLE, startSlapd } from '../../support/slapd.ts'

let slapd: Slapd
before(async () => {
  slapd = await startSlapd()
})
after(() => slapd.stop())

const ldap = (config: Members = {}, more: Members = {}): Members => ({
  type: 'ldap',
  originKey: 'ldap',
  name: 'The directory',
  config: {
    baseUrl: slapd.url,
    ldapProfileFile: 'ldap/ldap-search-and-bind.xml',
    bindUserDn: ACCOUNT.dn,
    bindPassword: ACCOUNT.password,
    userSearchBase: PEOPLE,
    ...config,
  },
  ...more,
})
const MARISSA = { username: 'marissa', password: PASSWORD }
const NO_ANSWER = 'The directory cannot be reached, or its response cannot be parsed.'
const summaryOf = ({ status, text, headers }: TestAnswer) => [
  status,
  String(headers['content-type']).split(';')[0],
  text,
]

for (const mode of MODES) {
  describe(`POST /identity-providers/test in ${mode} mode`, () => {
    let server: TestServer
    const api = providerApi(() => server)
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: providerBootstrap } })
    })
    after(() => server.stop())
    afterEach(async () => {
      api.assertNoSecrets()
      assert.deepEqual(server.faults, [])
      const kept = await server.store.providers.list('svc')
      assert.deepEqual(
        kept.map(({ provider }) => provider.type).filter(type => type === 'ldap'),
        [],
        'the provider is not stored',
      )
    })
    const ask = (provider: unknown, credentials: unknown = MARISSA, call: Parameters<typeof api.call>[0] = {}) =>
      api.call({ method: 'POST', path: '/test', json: { provider, credentials }, ...call })

    // Covers ldap config: ldapProfileFile
    // Covers POST /identity-providers/test: answer: ok
    it('returns ok for the correct password, in every profile', async () => {
      const profiles = [
        {},
        { ldapProfileFile: 'ldap/ldap-search-and-compare.xml' },
        { ldapProfileFile: 'ldap/ldap-simple-bind.xml', userDNPattern: `cn={0},${PEOPLE}` },
      ]
      for (const config of profiles)
        assert.deepEqual(summaryOf(await ask(ldap(config))), [200, 'application/json', '"ok"'])
      const text = { ...ldap(), config: JSON.stringify(ldap()['config']) }
      assert.equal((await ask(text)).text, '"ok"')
      assert.equal((await ask(ldap(), { ...MARISSA, username: 'MARISSA' })).text, '"ok"')
      for (const username of ODD_NAMES) assert.equal((await ask(ldap(), { username, password: PASSWORD })).status, 200)
    })

    // Covers POST /identity-providers/test: answer: bad credentials
    it('returns the same error for wrong or empty passwords, unknown names and wildcards', async () => {
      const wrong = [
        { ...MARISSA, password: `${SECRET_MARK} wrong` },
        { ...MARISSA, password: '' },
        { ...MARISSA, username: '' },
        { ...MARISSA, username: 'nobody' },
        { ...MARISSA, username: '*' },
        { ...MARISSA, username: 'marissa)(objectClass=*' },
        { ...MARISSA, username: 'x'.repeat(40_000) },
        { ...MARISSA, username: 'a\0b' },
      ]
      for (const credentials of wrong) {
        assert.deepEqual(summaryOf(await ask(ldap(), credentials)), [417, 'application/json', '"bad credentials"'])
      }
    })

    it('describes invalid settings', async () => {
      const mistakes: readonly (readonly [config: Members, text: string])[] = [
        [{ baseUrl: null }, 'baseUrl must be given'],
        [{ baseUrl: '' }, 'baseUrl must be given'],
        [{ baseUrl: 'http://localhost' }, 'baseUrl must be addresses with ldap:// or ldaps://, with spaces in between'],
        [
          { userSearchBase: null },
          // UAA: dc=test,dc=com, which this directory does not have.
          mode === 'uaa'
            ? 'userSearchBase: responded with result code 32 (noSuchObject)'
            : 'userSearchBase must be given',
        ],
        [{ userSearchBase: 'dc=nowhere' }, 'userSearchBase: responded with result code 32 (noSuchObject)'],
        [{ bindPassword: `${SECRET_MARK} wrong` }, 'bindUserDn: responded with result code 49 (invalidCredentials)'],
        [{ mailSubstitute: 'a@example.org' }, 'mailSubstitute must contain {0}'],
      ]
      for (const [config, text] of mistakes) {
        assert.deepEqual(summaryOf(await ask(ldap(config))), [
          400,
          'text/plain',
          `The directory cannot be used: ${text}`,
        ])
      }
    })

    // Covers POST /identity-providers/test: answer: connection problem
    it('does not reveal why a connection failed', async () => {
      const http = await startFakeDirectory(socket => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'))
      const urls = [
        `ldap://localhost:${await freePort()}`,
        `ldaps://localhost:${slapd.port}`,
        http.url,
        'ldap://10.0.0.1',
        'ldaps://192.168.1.1',
        'ldap://169.254.169.254',
        'ldap://[fe80::1]',
        'ldap://0.0.0.0',
      ]
      try {
        for (const baseUrl of urls) {
          assert.deepEqual(summaryOf(await ask(ldap({ baseUrl }))), [400, 'text/plain', NO_ANSWER], baseUrl)
        }
      } finally {
        await http.stop()
      }
    })

    it('requires a trusted certificate that matches the host', async () => {
      const untrusted = [400, 'text/plain', 'The certificate of the directory is not trusted.']
      const ldaps = { baseUrl: slapd.tlsUrl }
      const startTls = { tlsConfiguration: 'simple' }
      assert.deepEqual(summaryOf(await ask(ldap(ldaps))), untrusted)
      assert.deepEqual(summaryOf(await ask(ldap(startTls))), untrusted)
      assert.equal((await ask(ldap({ ...ldaps, skipSSLVerification: true }))).text, '"ok"')
      const usual = getCACertificates('default')
      setDefaultCACertificates([...usual, slapd.certificate])
      try {
        assert.equal((await ask(ldap(ldaps))).text, '"ok"')
        assert.equal((await ask(ldap(startTls))).text, '"ok"')
        const byAddress = { baseUrl: `ldaps://127.0.0.1:${slapd.tlsPort}` }
        assert.deepEqual(summaryOf(await ask(ldap(byAddress))), untrusted)
      } finally {
        setDefaultCACertificates(usual)
      }
    })

    // Covers POST /identity-providers/test: provider
    it('rejects an invalid provider like POST /identity-providers', async () => {
      const bad: readonly (readonly [provider: Members, status: number])[] = [
        [ldap({ ldapProfileFile: 'ldap/other.xml' }), 400],
        [ldap({ tlsConfiguration: 'yes' }), 400],
        [ldap({ referral: 'maybe' }), 400],
        [{ ...ldap(), config: '{' }, 400],
        [ldap({}, { active: 'yes' }), 400],
        [ldap({}, { originKey: 'other' }), 422],
        [ldap({}, { originKey: undefined }), 422],
        [ldap({}, { name: undefined }), 422],
      ]
      for (const [provider, status] of bad) {
        const [tested, made] = [await ask(provider), await api.call({ method: 'POST', json: provider })]
        assert.deepEqual(summaryOf(tested), summaryOf(made))
        assert.equal(tested.status, status)
      }
    })

    // Covers POST /identity-providers/test: credentials
    it('rejects a malformed body', async () => {
      const bodies: readonly unknown[] = [
        {},
        { provider: ldap() },
        { credentials: MARISSA },
        { provider: null, credentials: MARISSA },
        { provider: [ldap()], credentials: MARISSA },
        { provider: 'ldap', credentials: MARISSA },
        { provider: ldap(), credentials: null },
        { provider: ldap(), credentials: ['marissa', PASSWORD] },
        { provider: ldap(), credentials: { username: 'marissa' } },
        { provider: ldap(), credentials: { password: PASSWORD } },
        { provider: ldap(), credentials: { username: 1, password: PASSWORD } },
        { provider: ldap(), credentials: { username: 'marissa', password: [PASSWORD] } },
        { provider: ldap(), credentials: { username: 'marissa', password: null } },
        { provider: ldap({}, { type: undefined }), credentials: MARISSA },
        { provider: oidc('partner'), credentials: MARISSA },
        { provider: { ...ldap(), type: 'saml' }, credentials: MARISSA },
        { provider: { ...ldap(), type: 'LDAP' }, credentials: MARISSA },
        '',
        '[]',
        '{',
        `{"provider":{"__proto__":{}}}`,
      ]
      for (const json of bodies) {
        const answer = await api.call({ method: 'POST', path: '/test', json })
        assert.equal(answer.status, 400, JSON.stringify(json))
        assert.equal(answer.json()['error'], 'invalid_request')
      }
      const huge = ldap({ providerDescription: 'x'.repeat(70_000) })
      assert.equal((await ask(huge)).status, 413)
      assert.equal((await ask(ldap(), MARISSA, { query: { rawConfig: 'maybe' } })).status, 400)
    })

    it('requires the right to write providers of the zone', async () => {
      const z1 = { headers: { 'x-identity-zone-id': 'z1' } }
      for (const as of ['admin', 'writer', 'zone-admin']) assert.equal((await ask(ldap(), MARISSA, { as })).status, 200)
      for (const as of ['reader', 'stranger', 'z1-admin', 'z1-writer']) {
        assert.equal((await ask(ldap(), MARISSA, { as })).status, 403, as)
      }
      for (const as of ['admin', 'z1-admin', 'z1-writer']) {
        assert.equal((await ask(ldap(), MARISSA, { as, ...z1 })).status, 200, as)
      }
      for (const as of ['z1-reader', 'z1-clients', 'writer']) {
        assert.equal((await ask(ldap(), MARISSA, { as, ...z1 })).status, 403, as)
      }
      assert.equal((await ask(ldap(), MARISSA, { as: 'writer', host: HOST_OF_Z1 })).status, 200)
      assert.equal((await ask(ldap(), MARISSA, { as: 'pretender', host: HOST_OF_Z1 })).status, 403)
      assert.equal((await server.send('/identity-providers/test', { method: 'POST' })).status, 401)
    })

    it('limits concurrent connections to one directory', async () => {
      let arrived: () => void = () => {}
      const four = new Promise<void>(resolve => (arrived = resolve))
      const silent = await startFakeDirectory(() => {
        if (silent.connections.length === 4) arrived()
      })
      const provider = ldap({ baseUrl: silent.url })
      const running = Array.from({ length: 4 }, () => ask(provider))
      await four
      const answer = await ask(provider)
      assert.deepEqual(summaryOf(answer), [503, 'text/plain', 'Too many connections are open. Try again.'])
      await silent.stop()
      for (const each of await Promise.all(running)) assert.equal(each.text, NO_ANSWER)
    })
  })
}

describe('The stored bind password', () => {
  it('is never used for a test', async () => {
    const server = await startServer({ config: { bootstrap: providerBootstrap } })
    const thief = await startFakeDirectory(socket => socket.destroy())
    const api = providerApi(() => server)
    const ask = (provider: Members, call: Members = {}) =>
      api.call({ method: 'POST', path: '/test', json: { provider, credentials: MARISSA }, ...call })
    try {
      const kept = await api.create(ldap())
      const needed = [400, 'text/plain', 'The directory cannot be used: bindUserDn requires a bindPassword']
      const { bindPassword: _, ...without } = ldap()['config'] as Members
      for (const config of [without, { ...without, bindPassword: null }, { ...without, bindPassword: '' }]) {
        for (const baseUrl of [slapd.url, thief.url, `${thief.url} ${slapd.url}`]) {
          for (const id of [undefined, kept.id]) {
            assert.deepEqual(summaryOf(await ask({ ...ldap(), id, config: { ...config, baseUrl } })), needed)
          }
        }
      }
      // Nor from another zone.
      const elsewhere = { ...ldap(), config: { ...without, baseUrl: thief.url } }
      assert.deepEqual(
        summaryOf(await ask(elsewhere, { as: 'z1-writer', headers: { 'x-identity-zone-id': 'z1' } })),
        needed,
      )
      assert.equal(thief.connections.length, 0)
      api.assertNoSecrets()
    } finally {
      await thief.stop()
      await server.stop()
    }
  })
})

describe('POST /identity-providers/test on a server with a public base_url', () => {
  it('connects to loopback only if outbound.allow_private is set', async () => {
    const others = { base_url: 'https://id.example' }
    const cases = [
      [others, 400],
      [{ ...others, outbound: { allow_private: true } }, 200],
    ] as const
    for (const [config, status] of cases) {
      const server = await startServer({ config: { ...config, bootstrap: providerBootstrap } })
      try {
        const api = providerApi(() => server)
        for (const baseUrl of [slapd.url, `ldap://127.0.0.1:${slapd.port}`]) {
          const json = { provider: ldap({ baseUrl }), credentials: MARISSA }
          assert.equal((await api.call({ method: 'POST', path: '/test', json })).status, status)
        }
      } finally {
        await server.stop()
      }
    }
  })
})

describe('POST /identity-providers/test on an internal error', () => {
  const answerOf = async (thrown: Error) => {
    const faults: unknown[] = []
    const app = fastify({ routerOptions: { querystringParser: text => parseQuery(text) as never } })
    app.decorateRequest('zone', { getter: () => ({ id: 'svc' }) as AddressedZone })
    const deps = {
      service: serviceNamed('svc'),
      behaviour: behaviourOf('standard'),
      directories: { authenticate: () => Promise.reject(thrown), close: () => {} },
      log: { refusal: () => {}, fault: (_: string, cause: unknown) => void faults.push(cause) },
    }
    providerTestHandler((name, handler) => app.post(name.slice('POST '.length), handler as RouteHandlerMethod), deps)
    const payload = { provider: ldap(), credentials: MARISSA }
    const { statusCode, body } = await app.inject({ method: 'POST', url: '/identity-providers/test', payload })
    return { statusCode, body, faults }
  }

  // Covers POST /identity-providers/test: answer: check server logs
  it('logs the error and refers to the log', async () => {
    const fault = new TypeError('x is not a function')
    assert.deepEqual(await answerOf(fault), { statusCode: 500, body: '"check server logs"', faults: [fault] })
  })

  it('does not log overload as a fault', async () => {
    const { body, faults } = await answerOf(new TooManyHashes())
    assert.deepEqual(faults, [])
    assert.ok(!body.includes('check server logs'), 'the common error handler answers')
  })
})
