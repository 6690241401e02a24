import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import fastify from 'fastify'
import type { Clock } from '../../../src/base/clock.ts'
import type { LimiterMapping, PathSelector } from '../../../src/model/zones/rate-limit.ts'
import { createUrls } from '../../../src/model/urls.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import { createRateLimitHook, pathBelow } from '../../../src/web/limits/rate-limit.ts'
import { createRateLimiter } from '../../../src/web/limits/rate-limiter.ts'
import { createTestClock } from '../../support/clock.ts'
import { MODES, SERVICE } from '../../support/oauth.ts'
import { defaultBootstrap, startServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'
import { caller as callerWith, sendJson, tokenOf } from '../../support/zones.ts'

const caller = (address: string, credential?: string) => ({ address: () => address, credential: () => credential })
const ADA = caller('192.0.2.1', 'ada')
const BOB = caller('192.0.2.2', 'bob')
const rate = (requests: number, seconds = 10) => ({ requests, seconds })

/** The exceeded limit as `name type`, or `passed`. */
function judge(limiter: ReturnType<typeof createRateLimiter>, path: string, who = ADA): string {
  const excess = limiter.judge(path, who)
  return excess ? `${excess.name} ${excess.type}` : 'passed'
}

const selectors = (...texts: readonly string[]): readonly PathSelector[] =>
  texts.map(text => {
    const [kind = '', path = ''] = text.split(':')
    return (path === '' ? { kind } : { kind, text: path }) as PathSelector // as the test wrote it
  })

describe('Mapping of a path', () => {
  const only = (name: string, ...paths: readonly string[]): LimiterMapping => ({
    name,
    selectors: selectors(...paths),
    limits: { global: rate(0) },
  })
  const mappings = [
    only('token', 'equals:/oauth/token'),
    only('oauth', 'startsWith:/oauth/'),
    only('tok', 'startsWith:/oauth/tok'),
    only('auth', 'contains:auth'),
    only('author', 'contains:author'),
    only('rest', 'other'),
  ]
  const cases = [
    ['/oauth/token', 'token'],
    ['/oauth/token/', 'tok'],
    ['/oauth/tokens', 'tok'],
    ['/oauth/authorize', 'oauth'],
    ['/x/oauth/token', 'auth'],
    ['/an/author', 'author'],
    ['/OAUTH/token', 'rest'],
    ['/', 'rest'],
  ] as const
  for (const [path, name] of cases) {
    // Covers rate limiting: limiterMappings[].pathSelectors
    it(`is ${name} for ${path}`, () => {
      assert.equal(judge(createRateLimiter({ mappings }, createTestClock()), path), `${name} Global`)
    })
  }

  it('does not limit other paths', () => {
    const limiter = createRateLimiter({ mappings: mappings.slice(0, 1) }, createTestClock())
    assert.equal(judge(limiter, '/other'), 'passed')
  })
})

describe('`createRateLimiter`', () => {
  const opened = (mappings: readonly LimiterMapping[], clock = createTestClock()) =>
    createRateLimiter({ mappings }, clock)
  const everything = (limits: LimiterMapping['limits']): readonly LimiterMapping[] => [
    { name: 'X', selectors: selectors('all'), limits },
  ]

  // Covers rate limiting: limiterMappings[].global
  it('counts requests in a window that starts with the first', () => {
    const clock = createTestClock()
    const limiter = opened(everything({ global: rate(2) }), clock)
    assert.equal(judge(limiter, '/'), 'passed')
    clock.advance(9)
    assert.equal(judge(limiter, '/'), 'passed')
    assert.deepEqual(limiter.judge('/', ADA), { name: 'X', type: 'Global', retryAfterSeconds: 1 })
    clock.advance(1)
    assert.equal(judge(limiter, '/'), 'passed')
    assert.equal(judge(limiter, '/'), 'passed')
    assert.equal(judge(limiter, '/'), 'X Global')
  })

  it('refuses all requests with a limit of 0', () => {
    const limiter = opened(everything({ withCallerRemoteAddressID: rate(0, 60) }))
    assert.deepEqual(limiter.judge('/', ADA), { name: 'X', type: 'RemoteAddressID', retryAfterSeconds: 60 })
  })

  // Covers rate limiting: limiterMappings[].withCallerCredentialsID
  it('identifies callers by credential, regardless of the address', () => {
    const limiter = opened(everything({ withCallerCredentialsID: rate(1) }))
    assert.equal(judge(limiter, '/', caller('192.0.2.1', 'ada')), 'passed')
    assert.equal(judge(limiter, '/', caller('192.0.2.1', 'bob')), 'passed')
    assert.equal(judge(limiter, '/', caller('192.0.2.9', 'ada')), 'X CredentialsID')
  })

  // Covers rate limiting: limiterMappings[].withCallerRemoteAddressID; limiterMappings[].withoutCallerID
  it('falls back to the address, then to withoutCallerID', () => {
    const limits = { withCallerCredentialsID: rate(1), withCallerRemoteAddressID: rate(1), withoutCallerID: rate(1) }
    const limiter = opened(everything(limits))
    assert.equal(judge(limiter, '/', ADA), 'passed')
    assert.equal(judge(limiter, '/', caller('192.0.2.1')), 'passed')
    assert.equal(judge(limiter, '/', caller('192.0.2.1')), 'X RemoteAddressID')
    const nameless = opened(everything({ withCallerCredentialsID: rate(1), withoutCallerID: rate(1) }))
    assert.equal(judge(nameless, '/', caller('192.0.2.1')), 'passed')
    assert.equal(judge(nameless, '/', caller('192.0.2.2')), 'X NoID')
    assert.equal(judge(nameless, '/', ADA), 'passed')
  })

  const nested = (path: LimiterMapping['limits'], all: LimiterMapping['limits']): readonly LimiterMapping[] => [
    { name: 'All', selectors: selectors('all'), limits: all },
    { name: 'Path', selectors: selectors('equals:/p'), limits: path },
  ]
  const one = { withCallerRemoteAddressID: rate(1), global: rate(1) }
  const orders = [
    { name: 'the caller of the path', mappings: nested(one, one), want: 'Path RemoteAddressID' },
    { name: 'the caller of all', mappings: nested({ global: rate(1) }, one), want: 'All RemoteAddressID' },
    {
      name: 'all callers of the path',
      mappings: nested({ global: rate(1) }, { global: rate(1) }),
      want: 'Path Global',
    },
    {
      name: 'all callers of all paths',
      mappings: nested({ global: rate(9) }, { global: rate(1) }),
      want: 'All Global',
    },
  ]
  for (const { name, mappings, want } of orders) {
    it(`applies limits in order: ${name}`, () => {
      const limiter = opened(mappings)
      assert.equal(judge(limiter, '/p'), 'passed')
      assert.equal(judge(limiter, '/p'), want)
    })
  }

  it('does not count refused requests', () => {
    const limiter = opened(nested({ withCallerRemoteAddressID: rate(1) }, { global: rate(2) }))
    assert.equal(judge(limiter, '/p', ADA), 'passed')
    for (let i = 0; i < 5; i += 1) assert.equal(judge(limiter, '/p', ADA), 'Path RemoteAddressID')
    assert.equal(judge(limiter, '/p', BOB), 'passed')
    assert.equal(judge(limiter, '/other', BOB), 'All Global')
  })

  it('counts once for a mapping with two matching selectors', () => {
    const limiter = opened([{ name: 'X', selectors: selectors('all', 'equals:/p'), limits: { global: rate(2) } }])
    assert.deepEqual(
      [judge(limiter, '/p'), judge(limiter, '/p'), judge(limiter, '/p')],
      ['passed', 'passed', 'X Global'],
    )
  })

  it('evicts the oldest caller beyond the maximum', () => {
    const limiter = opened(everything({ withCallerRemoteAddressID: rate(1, 1800) }))
    assert.equal(judge(limiter, '/', caller('first')), 'passed')
    assert.equal(judge(limiter, '/', caller('first')), 'X RemoteAddressID')
    for (let i = 0; i < 20_000; i += 1) assert.equal(judge(limiter, '/', caller(`other ${i}`)), 'passed')
    assert.equal(judge(limiter, '/', caller('first')), 'passed')
    assert.equal(judge(limiter, '/', caller('other 19999')), 'X RemoteAddressID')
  })
})

describe('`pathBelow`', () => {
  const cases = [
    ['/oauth/token', '', '/oauth/token'],
    ['/oauth/token?a=/b', '', '/oauth/token'],
    ['/oauth/token#x', '', '/oauth/token'],
    ['/oauth/%74oken', '', '/oauth/token'],
    ['/oauth/%zz', '', '/oauth/%zz'],
    ['/uaa/oauth/token', '/uaa', '/oauth/token'],
    ['/uaa', '/uaa', '/'],
    ['/uaa/', '/uaa', '/'],
    ['/uaanother', '/uaa', '/uaanother'],
    ['*', '', '*'],
  ] as const
  for (const [url, basePath, want] of cases) {
    it(`returns ${want} for ${url} below "${basePath}"`, () => assert.equal(pathBelow(url, basePath), want))
  }
})

const ratelimit = {
  credentialID: 'JWTjsonField:1:sub',
  limiterMappings: [
    {
      name: 'Info',
      pathSelectors: ['equals:/info'],
      withCallerCredentialsID: '1r/60s',
      withCallerRemoteAddressID: '2r/60s',
    },
    { name: 'Tokens', pathSelectors: ['startsWith:/oauth/token'], global: '0r/s' },
    { name: 'Status', pathSelectors: ['equals:/RateLimitingStatus'], global: '0r/s' },
  ],
}
const LIMITED = (name: string, type: string): string =>
  `{"error":"429 - Too Many Request - Request limited by Rate Limiter configuration: Name: ${name} Type: ${type}"}`

for (const mode of MODES) {
  describe(`Rate limits in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: { ratelimit, listen: { trusted_proxies: ['127.0.0.1'] } } })
    })
    beforeEach(() => server.clock.advance(3600))
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })
    const info = (headers: Readonly<Record<string, string>> = {}) => server.send('/info', { headers })

    // Covers error body: error: 429 of the rate limit
    // Covers rate limiting: error: 429
    it('answer 429 as JSON with mapping and type', async () => {
      assert.equal((await info()).status, 200)
      assert.equal((await info()).status, 200)
      const answer = await info()
      assert.equal(answer.status, 429)
      assert.equal(answer.text, LIMITED('Info', 'RemoteAddressID'))
      assert.match(String(answer.headers['content-type']), /^application\/json\b/)
      assert.equal(answer.headers['retry-after'], '60')
      assert.equal(answer.headers['cache-control'], 'no-store')
      assert.equal(answer.headers['x-content-type-options'], 'nosniff')
      server.clock.advance(60)
      assert.equal((await info()).status, 200)
    })

    it('answer 429 as a page', async () => {
      for (const _ of [1, 2]) await info()
      const answer = await info({ accept: 'text/html,*/*' })
      assert.equal(answer.status, 429)
      assert.match(String(answer.headers['content-type']), /^text\/html\b/)
      assert.match(answer.text, /Too many requests/)
      assert.match(String(answer.headers['cache-control']), /no-store/)
      assert.equal(answer.headers['x-frame-options'], 'DENY')
    })

    it('apply before zone look-up and authentication', async () => {
      const audited = server.events.length
      const answer = await server.token(
        { grant_type: 'client_credentials' },
        { basic: SERVICE, host: 'no.zone.localhost' },
      )
      assert.equal(answer.status, 429)
      assert.equal(answer.text, LIMITED('Tokens', 'Global'))
      assert.equal(server.events.length, audited)
    })

    it('cannot be bypassed by another spelling of the path', async () => {
      for (const path of [
        '/oauth/token?x=1',
        '/oauth/%74oken',
        '/%6fauth/token',
        '/z/default/oauth/token',
        '/oauth/token/x',
      ]) {
        assert.equal((await server.send(path, { method: 'POST' })).status, 429, path)
      }
    })

    it('send CORS headers with 429, and do not apply to preflights', async () => {
      const answer = await server.send('/oauth/token', { method: 'POST', headers: { origin: 'https://spa.example' } })
      assert.equal(answer.status, 429)
      assert.equal(answer.headers['access-control-allow-origin'], '*')
      const preflight = await server.send('/oauth/token', {
        method: 'OPTIONS',
        headers: {
          origin: 'https://spa.example',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization',
        },
      })
      assert.equal(preflight.status, 200)
    })

    it('count callers with unverified tokens by address', async () => {
      const tokenOf = (sub: string) => `Bearer x.${Buffer.from(JSON.stringify({ sub })).toString('base64url')}.x`
      assert.equal((await info({ authorization: tokenOf('ada') })).status, 200)
      assert.equal((await info({ authorization: tokenOf('bob') })).status, 200)
      assert.equal((await info({ authorization: tokenOf('eve') })).text, LIMITED('Info', 'RemoteAddressID'))
    })

    it('count callers with the same id per zone', async () => {
      const clients = [callerWith('same', 'svc.none'), callerWith('other', 'svc.none')]
      const zone = { id: 'z1', subdomain: 'one', name: 'One', bootstrap: { clients } }
      const limited = { ...ratelimit, limiterMappings: ratelimit.limiterMappings.slice(0, 1) }
      const bootstrap = { ...defaultBootstrap, clients, identity_zones: [zone] }
      const server = await startServer({ mode, config: { ratelimit: limited, bootstrap } })
      const asCaller = async (id: string, host: string): Promise<number> => {
        const bearer = await tokenOf(server, id, host)
        await server.send('/userinfo', { bearer, host }) // verified there
        return (await server.send('/info', { bearer, host })).status
      }
      const hosts = ['one.localhost:8080', 'localhost:8080']
      for (const host of hosts) assert.equal(await asCaller('same', host), 200, host)
      for (const host of hosts) assert.equal(await asCaller('same', host), 429, host)
      assert.equal(await asCaller('other', 'one.localhost:8080'), 200)
      await server.stop()
    })

    // Partly covers rate limiting: caller address headers
    it('use the address that a trusted proxy appends to X-Forwarded-For', async () => {
      const from = async (forwarded: string) => (await info({ 'x-forwarded-for': forwarded })).status
      for (const claimed of ['10.1.1.1, ', '10.1.1.2,', '']) {
        const status = await from(`${claimed}198.51.100.7`)
        assert.equal(status, claimed === '' ? 429 : 200, claimed)
      }
      assert.equal(await from('198.51.100.8'), 200)
      assert.equal(await from('2001:db8:1:2::1'), 200)
      assert.equal(await from('2001:db8:1:2::2'), 200)
      assert.equal(await from('2001:db8:1:2:3::3'), 429, 'an IPv6 /64 is one caller')
    })

    it('ignore X-Client-IP and X-Real-IP', async () => {
      const statuses: number[] = []
      for (const address of ['10.2.2.1', '10.2.2.2', '10.2.2.3']) {
        statuses.push((await info({ 'x-client-ip': address, 'x-real-ip': address })).status)
      }
      assert.deepEqual(statuses, [200, 200, 429])
    })
  })
}

describe('Rate limits without trusted proxies', () => {
  it('use the address of the connection, regardless of headers', async () => {
    const server = await startServer({ config: { ratelimit } })
    try {
      const statuses: number[] = []
      for (const address of ['10.3.3.1', '10.3.3.2', '10.3.3.3']) {
        const headers = { 'x-forwarded-for': address, forwarded: `for=${address}`, 'x-client-ip': address }
        statuses.push((await server.send('/info', { headers })).status)
      }
      assert.deepEqual(statuses, [200, 200, 429])
    } finally {
      await server.stop()
    }
  })
})

describe('Caller address behind a trusted proxy', () => {
  it('is recorded in the audit trail', async () => {
    const server = await startServer({ config: { listen: { trusted_proxies: ['127.0.0.0/8'] } } })
    try {
      const request = { basic: SERVICE, headers: { 'x-forwarded-for': '203.0.113.5, 198.51.100.7' } }
      assert.equal((await server.token({ grant_type: 'client_credentials' }, request)).status, 200)
      const event = server.events.find(({ type }) => type === 'ClientAuthenticationSuccess')
      assert.equal(event?.remoteAddress, '198.51.100.7')
      const unusual = { basic: SERVICE, headers: { 'x-forwarded-for': '198.51.100.7, 0x7f.1' } }
      assert.equal((await server.token({ grant_type: 'client_credentials' }, unusual)).status, 200)
      const { remoteAddress } = server.events.findLast(({ type }) => type === 'ClientAuthenticationSuccess') ?? {}
      assert.equal(remoteAddress, '0x7f.1', 'another spelling does not match a trusted proxy')
    } finally {
      await server.stop()
    }
  })

  it('has no port, also behind proxies that append ports', async () => {
    const bootstrap = {
      ...defaultBootstrap,
      clients: [...defaultBootstrap.clients, callerWith('root', 'clients.admin')],
    }
    const listen = { trusted_proxies: ['127.0.0.0/8', 'fd00::/8'] }
    const server = await startServer({ config: { listen, bootstrap } })
    try {
      for (const [forwarded, want] of [
        ['198.51.100.7:50123', '198.51.100.7'],
        ['198.51.100.7:50123, 127.1.2.3:50124, [fd00::7]:443', '198.51.100.7'],
        ['[2001:DB8::7]:50123', '2001:db8::7'],
        ['::ffff:198.51.100.7', '198.51.100.7'],
        ['127.1.2.3:50124, unknown', 'unknown'],
      ] as const) {
        const request = { basic: SERVICE, headers: { 'x-forwarded-for': forwarded } }
        assert.equal((await server.token({ grant_type: 'client_credentials' }, request)).status, 200)
        const { remoteAddress } = server.events.findLast(({ type }) => type === 'ClientAuthenticationSuccess') ?? {}
        assert.equal(remoteAddress, want)
      }
      const headers = { 'x-forwarded-for': '198.51.100.7:50123' }
      const from = (type: string): unknown => server.events.findLast(event => event.type === type)?.remoteAddress
      const bearer = await tokenOf(server, 'root')
      const record = { client_id: 'new', client_secret: 'secret', authorized_grant_types: ['client_credentials'] }
      assert.equal((await sendJson(server, 'POST', '/oauth/clients', record, { bearer, headers })).status, 201)
      assert.equal(from('ClientCreateSuccess'), '198.51.100.7')
      const form = { token: bearer }
      assert.equal((await server.send('/oauth/revoke', { basic: ['root', 'root-secret'], form, headers })).status, 200)
      assert.equal(from('TokenRevocationEvent'), '198.51.100.7')
      await server.send('/saml/SSO/alias/nobody', { form: { SAMLResponse: 'PHg+' }, headers })
      assert.equal(from('IdentityProviderAuthenticationFailure'), '198.51.100.7')
    } finally {
      await server.stop()
    }
  })
})

describe('Log of the rate limiter', () => {
  const cases = [
    { loggingOption: 'OnlyLimited', want: ['rate limit: GET /info limited by Info (RemoteAddressID)'] },
    {
      loggingOption: 'AllCalls',
      want: [
        'rate limit: GET /info let through',
        'rate limit: GET /info let through',
        'rate limit: GET /info limited by Info (RemoteAddressID)',
        'rate limit: GET /healthz let through',
      ],
    },
    {
      loggingOption: 'AllCallsWithDetails',
      want: [
        'rate limit: GET /info let through [Info: withCallerCredentialsID withCallerRemoteAddressID]',
        'rate limit: GET /info let through [Info: withCallerCredentialsID withCallerRemoteAddressID]',
        'rate limit: GET /info limited by Info (RemoteAddressID) [Info: withCallerCredentialsID withCallerRemoteAddressID]',
        'rate limit: GET /healthz let through [no limit]',
      ],
    },
  ]
  for (const { loggingOption, want } of cases) {
    // Covers rate limiting: loggingOption
    it(`has the lines of ${loggingOption}`, async () => {
      const server = await startServer({ config: { ratelimit: { ...ratelimit, loggingOption } } })
      try {
        for (const path of ['/info?secret=1', '/info', '/info', '/healthz']) await server.send(path)
        assert.deepEqual(
          server.lines.filter(line => line.startsWith('rate limit')),
          want,
        )
      } finally {
        await server.stop()
      }
    })
  }
})

describe('Failing rate limiter', () => {
  const settings = {
    logging: 'OnlyLimited',
    mappings: [{ name: 'X', selectors: selectors('all'), limits: { global: rate(1) } }],
  } as const

  /** Two requests for HTML, and the faults that were logged. */
  async function twice(deps: { clock: Clock; error: () => Promise<never> }) {
    const faults: string[] = []
    const app = fastify()
    const hook = createRateLimitHook({
      verifiedTokens: { zoneOf: () => 'svc' },
      settings,
      clock: deps.clock,
      urls: createUrls('http://localhost:8080', behaviourOf('standard')),
      pages: { error: deps.error },
      ownAnswerTo: () => undefined,
      log: { info: () => {}, fault: message => void faults.push(message) },
    })
    app.addHook('onRequest', hook)
    app.get('/', () => 'served')
    const statuses: number[] = []
    for (const _ of [1, 2]) {
      statuses.push((await app.inject({ url: '/', headers: { accept: 'text/html' } })).statusCode)
    }
    await app.close()
    return { statuses, faults }
  }
  const error = () => Promise.reject(new Error('no page'))

  it('lets requests through', async () => {
    const clock = {
      now: () => {
        throw new Error('no time')
      },
    }
    const failed = 'the rate limiter failed'
    assert.deepEqual(await twice({ clock, error }), { statuses: [200, 200], faults: [failed, failed] })
  })

  it('answers without a page if rendering fails', async () => {
    const faults = ['an error page could not be rendered']
    assert.deepEqual(await twice({ clock: createTestClock(), error }), { statuses: [200, 429], faults })
  })
})
