import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { DEFAULT_ENDPOINTS } from '../../src/model/zones/limited-mode.ts'
import { loadText, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()
const load = (text: string) => loadText(folder, text)

describe('Operational settings', () => {
  it('have defaults without statistics and without a delay at shutdown', async () => {
    for (const text of ['{}', 'uaa: { health: { db: {} }, shutdown: {} }\nmetrics: {}\nstatsd: {}']) {
      assert.deepEqual((await load(text)).operations, { probeMilliseconds: 10_000, stoppingMilliseconds: 0 })
    }
  })

  // Covers configuration file: uaa.health.db.rate; statsd; metrics
  it('have UAA’s keys', async () => {
    const { operations } = await load(`uaa: { health: { db: { rate: 500 } }, shutdown: { sleep: 3000 } }
statsd: { enabled: true, host: stats.example, port: 9125 }
metrics: { perRequestMetrics: true }`)
    assert.deepEqual(operations, {
      probeMilliseconds: 500,
      stoppingMilliseconds: 3000,
      statsd: { host: 'stats.example', port: 9125, perRequest: true },
    })
  })

  it('send statistics to localhost by default', async () => {
    const { operations } = await load('statsd: { enabled: true }')
    assert.deepEqual(operations.statsd, { host: 'localhost', port: 8125, perRequest: false })
  })

  it('find the limited mode’s status file relative to the configuration, and have default lists', async () => {
    const limited = async (text: string) =>
      (await load(`uaa: { limitedFunctionality: ${text} }`)).operations.limitedMode
    assert.deepEqual(await limited('{ statusFile: state/limited }'), {
      statusFile: join(folder, 'state/limited'),
      endpoints: DEFAULT_ENDPOINTS,
      methods: ['GET', 'HEAD', 'OPTIONS'],
    })
    assert.deepEqual(
      await limited('{ statusFile: /run/limited, whitelist: { endpoints: [/oauth/token], methods: [get, Post] } }'),
      { statusFile: '/run/limited', endpoints: ['/oauth/token'], methods: ['GET', 'POST'] },
    )
    assert.equal(await limited('{ whitelist: { methods: [GET] } }'), undefined)
  })

  it('send no statistics if metrics are off', async () => {
    const { operations } = await load('statsd: { enabled: true }\nmetrics: { enabled: false }')
    assert.equal(operations.statsd, undefined)
  })

  const refused = [
    {
      name: 'times out of range',
      text: 'uaa: { health: { db: { rate: 99 } }, shutdown: { sleep: -1 } }',
      want: ['uaa.health.db.rate: must be at least 100', 'uaa.shutdown.sleep: must be at least 0'],
    },
    {
      name: 'wrong types',
      text: 'uaa: []\nstatsd: { enabled: 1, port: "x", host: "" }\nmetrics: x',
      want: [
        'uaa: must be a mapping',
        'metrics: must be a mapping',
        'statsd.enabled: must be true or false',
        'statsd.host: must not be empty',
        'statsd.port: must be a whole number',
      ],
    },
    {
      name: 'invalid lists of the limited mode',
      text: 'uaa: { limitedFunctionality: { statusFile: "", whitelist: { endpoints: [oauth, /a*b, /**/c], methods: ["G T"] } } }',
      want: [
        'uaa.limitedFunctionality.statusFile: must not be empty',
        'uaa.limitedFunctionality.whitelist.endpoints[0]: must be a path that begins with /, such as /oauth/token or /login/**',
        'uaa.limitedFunctionality.whitelist.endpoints[1]: must be a path that begins with /, such as /oauth/token or /login/**',
        'uaa.limitedFunctionality.whitelist.endpoints[2]: must be a path that begins with /, such as /oauth/token or /login/**',
        'uaa.limitedFunctionality.whitelist.methods[0]: must have letters only',
      ],
    },
    { name: 'an unknown key', text: 'uaa: { url: http://x }', want: ['uaa.url: is not a known key'] },
  ]
  for (const { name, text, want } of refused) {
    it(`reject ${name}`, async () => {
      assert.deepEqual((await problemsOf(load(text))).toSorted(), want.toSorted())
    })
  }
})

describe('listen.trusted_proxies', () => {
  const proxies = (list: unknown) => load(`listen: { trusted_proxies: ${JSON.stringify(list)} }`)

  // Covers configuration file: listen.trusted_proxies
  it('is a list of addresses and blocks', async () => {
    const list = ['10.0.0.1', '10.0.0.0/8', '192.0.2.7/32', '::1', 'fd00::/8', '2001:db8::1/128']
    assert.deepEqual((await proxies(list)).listen.trustedProxies, list)
    assert.deepEqual((await proxies([])).listen.trustedProxies, [])
  })

  const bad = ['', 'proxy.example', 'loopback', '10.0.0', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/x', '10.0.0.0/8/8']
  for (const block of [...bad, '10.0.0.0/255.0.0.0', 'fd00::/129', 'fe80::1%eth0', '/8', '10.0.0.0/08']) {
    it(`rejects ${JSON.stringify(block)}`, async () => {
      assert.deepEqual(await problemsOf(proxies(['10.0.0.1', block])), [
        'listen.trusted_proxies[1]: must be an IP address or a block such as 10.0.0.0/8',
      ])
    })
  }

  for (const block of ['0.0.0.0/0', '::/0', '10.0.0.0/00']) {
    it(`rejects a block of all addresses: ${block}`, async () => {
      assert.deepEqual(await problemsOf(proxies([block])), [
        'listen.trusted_proxies[0]: would let every caller spoof its address',
      ])
    })
  }

  it('must be a list', async () => {
    assert.deepEqual(await problemsOf(proxies('10.0.0.1')), ['listen.trusted_proxies: must be a list'])
    assert.deepEqual(await problemsOf(proxies([1])), ['listen.trusted_proxies[0]: must be a string: put it in quotes'])
  })
})
