import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { decodeProtectedHeader } from 'jose'
import { readKeyMaterial } from '../../../src/model/tokens/key-material.ts'
import { sealedKey } from '../../../src/token/keys/zone-key.ts'
import { createRandom } from '../../../src/base/random.ts'
import { createVault } from '../../../src/base/secrets.ts'
import { openSamlKey } from '../../../src/zones/saml-keys.ts'
import { certificateOf } from '../../support/certificate.ts'
import { privatePem } from '../../support/config.ts'
import { KEYS, textOf } from '../../support/keys.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import type { ZoneAnswer } from '../../support/zones.ts'
import { sendJson, startZoneServer, tokenOf } from '../../support/zones.ts'

const rsa = textOf(KEYS.RS256)
const ec = textOf(KEYS.ES256)
const secret = textOf(KEYS.HS256)
const otherEc = privatePem('ec', 'P-256')
const PREFIX = 'The identity zone details are invalid. The zone configuration is invalid. '

/** Encrypts a PEM key with the passphrase. */
const encrypted = (pem: string, passphrase: string): string =>
  createPrivateKey(pem).export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase }).toString()

let server: TestServer
let bearer: string
let count = 0
before(async () => {
  server = await startZoneServer()
  bearer = await tokenOf(server, 'writer')
})
after(async () => {
  assert.deepEqual(server.faults, [])
  await server.stop()
})

function post(config: unknown): Promise<TestAnswer> {
  count += 1
  const body = { id: `k${count}`, subdomain: `k${count}`, name: 'x', config }
  return sendJson(server, 'POST', '/identity-zones', body, { bearer })
}
async function created(config: unknown): Promise<ZoneAnswer> {
  const answer = await post(config)
  assert.equal(answer.status, 201, answer.text)
  return answer.json<ZoneAnswer>()
}
const put = ({ id, subdomain, name }: ZoneAnswer, config: unknown): Promise<TestAnswer> =>
  sendJson(server, 'PUT', `/identity-zones/${id}`, { subdomain, name, config }, { bearer })
const problemOf = (answer: TestAnswer): string =>
  `${answer.status} ${String(answer.json()['error_description']).replace(PREFIX, '')}`

/** A token of a client of the zone, which is created if missing. */
async function tokenIn({ id, subdomain }: ZoneAnswer): Promise<string> {
  const client = {
    client_id: 'app',
    client_secret: 'secret',
    authorized_grant_types: ['client_credentials'],
    scope: ['openid'],
    authorities: ['svc.resource'],
    allowedproviders: ['svc'],
  }
  await sendJson(server, 'POST', `/identity-zones/${id}/clients`, client, { bearer })
  const request = { basic: ['app', 'secret'] as const, host: `${subdomain}.localhost:8080` }
  const answer = await server.token({ grant_type: 'client_credentials' }, request)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<{ access_token: string }>().access_token
}

async function isGood({ subdomain }: ZoneAnswer, token: string): Promise<boolean> {
  const request = { basic: ['app', 'secret'] as const, host: `${subdomain}.localhost:8080` }
  return (await server.send('/introspect', { form: { token }, ...request })).json()['active'] === true
}

const keyIds = async ({ id }: ZoneAnswer): Promise<readonly string[]> =>
  (await server.store.keys.list(id)).map(({ keyId, active }) => (active ? `${keyId}*` : keyId))

describe('Zone signing keys', () => {
  // Covers Zone config in effect: tokenPolicy.keys.<id>.signingKey
  it('sign tokens, and are never returned', async () => {
    const tokenPolicy = { keys: { k1: { signingKey: rsa }, k2: { signingKey: secret } }, activeKeyId: 'k1' }
    const answer = await post({ tokenPolicy })
    const zone = answer.json<ZoneAnswer>()
    assert.equal(zone.config['tokenPolicy']?.['activeKeyId'], 'k1')
    assert.ok(!('keys' in (zone.config['tokenPolicy'] ?? {})))
    const { kid, alg } = decodeProtectedHeader(await tokenIn(zone))
    assert.deepEqual([kid, alg], ['k1', 'RS256'])
    const everything = JSON.stringify([
      answer.text,
      await server.store.zones.read(zone.id),
      await server.store.keys.list(zone.id),
      server.events,
    ])
    assert.ok(!everything.includes(secret))
    assert.ok(!everything.includes(rsa.split('\n')[1] ?? ''))
  })

  it('support signingAlg and signingCert', async () => {
    const keys = { k1: { signingKey: rsa, signingAlg: 'PS512', signingCert: certificateOf(rsa) } }
    const zone = await created({ tokenPolicy: { keys, activeKeyId: 'k1' } })
    assert.equal(decodeProtectedHeader(await tokenIn(zone)).alg, 'PS512')
    const published = await server.send('/token_keys', { host: `${zone.subdomain}.localhost:8080` })
    assert.ok(published.text.includes('x5c'))
  })

  it('default to the first as active key', async () => {
    const zone = await created({ tokenPolicy: { keys: { b: { signingKey: ec }, a: { signingKey: rsa } } } })
    assert.equal(zone.config['tokenPolicy']?.['activeKeyId'], 'b')
  })

  // Covers PUT /identity-zones/{id}: rule: write-only members are kept
  it('are kept if omitted, and another can become active', async () => {
    const keys = { k1: { signingKey: rsa }, k2: { signingKey: ec } }
    const zone = await created({ tokenPolicy: { keys, activeKeyId: 'k1' } })
    const first = await tokenIn(zone)
    for (const tokenPolicy of [undefined, null, {}, { keys: {} }, { keys: null }, zone.config['tokenPolicy']]) {
      const changed = await put(zone, { tokenPolicy })
      assert.equal(changed.json<ZoneAnswer>().config['tokenPolicy']?.['activeKeyId'], 'k1', changed.text)
    }
    const changed = await put(zone, { tokenPolicy: { activeKeyId: 'k2' } })
    assert.equal(changed.json<ZoneAnswer>().config['tokenPolicy']?.['activeKeyId'], 'k2')
    assert.deepEqual(await keyIds(zone), ['k1', 'k2*'])
    assert.equal(decodeProtectedHeader(await tokenIn(zone)).kid, 'k2')
    assert.equal(await isGood(zone, first), true)
  })

  // Covers signing keys: zone tokenPolicy.keys
  it('are replaced, and tokens of removed keys are rejected', async () => {
    const keys = { k1: { signingKey: rsa }, k2: { signingKey: ec } }
    const zone = await created({ tokenPolicy: { keys, activeKeyId: 'k1' } })
    const first = await tokenIn(zone)
    const changed = await put(zone, { tokenPolicy: { keys: { k2: { signingKey: ec }, k3: { signingKey: otherEc } } } })
    assert.equal(changed.status, 200, changed.text)
    assert.deepEqual(await keyIds(zone), ['k2*', 'k3'])
    assert.equal(await isGood(zone, first), false)
    assert.equal(await isGood(zone, await tokenIn(zone)), true)
  })

  it('added by the CLI are not active until activeKeyId selects one', async () => {
    const zone = await created({})
    assert.equal(decodeProtectedHeader(await tokenIn(zone)).kid, (await server.app.keys.active('svc')).keyId)
    assert.deepEqual(await server.store.keys.list(zone.id), [], 'the zone signs with the key of the default zone')
    // Like `latchkey keys add` for the zone.
    const place = { zoneId: zone.id, keyId: 'added', active: false, createdAt: server.clock.now() }
    const material = readKeyMaterial({ text: rsa })
    assert.ok('privateKey' in material)
    const made = sealedKey(place, material, createVault(Buffer.alloc(32, 7), createRandom())) // the test server's vault
    await server.store.keys.insert(zone.id, made)
    const read = async () =>
      (await server.send(`/identity-zones/${zone.id}`, { bearer })).json<ZoneAnswer>().config['tokenPolicy']
    assert.equal((await read())?.['activeKeyId'], null)
    const answer = await put(zone, { issuer: 'https://issuer.example' })
    assert.equal(
      problemOf(answer),
      '422 You cannot set issuer value unless you have set your own signing key for this identity zone.',
    )
    const chosen = await put(zone, { issuer: 'https://issuer.example', tokenPolicy: { activeKeyId: made.keyId } })
    assert.equal(chosen.json<ZoneAnswer>().config.issuer, 'https://issuer.example')
    assert.equal((await read())?.['activeKeyId'], made.keyId)
  })

  it('allow an issuer for the zone', async () => {
    const zone = await created({ issuer: 'https://own.example', tokenPolicy: { keys: { k1: { signingKey: ec } } } })
    assert.equal(zone.config.issuer, 'https://own.example')
    const [, payload = ''] = (await tokenIn(zone)).split('.')
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString())
    assert.equal(Reflect.get(Object(claims), 'iss'), 'https://own.example')
  })

  it('allow URLs of the zone as issuer, by host and by path, but no other URL of this server', async () => {
    const id = 'own-issuer'
    const keys = { tokenPolicy: { keys: { k1: { signingKey: ec } } } }
    const zone = await created(keys)
    for (const issuer of [`http://${zone.subdomain}.localhost:8080`, `http://localhost:8080/z/${zone.subdomain}`]) {
      assert.equal((await put(zone, { issuer, ...keys })).status, 200, issuer)
    }
    for (const issuer of [
      'http://localhost:8080',
      'http://localhost:8080/',
      'http://localhost:8080/oauth/token',
      'https://LOCALHOST',
      'http://localhost:9999/uaa',
      'http://localhost./',
      'http://127.0.0.1:8080',
      'http://0x7f.1:8080',
      'http://[::1]:8080/',
      'http://one.localhost:8080',
      'http://One.LocalHost:8080/oauth/token/',
      'http://localhost:8080/z/one',
      'http://localhost:8080/z/default/',
      `http://${zone.subdomain}.localhost:8080/`,
      `http://${zone.subdomain}.localhost:8080/z/one`,
    ]) {
      const want = '422 The issuer must not be a URL of this server, or of another zone.'
      assert.equal(problemOf(await put(zone, { issuer, ...keys })), want, issuer)
      const body = { id, subdomain: id, name: 'x', config: { issuer, ...keys } }
      const answer = await sendJson(server, 'POST', '/identity-zones', body, { bearer })
      assert.equal(problemOf(answer), want, issuer)
    }
    for (const issuer of [
      'https://a@issuer.example',
      'https://a:b@localhost:8080',
      'https://@localhost:8080/',
      'https://issuer.example?x=1',
      'https://issuer.example#x',
      'https://issuer.example\\@localhost',
    ]) {
      const { status, text } = await put(zone, { issuer, ...keys })
      assert.ok([400, 422].includes(status), `${issuer}: ${text}`)
    }
  })

  it('do not allow the issuer of another zone, in any form and concurrently', async () => {
    const keys = { tokenPolicy: { keys: { k1: { signingKey: ec } } } }
    const want = '422 The issuer is that of another zone.'
    const owner = await created({ issuer: 'https://taken.example/a', ...keys })
    const rival = await created(keys)
    for (const issuer of [
      'https://taken.example/a',
      'http://TAKEN.example/a/',
      'https://taken.example/a/oauth/token',
    ]) {
      assert.equal(problemOf(await put(rival, { issuer, ...keys })), want, issuer)
      const body = { id: 'rival', subdomain: 'rival', name: 'x', config: { issuer, ...keys } }
      assert.equal(problemOf(await sendJson(server, 'POST', '/identity-zones', body, { bearer })), want, issuer)
    }
    assert.equal((await put(rival, { issuer: 'https://taken.example/b', ...keys })).status, 200)
    assert.equal((await put(owner, { issuer: 'https://taken.example/a', ...keys })).status, 200)
    const others = [rival, await created(keys)]
    const raced = await Promise.all(others.map(each => put(each, { issuer: 'https://raced.example', ...keys })))
    assert.deepEqual(
      raced.map(({ status }) => status).toSorted((x, y) => x - y),
      [200, 422],
    )
    // Stored by an import or an earlier version: the zone must stay manageable.
    const both = await server.store.zones.find(rival.id)
    assert.ok(both)
    await server.store.zones.update({ ...both, config: { ...both.config, issuer: 'https://taken.example/a' } })
    assert.equal((await put(owner, { issuer: 'https://taken.example/a', ...keys })).status, 200)
  })

  it('do not allow the former URL of a renamed zone as issuer', async () => {
    const zone = await created({ tokenPolicy: { keys: { k1: { signingKey: ec } } } })
    const issuer = `http://${zone.subdomain}.localhost:8080`
    assert.equal((await put(zone, { issuer })).status, 200)
    assert.equal((await put({ ...zone, subdomain: `${zone.subdomain}-renamed` }, { issuer })).status, 422)
  })

  it('may be shared secrets of the minimum length of their algorithm', async () => {
    for (const [signingAlg, length] of [
      ['HS256', 32],
      ['HS384', 48],
      ['HS512', 64],
    ] as const) {
      const keys = (bytes: number) => ({ keys: { k1: { signingKey: 'x'.repeat(bytes), signingAlg } } })
      const zone = await created({ tokenPolicy: keys(length) })
      const token = await tokenIn(zone)
      assert.equal(decodeProtectedHeader(token).alg, signingAlg)
      const host = `${zone.subdomain}.localhost:8080`
      const answer = await server.send('/introspect', { form: { token }, basic: ['app', 'secret'], host })
      assert.equal(answer.json()['active'], true)
      const problem = `${signingAlg} needs a secret of at least ${length} bytes, this one has ${length - 1}.`
      for (const refused of [
        await put(zone, { tokenPolicy: keys(length - 1) }),
        await post({ tokenPolicy: keys(length - 1) }),
      ]) {
        assert.equal(problemOf(refused), `422 signingKey of the token key 'k1': ${problem}`)
      }
    }
    assert.equal((await post({ tokenPolicy: { keys: { k1: { signingKey: 's3cret' } } } })).status, 422)
  })

  const short = (name: string, text: string) => ({ name, text })
  const refusals: readonly { name: string; tokenPolicy: object; want: string | RegExp }[] = [
    // Covers Zone config validation: active key unknown
    {
      name: 'an unknown active key',
      tokenPolicy: { keys: { k1: { signingKey: rsa } }, activeKeyId: 'k2' },
      want: '422 The specified active key ID is not present in the configured keys: k2',
    },
    {
      name: 'constructor as the active key',
      tokenPolicy: { keys: { k1: { signingKey: rsa } }, activeKeyId: 'constructor' },
      want: '422 The specified active key ID is not present in the configured keys: constructor',
    },
    ...[
      short('a public key', createPublicKey(rsa).export({ type: 'spki', format: 'pem' }).toString()),
      short('a certificate', certificateOf(rsa)),
      short('an encrypted key', encrypted(ec, 'x')),
      short('a small key', privatePem('rsa', 1024)),
      short('a broken key', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----'),
    ].map(({ name, text }) => ({
      name,
      tokenPolicy: { keys: { k1: { signingKey: text } } },
      want: /^422 signingKey of the token key 'k1': /,
    })),
    {
      name: 'an unknown algorithm',
      tokenPolicy: { keys: { k1: { signingKey: rsa, signingAlg: 'none' } } },
      want: /^422 signingAlg of the token key 'k1': /,
    },
    {
      name: 'the certificate of another key',
      tokenPolicy: { keys: { k1: { signingKey: ec, signingCert: certificateOf(otherEc) } } },
      want: /^422 signingCert of the token key 'k1': /,
    },
    {
      name: 'a key without signingKey',
      tokenPolicy: { keys: { k1: {} } },
      want: /^400 config\.tokenPolicy\.keys\.k1\./,
    },
    { name: 'a key that is a string', tokenPolicy: { keys: { k1: rsa } }, want: /^400 config\.tokenPolicy\.keys\.k1 / },
    { name: 'an empty key id', tokenPolicy: { keys: { '': { signingKey: ec } } }, want: /^400 / },
    {
      name: 'a key id of 256 characters',
      tokenPolicy: { keys: { ['x'.repeat(256)]: { signingKey: ec } } },
      want: /^400 /,
    },
    { name: 'a key id with a NUL character', tokenPolicy: { keys: { 'a\0': { signingKey: ec } } }, want: /^400 / },
    {
      name: 'a key of 8193 characters',
      tokenPolicy: { keys: { k1: { signingKey: 'x'.repeat(8193) } } },
      want: /^400 /,
    },
    {
      name: '21 keys',
      tokenPolicy: {
        keys: Object.fromEntries(Array.from({ length: 21 }, (_, number) => [`k${number}`, { signingKey: ec }])),
      },
      want: /^400 /,
    },
  ]
  for (const { name, tokenPolicy, want } of refusals) {
    it(`are rejected: ${name}`, async () => {
      const zone = await created({ tokenPolicy: { keys: { own: { signingKey: ec } } } })
      for (const answer of [await post({ tokenPolicy }), await put(zone, { tokenPolicy })]) {
        if (typeof want === 'string') assert.equal(problemOf(answer), want)
        else assert.match(problemOf(answer), want)
        assert.ok(!answer.text.includes('BEGIN'))
      }
      assert.deepEqual(await keyIds(zone), ['own*'])
      assert.equal(await server.store.zones.read(`k${count}`), undefined)
      assert.deepEqual(await server.store.keys.list(`k${count}`), [])
    })
  }

  it('are rejected: an unknown active key alone', async () => {
    const zone = await created({ tokenPolicy: { keys: { own: { signingKey: ec } } } })
    assert.equal(
      problemOf(await put(zone, { tokenPolicy: { activeKeyId: 'other' } })),
      '422 The specified active key ID is not present in the configured keys: other',
    )
  })
})

describe('Zone SAML keys', () => {
  const certificate = certificateOf(rsa)
  const pair = { key: rsa, certificate }
  const samlOf = (answer: TestAnswer) => answer.json<ZoneAnswer>().config['samlConfig']
  const vault = createVault(Buffer.alloc(32, 7), createRandom())

  /** The private key that the zone has for the id. */
  async function keptKey({ id }: ZoneAnswer, keyId: string): Promise<string | undefined> {
    const key = (await server.store.zones.read(id))?.zone.config.samlConfig?.keys?.[keyId]
    return key && openSamlKey(id, keyId, key, vault)
  }

  it('are stored encrypted, and returned without private keys', async () => {
    const ofEc = certificateOf(ec) // a new one each time
    const keys = {
      one: pair,
      two: { key: encrypted(ec, 'phrase'), passphrase: 'phrase', certificate: ofEc },
    }
    const answer = await post({ samlConfig: { activeKeyId: 'two', keys } })
    assert.equal(answer.status, 201, answer.text)
    const saml = samlOf(answer)
    assert.equal(saml?.['activeKeyId'], 'two')
    assert.deepEqual(saml['keys'], { one: { certificate }, two: { certificate: ofEc } })
    const zone = answer.json<ZoneAnswer>()
    assert.equal(await keptKey(zone, 'one'), rsa)
    assert.equal(await keptKey(zone, 'two'), ec)
    const stored = JSON.stringify(await server.store.zones.read(zone.id))
    for (const hidden of ['PRIVATE', 'phrase', rsa.split('\n')[1] ?? '']) {
      assert.ok(!stored.includes(hidden))
      assert.ok(!answer.text.includes(hidden))
    }
  })

  const PARTIAL = '422 Identity zone cannot be udpated with partial Saml CertKey config.'

  it('support the legacy form as the key legacy-saml-key', async () => {
    const form = { certificate, privateKey: encrypted(rsa, 'phrase'), privateKeyPassword: 'phrase' }
    const answer = await post({ samlConfig: form })
    const saml = samlOf(answer)
    assert.deepEqual(
      [saml?.['activeKeyId'], saml?.['certificate'], saml?.['keys']],
      ['legacy-saml-key', certificate, { 'legacy-saml-key': { certificate } }],
    )
    assert.ok(!('privateKey' in (saml ?? {})) && !('privateKeyPassword' in (saml ?? {})))
    const zone = answer.json<ZoneAnswer>()
    assert.equal(await keptKey(zone, 'legacy-saml-key'), rsa)
    const again = await put(zone, { samlConfig: saml })
    assert.deepEqual(samlOf(again), saml, again.text)
    assert.equal(await keptKey(zone, 'legacy-saml-key'), rsa)
    for (const change of [
      { certificate: certificateOf(ec) },
      { certificate: 'other' },
      { privateKeyPassword: 'phrase' },
    ]) {
      assert.equal(problemOf(await put(zone, { samlConfig: { ...saml, ...change } })), PARTIAL)
    }
    assert.equal(await keptKey(zone, 'legacy-saml-key'), rsa)
  })

  it('keep the private key if only the same certificate is sent, and are removed if omitted', async () => {
    const zone = await created({ samlConfig: { activeKeyId: 'one', keys: { one: pair, two: pair } } })
    const windows = certificate.replaceAll('\n', '\r\n')
    for (const back of [{ certificate }, { certificate: windows }, { certificate, key: '', passphrase: null }]) {
      const answer = await put(zone, { samlConfig: { activeKeyId: 'one', keys: { one: back } } })
      assert.equal(answer.status, 200, answer.text)
      assert.equal(await keptKey(zone, 'one'), rsa)
      assert.equal(await keptKey(zone, 'two'), undefined)
    }
    const answer = await put(zone, { samlConfig: {} })
    assert.deepEqual(samlOf(answer)?.['keys'], {})
  })

  const SECURITY = "422 There is a security problem with the SAML SP Key configuration for key 'one'."
  const one = (key: unknown) => ({ activeKeyId: 'one', keys: { one: key } })
  const refusals: readonly { name: string; samlConfig: object; want: string | RegExp }[] = [
    {
      name: 'an unknown active key',
      samlConfig: { activeKeyId: 'two', keys: { one: pair } },
      want: "422 Invalid SAML active key ID: 'two'. Couldn't find any matching keys.",
    },
    // Covers Zone config validation: SAML active key
    {
      name: 'keys without an active one',
      samlConfig: { keys: { one: pair } },
      want: "422 Invalid SAML active key ID: 'null'. Couldn't find any matching keys.",
    },
    // Covers Zone config validation: partial SAML key
    { name: 'a key without a certificate', samlConfig: one({ key: rsa }), want: PARTIAL },
    { name: 'a certificate without a key', samlConfig: one({ certificate: certificateOf(ec) }), want: PARTIAL },
    { name: 'an empty entry', samlConfig: one({}), want: PARTIAL },
    { name: 'the legacy form without a key', samlConfig: { certificate }, want: PARTIAL },
    { name: 'the legacy form without a certificate', samlConfig: { privateKey: rsa }, want: PARTIAL },
    // Covers Zone config validation: SAML key pair
    { name: 'the certificate of another key', samlConfig: one({ key: ec, certificate }), want: SECURITY },
    { name: 'an invalid key', samlConfig: one({ key: 'x', certificate }), want: SECURITY },
    { name: 'an invalid certificate', samlConfig: one({ key: rsa, certificate: 'x' }), want: SECURITY },
    { name: 'a private key as certificate', samlConfig: one({ key: rsa, certificate: rsa }), want: SECURITY },
    {
      name: 'a wrong passphrase',
      samlConfig: one({ key: encrypted(rsa, 'right'), passphrase: 'wrong', certificate }),
      want: SECURITY,
    },
    {
      name: 'no passphrase for an encrypted key',
      samlConfig: one({ key: encrypted(rsa, 'right'), certificate }),
      want: SECURITY,
    },
    { name: 'a list of keys', samlConfig: { keys: [] }, want: /^400 / },
    { name: 'a key of a wrong type', samlConfig: one({ key: 1, certificate }), want: /^400 / },
    {
      name: '21 keys',
      samlConfig: { keys: Object.fromEntries(Array.from({ length: 21 }, (_, number) => [`k${number}`, pair])) },
      want: /^400 /,
    },
  ]
  for (const { name, samlConfig, want } of refusals) {
    it(`are rejected: ${name}`, async () => {
      const zone = await created({ samlConfig: { activeKeyId: 'own', keys: { own: pair } } })
      for (const answer of [await post({ samlConfig }), await put(zone, { samlConfig })]) {
        if (typeof want === 'string') assert.equal(problemOf(answer), want)
        else assert.match(problemOf(answer), want)
        assert.ok(!answer.text.includes('PRIVATE'))
      }
      assert.equal(await keptKey(zone, 'own'), rsa)
    })
  }

  it('cannot be decrypted for another zone or key id', async () => {
    const zone = await created({ samlConfig: { activeKeyId: 'one', keys: { one: pair } } })
    const key = (await server.store.zones.read(zone.id))?.zone.config.samlConfig?.keys?.['one']
    assert.ok(key)
    assert.throws(() => openSamlKey('other', 'one', key, vault))
    assert.throws(() => openSamlKey(zone.id, 'two', key, vault))
  })
})
