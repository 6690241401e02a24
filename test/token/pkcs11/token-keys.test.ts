import assert from 'node:assert/strict'
import { constants, createPublicKey, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after, afterEach, before, describe, it } from 'node:test'
import { createLocalJWKSet, jwtVerify } from 'jose'
import type { JSONWebKeySet } from 'jose'
import { IN_TOKEN } from '../../../src/model/tokens/key-in-token.ts'
import { sealContexts } from '../../../src/model/seal-contexts.ts'
import type { SigningAlgorithm } from '../../../src/model/tokens/signing-key.ts'
import type { TokenKeys } from '../../../src/token/keys/signer.ts'
import { SigningUnavailable } from '../../../src/token/keys/signer.ts'
import { createTokenKeys } from '../../../src/token/pkcs11/token-keys.ts'
import { privatePem, temporaryFolder } from '../../support/config.ts'
import { KEYS } from '../../support/keys.ts'
import { passwordTokens, refresh } from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'
import type { TestToken } from '../../support/softhsm.ts'
import { makeToken, sessionProcesses, withoutSofthsm } from '../../support/softhsm.ts'

const pause = (milliseconds: number) => new Promise(resolve => setTimeout(resolve, milliseconds))

async function eventually(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 10_000
  while (!(await isSo())) {
    assert.ok(performance.now() < deadline)
    await pause(20)
  }
}

describe('Keys in a PKCS#11 token', { skip: withoutSofthsm }, () => {
  const folder = temporaryFolder()
  let token: TestToken
  const opened: TokenKeys[] = []
  /** The number of session processes of servers. */
  let servers = 0
  const lines: string[] = []
  const log = { info: (line: string) => void lines.push(line), warn: (line: string) => void lines.push(line) }

  before(() => {
    token = makeToken(folder)
    for (const [id, name] of Object.entries({ 1: 'RS256', 2: 'ES256', 3: 'ES384', 4: 'ES512', 5: 'EdDSA' } as const)) {
      const key = KEYS[name]
      if ('pem' in key) token.add(name, key.pem, `0${id}`)
    }
    token.add('other', privatePem('ec', 'P-256'), '0a')
  })
  afterEach(async () => {
    for (const keys of opened.splice(0)) keys.close()
    await eventually(() => sessionProcesses().length === servers)
  })

  const settings = (algorithm: SigningAlgorithm, more: object = {}) => {
    const { module, token: name, pin } = token
    const label = algorithm.replace(/^[RP]S.*/, 'RS256')
    return { algorithm, pkcs11: { module, token: name, label, pin, sessions: 1, ...more } }
  }
  function open(algorithm: SigningAlgorithm, more: object = {}, timeoutMilliseconds = 5000): TokenKeys {
    const keys = createTokenKeys({ key: settings(algorithm, more) }, { log, env: process.env, timeoutMilliseconds })
    opened.push(keys)
    return keys
  }
  const signerOf = async (keys: TokenKeys) => keys.signerOf('key', await keys.publicKeyOf('key'))

  const ecdsa = (bits: number) => ({ hash: `sha${bits}`, dsaEncoding: 'ieee-p1363' }) as const
  const pss = (bits: number) =>
    ({
      hash: `sha${bits}`,
      padding: constants.RSA_PKCS1_PSS_PADDING,
      saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
    }) as const
  const algorithms: readonly (readonly [SigningAlgorithm, { readonly hash: string | null }])[] = [
    ['RS256', { hash: 'sha256' }],
    ['PS384', pss(384)],
    ['ES256', ecdsa(256)],
    ['ES512', ecdsa(512)],
    ['EdDSA', { hash: null }],
  ]
  it('sign with every type of key', async () => {
    // Sequentially: several SoftHSM processes that start concurrently may not find the token.
    for (const [algorithm, { hash, ...how }] of algorithms) {
      const keys = open(algorithm)
      const publicKey = await keys.publicKeyOf('key')
      const signature = await keys.signerOf('key', publicKey)('header.payload')
      keys.close()
      const key = { key: createPublicKey(publicKey), ...how }
      assert.ok(verify(hash, Buffer.from('header.payload'), key, signature), algorithm)
    }
  })

  it('sign many texts concurrently with the allowed number of processes', async () => {
    const keys = open('ES256', { sessions: 2 })
    const sign = await signerOf(keys)
    const key = { key: createPublicKey(await keys.publicKeyOf('key')), ...ecdsa(256) }
    for (const round of ['first', 'second']) {
      const texts = Array.from({ length: 200 }, (_, index) => `${round} ${index}`)
      const signatures = await Promise.all(texts.map(sign))
      assert.ok(
        texts.every((text, index) => verify('sha256', Buffer.from(text), key, signatures[index] ?? Buffer.of())),
      )
    }
    await eventually(() => sessionProcesses().length === 2)
    const tooMany = Array.from({ length: 1001 }, () => sign('text').then(() => undefined, String))
    const refused = (await Promise.all(tooMany)).filter(each => each !== undefined)
    assert.deepEqual(refused, ['SigningUnavailable: signing key key: too many signatures are waiting'])
  })

  it('sign after a lost session without a failed request', async () => {
    const sign = await signerOf(open('ES256'))
    for (const pid of sessionProcesses()) process.kill(pid, 'SIGKILL')
    assert.equal((await sign('text')).length, 64)
  })

  it('sign in a new session if the token does not respond', async () => {
    const sign = await signerOf(open('ES256', {}, 700))
    const [pid = 0] = sessionProcesses()
    process.kill(pid, 'SIGSTOP')
    assert.equal((await sign('text')).length, 64, 'with a new session')
    assert.ok(!sessionProcesses().includes(pid))
  })

  const unusable = [
    {
      name: 'without the module',
      more: { module: '/nowhere/module.so' },
      problem: /module \/nowhere\/module\.so cannot be loaded/,
    },
    { name: 'without the token', more: { token: 'none' }, problem: /no token is named none$/ },
    { name: 'without the key', more: { label: 'none' }, problem: /the token latchkey has no private key none$/ },
  ]
  for (const { name, more, problem } of unusable) {
    it(`cannot be used ${name}`, async () => {
      await assert.rejects(open('ES256', more).publicKeyOf('key'), { name: 'SigningUnavailable', message: problem })
    })
  }

  it('are not used again with a PIN that the token refused', async () => {
    const keys = open('ES256', { pin: '9999' })
    const { length } = lines
    const refused = { message: /C_Login: CKR_PIN_INCORRECT$/ }
    await assert.rejects(keys.publicKeyOf('key'), refused)
    await eventually(() => sessionProcesses().length === 0)
    await pause(1100)
    const [first, second] = [keys.publicKeyOf('key'), keys.publicKeyOf('key')]
    assert.deepEqual(sessionProcesses(), [])
    await Promise.all([assert.rejects(first, refused), assert.rejects(second, refused)])
    assert.equal(lines.length, length + 1)
    assert.match(lines.at(-1) ?? '', /the PIN is not tried again until the server is restarted$/)
    assert.doesNotMatch(lines.at(-1) ?? '', /9999/)
  })

  it('of one token try a wrong PIN only once', async () => {
    const pin = '9999'
    const keys = createTokenKeys(
      { one: settings('ES256', { pin }), two: settings('ES384', { pin }) },
      { log, env: process.env },
    )
    opened.push(keys)
    const tried = new Set<number>()
    const watch = setInterval(() => sessionProcesses().forEach(pid => tried.add(pid)), 5)
    try {
      const refused = { message: /C_Login: CKR_PIN_INCORRECT$/ }
      await Promise.all(['one', 'two'].map(keyId => assert.rejects(keys.publicKeyOf(keyId), refused)))
    } finally {
      clearInterval(watch)
    }
    assert.equal(tried.size, 1)
  })

  it('are used by processes with the given environment only', async () => {
    const { SOFTHSM2_CONF } = process.env
    const before = sessionProcesses()
    const keys = createTokenKeys({ key: settings('ES256') }, { log, env: { SOFTHSM2_CONF } })
    opened.push(keys)
    await signerOf(keys)
    const pid = sessionProcesses().find(each => !before.includes(each))
    const names = readFileSync(`/proc/${pid}/environ`, 'utf8')
      .split('\0')
      .map(each => each.split('=')[0])
    assert.deepEqual(
      names.filter(name => name !== '' && !name?.startsWith('NODE_')),
      ['SOFTHSM2_CONF'],
    )
  })

  it('refuse to sign with the public key of another key', async () => {
    const publicKey = await open('ES256', { label: 'other' }).publicKeyOf('key')
    await assert.rejects(open('ES256').signerOf('key', publicKey)('text'), /another key labelled ES256/)
  })

  describe('of a server', () => {
    let server: TestServer
    const config = () => ({
      signing_keys: { active: 'one', keys: { one: { alg: 'ES256', pkcs11: settings('ES256').pkcs11 } } },
    })
    const machine = { basic: ['service', 'service-secret'] } as const
    const ask = () => server.token({ grant_type: 'client_credentials' }, machine)
    before(async () => {
      server = await startServer({ config: config() })
      servers = 1
    })
    after(async () => {
      await server.stop()
    })

    // Covers configuration file: signing_keys.keys.<id>.pkcs11
    it('sign verifiable tokens, and are not stored in the database', async () => {
      const { access_token: jwt } = (await ask()).json<{ access_token: string }>()
      const jwks = (await server.send('/token_keys')).json<JSONWebKeySet>()
      const { protectedHeader } = await jwtVerify(jwt, createLocalJWKSet(jwks), { currentDate: server.clock.now() })
      assert.deepEqual([protectedHeader.alg, protectedHeader.kid], ['ES256', 'one'])
      assert.equal('d' in (jwks.keys[0] ?? {}), false)
      const [record] = await server.store.keys.list('svc')
      assert.equal(server.vault.open(record?.sealedPrivateKey ?? '', sealContexts.signingKey('svc', 'one')), IN_TOKEN)
    })

    it('cause 503 while the token is unavailable', async () => {
      const before = server.lines.length
      token.unplug()
      try {
        for (const pid of sessionProcesses()) process.kill(pid, 'SIGKILL')
        const { status, headers, text } = await ask()
        assert.equal(status, 503)
        assert.equal(headers['retry-after'], '2')
        assert.deepEqual(JSON.parse(text), {
          error: 'temporarily_unavailable',
          error_description: 'Signing is unavailable. Retry later.',
        })
        assert.equal((await ask()).status, 503)
        assert.ok(server.faults.every(fault => fault instanceof SigningUnavailable))
        const [line] = server.lines.slice(before)
        assert.match(line ?? '', /^signing key one: the token cannot be used: C_Initialize: CKR_GENERAL_ERROR$/)
        assert.equal((await server.send('/token_keys')).status, 200)
        assert.equal((await server.send('/healthz')).status, 200)
      } finally {
        token.plug()
      }
      await eventually(async () => (await ask()).status === 200)
      assert.equal(server.lines.at(-1), 'signing key one: the token signs again')
      assert.equal(server.lines.length, before + 2)
    })

    it('keep refresh tokens valid while the token is unavailable', async () => {
      const { zones } = server.store
      const zone = (await zones.find('svc')) ?? assert.fail()
      const tokenPolicy = { refreshTokenRotate: true, refreshTokenUnique: true }
      await zones.update({ ...zone, config: { ...zone.config, tokenPolicy } })
      const { refresh_token: value } = await passwordTokens(server)
      const { tokens, users } = server.store
      const { id = '' } = (await users.findByName('svc', 'svc', 'marissa')) ?? {}
      const unused = async (): Promise<number> =>
        (await tokens.listOfUser('svc', id, new Date(0))).filter(({ kind }) => kind === 'refresh_token').length
      token.unplug()
      try {
        for (const pid of sessionProcesses()) process.kill(pid, 'SIGKILL')
        for (let attempt = 1; attempt <= 3; attempt += 1) {
          assert.equal((await refresh(server, value)).status, 503)
          assert.equal(await unused(), 1)
        }
      } finally {
        token.plug()
      }
      await eventually(async () => (await ask()).status === 200)
      assert.equal((await refresh(server, value)).status, 200)
    })

    it('cannot be used by a zone configuration', async () => {
      for (const signingAlg of ['RS256', 'HS256', undefined]) {
        const keys = { one: { signingKey: IN_TOKEN, ...(signingAlg && { signingAlg }) } }
        const zone = { id: 'z9', subdomain: 'z9', name: 'Z9', config: { tokenPolicy: { keys, activeKeyId: 'one' } } }
        await assert.rejects(
          startServer({ config: { bootstrap: { identity_zones: [zone] } } }),
          /signingKey: (?:is not an unencrypted private key in PEM|HS256 needs a secret)/,
        )
      }
    })

    const refused = [
      {
        name: 'does not exist',
        more: { label: 'none' },
        alg: 'ES256',
        problem: /the token latchkey has no private key none/,
      },
      {
        name: 'does not match its algorithm',
        more: { label: 'RS256' },
        alg: 'ES256',
        problem: /signing_keys\.keys\.one: ES256 needs an EC key on P-256, this is rsa/,
      },
    ]
    for (const { name, more, alg, problem } of refused) {
      it(`prevent the start if one ${name}`, async () => {
        const keys = { one: { alg, pkcs11: settings('ES256', more).pkcs11 } }
        await assert.rejects(startServer({ config: { signing_keys: { active: 'one', keys } } }), problem)
      })
    }
  })
})
